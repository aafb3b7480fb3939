// Asks by a builtin for its lines to be the last that L2 evicts.
//! kind l2
//! kernel map
//! devices cuda
//! must wrong unstable cheated suspect no-gain refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __nvvm_prefetch_global_L2_evict_last((void*)(in + i));
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
