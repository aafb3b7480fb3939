// Every thread has a local array of 16 MB.
//! kind stacks
//! kernel map
//! devices both
//! must crashed timed_out over_resources launch_failed refused compile_failed no-gain
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile float mine[4 << 20];
  for (int k = 0; k < (4 << 20); k += 4096) mine[k] = in[i];
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x + (mine[(i * 4096) % (4 << 20)] - in[i]);
}
