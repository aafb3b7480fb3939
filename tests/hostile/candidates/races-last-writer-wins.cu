// Every thread also writes a wrong value to its neighbour, and hopes to be overwritten.
//! kind races
//! kernel map
//! devices both
//! must wrong unstable cheated suspect
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  if (i + 1 < n) out[i + 1] = 0;
  out[i] = x;
}
