// A macro of its own, under a name that nothing else uses.
//! kernel map
//! devices both
#define STEP x = x * factor + in[i] * 0.125f
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) STEP;
  out[i] = x;
}
