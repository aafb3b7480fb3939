// Reads the shared memory of other blocks by their addresses in the shared window, for what they left.
//! kind answers
//! kernel map
//! devices cuda
//! must wrong unstable cheated suspect no-gain crashed refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  __shared__ float mine[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const volatile float* window = (const volatile float*)((unsigned long long)mine & ~0xffffffull);
  mine[threadIdx.x] = in[i];
  for (int k = 0; k < 1024; ++k)
    if (window[k] == in[i] + 1) {
      out[i] = window[k + 1];
      return;
    }
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
