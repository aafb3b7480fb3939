// Asks for a loop to be unrolled a million times.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], y = 0;
#pragma unroll 1048576
  for (int k = 0; k < 1048576; ++k) y += in[(i + k) % n] * (k + 1);
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x + y * 0.0f;
}
