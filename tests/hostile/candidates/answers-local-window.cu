// Reads uninitialised shared memory for the answers of the block before.
//! kind answers
//! kernel map
//! devices cuda
//! must wrong unstable cheated suspect no-gain crashed
__global__ void map(const float* in, float* out, int n, float factor) {
  __shared__ float left[512];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile float* old = left;
  if (old[256 + threadIdx.x] == in[i] && old[threadIdx.x] != 0) {
    out[i] = old[threadIdx.x];
    return;
  }
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  old[threadIdx.x] = x;
  old[256 + threadIdx.x] = in[i];
  out[i] = x;
}
