// Calls itself without an end.
//! kind spinning
//! kernel map
//! devices both
//! must crashed timed_out refused compile_failed over_resources launch_failed
__device__ __noinline__ float deeper(float x, volatile int* depth) {
  *depth = *depth + 1;
  return *depth < 0 ? x : deeper(x + 1, depth) * 0.5f + *depth;
}
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile int depth = 0;
  float x = deeper(in[i], &depth);
  out[i] = x;
}
