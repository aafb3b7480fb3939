//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: double for float | text b
__global__ void k(float* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && fmodf((float)x[i], 2.f) == 1.f) out[i] = 1.f;
  if (i < n && (float)x[i] == (float)(x[i] + 1)) out[i + n] = 1.f;
}
//! text b
__global__ void k(float* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && fmodf((float)x[i], 2.f) == 1.f) out[i] = 1.f;
  if (i < n && (double)x[i] == (double)(x[i] + 1)) out[i + n] = 1.f;
}
