//! original | block 64 | grid 3 | at n=200
__global__ void do_sums(const float* x, float* out, int n) {
  float s = 0;
  int i = threadIdx.x;
  if (i < n) do {
      s += x[blockIdx.x * n + i] * 2;
      i = i + blockDim.x;
    } while (i < n);
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
