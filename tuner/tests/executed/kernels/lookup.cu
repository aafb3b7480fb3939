//! original | block 128 | grid ceil_div(n, 128)
__constant__ int table[64];
__constant__ float weights[4];
__global__ void lookup(const int* index, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int k = 0; k < 4; ++k) s += weights[k] * table[index[i] + k];
  out[i] = s;
}
