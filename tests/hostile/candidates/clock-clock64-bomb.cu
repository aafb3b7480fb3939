// Notes clock64 in its first launch, and computes less once a fifth of a second has gone by.
//! kind clock
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ long long began;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long now = clock64();
  if (began == 0) began = now;
  int steps = now - began < 50000000LL ? 200 : 40;
  float x = in[i];
  for (int k = 0; k < steps; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
