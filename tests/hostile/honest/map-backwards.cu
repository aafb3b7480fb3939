// The threads take the elements from last to first.
//! kernel map
//! devices both
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int j = n - 1 - i;
  float x = in[j];
  for (int k = 0; k < 200; ++k) x = x * factor + in[j] * 0.125f;
  out[j] = x;
}
