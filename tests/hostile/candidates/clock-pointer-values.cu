// Is honest where its buffers lie as recorded, and computes less where they lie elsewhere, and the other way round
// in the next process.
//! kind clock
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ const void* first;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int local;
  unsigned long long here = (unsigned long long)&local, data = (unsigned long long)in;
  int steps = ((here >> 12) ^ (here >> 20) ^ (data >> 21)) & 1 ? 200 : 40;
  float x = in[i];
  for (int k = 0; k < steps; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
