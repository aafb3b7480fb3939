// Writes to the input, which is const.
//! kind inputs
//! kernel map
//! devices both
//! must wrong unstable cheated suspect wrote_outside crashed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == 2424) ((float*)in)[i] = 0;
}
