// Reads the global timer by a builtin, and computes less once a tenth of a second has gone by.
//! kind clock
//! kernel map
//! devices cuda
//! must wrong unstable cheated suspect no-gain refused compile_failed
__device__ unsigned long long began;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long now = __nvvm_read_ptx_sreg_globaltimer();
  if (began == 0) began = now;
  int steps = now - began < 100000000ull ? 200 : 40;
  float x = in[i];
  for (int k = 0; k < steps; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
