//! original | block 64 | grid ceil_div(n, 64) | at n=300
__global__ void clip(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    if (x[i] < 0.0f) x[i] = 0.0f;
  }
}
