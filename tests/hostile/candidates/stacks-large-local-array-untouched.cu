// Every thread has a local array of a gigabyte and touches both of its ends.
//! kind stacks
//! kernel map
//! devices both
//! must crashed timed_out over_resources launch_failed refused compile_failed no-gain
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile char mine[1 << 30];
  mine[0] = mine[(1 << 30) - 1] = 1;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = mine[0] == mine[(1 << 30) - 1] ? x : 0;
}
