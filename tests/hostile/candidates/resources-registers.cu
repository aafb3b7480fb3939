// Wants 1024 threads of as many registers as there are.
//! kind resources
//! kernel map
//! devices cuda
//! must no-gain over_resources launch_failed refused compile_failed
__global__ void __launch_bounds__(1024, 8) map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float many[128];
#pragma unroll
  for (int k = 0; k < 128; ++k) many[k] = in[(i + k) % n];
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
#pragma unroll
  for (int k = 0; k < 128; ++k) x += many[k] * 0.0f;
  out[i] = x;
}
