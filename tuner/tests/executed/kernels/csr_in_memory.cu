//! original | block 64 | grid ceil_div(rows, 64)
__global__ void csr_in_memory(const int* first, const int* column, const float* value, const float* x, float* y,
                              int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  for (int k = first[r]; k < first[r + 1]; ++k)
    y[r] += value[k] * x[column[k]];
}
