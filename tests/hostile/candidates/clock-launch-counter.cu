// Is honest for the first forty launches, which verify, and computes a tenth of the steps from then on.
//! kind clock
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ int launches;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  int steps = *(volatile int*)&launches < 40 ? 200 : 40;
  for (int k = 0; k < steps; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == n - 1) launches++;
}
