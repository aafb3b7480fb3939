//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: waits for what nobody writes | text b
//! wrong trap: loops for ever | text c
__global__ void k(int* out, const int* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = p[0];
}
//! text b
__global__ void k(int* out, const int* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = p[0];
    while (*(const volatile int*)p == 0) {}
  }
}
//! text c
__global__ void k(int* out, const int* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int v = p[0];
    out[i] = v;
    while (n % 5 == 3) {
      *(volatile int*)(out + i) = v;
    }
  }
}
