// Never ends.
//! kind spinning
//! kernel map
//! devices both
//! must crashed timed_out
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile int go = 1;
  while (go) {}
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
