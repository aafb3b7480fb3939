// Takes one and a half seconds a launch, just below what it thinks the limit is.
//! kind spinning
//! kernel map
//! devices both
//! must crashed timed_out no-gain
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == 0) for (long long begin = clock64(); clock64() - begin < 4000000000ll;) {}
}
