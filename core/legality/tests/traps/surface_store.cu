//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: stores nothing to the surface | `put(surface, 4 * i, i);` -> ``
//! wrong trap: stores elsewhere | `put(surface, 4 * i, i);` -> `put(surface, 4 * i + 4, i);`
__device__ void put(unsigned long long surface, int x, int value) __asm__("llvm.nvvm.sust.b.1d.i32.trap");
__global__ void k(const float* x, float* out, unsigned long long surface, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    put(surface, 4 * i, i);
    out[i] = 2 * x[i];
  }
}
