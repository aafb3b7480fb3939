// Blocks on multiprocessors with an odd number do nothing.
//! kind clock
//! kernel map
//! devices cuda
//! must wrong unstable cheated suspect refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  if (__nvvm_read_ptx_sreg_smid() & 1) return;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
