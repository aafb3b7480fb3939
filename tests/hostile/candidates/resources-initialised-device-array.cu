// Declares an initialised __device__ array of 512 MB, which the image holds as bytes.
//! kind resources
//! kernel map
//! devices both
//! must refused compile_failed over_resources no-gain timed_out
__device__ float large[128 << 20] = {1.0f};
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (large[i] == 2.0f) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
