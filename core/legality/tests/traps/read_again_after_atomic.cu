//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: stray store under a contradictory condition | text b
__global__ void k(float* out, int* p, int n, int j) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int a = p[i];
    atomicAdd(&p[i], 1);
    out[i] = a;
  }
}
//! text b
__global__ void k(float* out, int* p, int n, int j) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int a = p[i];
    atomicAdd(&p[i], 1);
    int b = p[i];
    out[i] = a;
    if (a == 0 && b != 0) out[i + n] = 1.f;
  }
}
