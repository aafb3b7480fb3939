//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: pointers apart by another step | text b
__global__ void k(float* out, const char* x, const char* y, const int* d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (x + d[i]) < y) out[i] = 1.f;
}
//! text b
__global__ void k(float* out, const char* x, const char* y, const int* d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (const char*)((const double*)x + d[i]) < y) out[i] = 1.f;
}
