//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: two threads exchange the same element | text b
__global__ void k(int* out, int* y, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int v = x[i];
    y[i] = v;
    if (i % 2 == 0) atomicExch(&out[i / 2], v);
  }
}
//! text b
__global__ void k(int* out, int* y, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int v = x[i];
    y[i] = v;
    atomicExch(&out[i / 2], v);
  }
}
