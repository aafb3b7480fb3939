//! original | block 64 | grid ceil_div(n, 64) | at n=128,steps=3
__global__ void relaxed_in_place(float* x, const float* f, int n, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int s = 0; s < steps; ++s) x[i] = 0.5f * x[i] + f[i];
}
