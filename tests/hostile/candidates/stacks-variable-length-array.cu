// Takes from its stack by alloca as much as the input says.
//! kind stacks
//! kernel map
//! devices both
//! must crashed timed_out compile_crashed  over_resources launch_failed refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile char* mine = (volatile char*)__builtin_alloca((size_t)n * 4096);
  mine[0] = 1;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = mine[0] ? x : 0;
}
