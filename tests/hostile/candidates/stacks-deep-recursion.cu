// Recurses two million levels deep, with a kilobyte in each.
//! kind stacks
//! kernel map
//! devices both
//! must crashed timed_out over_resources launch_failed refused compile_failed no-gain
__device__ __noinline__ float deeper(float x, int depth) {
  volatile float mine[256];
  mine[depth & 255] = x;
  return depth == 0 ? x : deeper(mine[depth & 255], depth - 1) + mine[(depth + 1) & 255] * 0;
}
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = deeper(x, n * 8);
}
