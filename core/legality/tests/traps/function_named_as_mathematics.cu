//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: writes behind a name of mathematics | text b
//! wrong trap: writes behind a name of printf | text c
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i];
}
//! text b
extern "C" __device__ __attribute__((noinline)) int __nv_more(long long p, int d) {
  ((int*)p)[d] = 7;
  return d > 0 ? __nv_more(p, d - 1) + 1 : 0;
}
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    __nv_more((long long)out, n + 100);
    out[i] = x[i];
  }
}
//! text c
__device__ int hidden[100000];
extern "C" __device__ __attribute__((noinline)) int __nv_more(int d) {
  hidden[d] = 7;
  return d > 0 ? __nv_more(d - 1) + 1 : 0;
}
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = x[i] + __nv_more(n);
  }
}
