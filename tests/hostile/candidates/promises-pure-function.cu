// Promises that a function that reads memory depends on its arguments alone.
//! kind promises
//! kernel map
//! devices both
//! must refused compile_failed
__attribute__((const)) static __device__ float at(const float* in, int i) { return in[i]; }
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = at(in, i);
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
