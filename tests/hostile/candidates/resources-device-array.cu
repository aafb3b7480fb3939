// Declares a __device__ array of 16 GB.
//! kind resources
//! kernel map
//! devices both
//! must over_resources launch_failed crashed refused compile_failed no-gain
__device__ float large[4ull << 30];
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  large[(size_t)i * 16384] = 1;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
