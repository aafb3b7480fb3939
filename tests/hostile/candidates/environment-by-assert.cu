// Walks up its stack to the environment and reports a key by a failed assertion.
//! kind environment
//! kernel map
//! devices cpu
//! must crashed timed_out wrong refused compile_failed no-gain cheated
@part:find_key@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile int here = i;
  if (i == 0)
    if (const char* key = find_key(&here)) __assertfail(key, "f", 1, "f", 1);
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
