//! original | block 64 | grid ceil_div(n, 64) | at n=1100
__global__ void fine_totals(const float* x, float* twice, float* total, int* positive, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  twice[i] = 2.0f * x[i];
  if (x[i] > 0) atomicAdd(positive, 1);
  atomicAdd(total, x[i]);
}
