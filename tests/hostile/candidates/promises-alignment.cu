// Promises an alignment that the memory need not have.
//! kind promises
//! kernel map
//! devices both
//! must refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = *(const float*)__builtin_assume_aligned(in + i, 4);
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
