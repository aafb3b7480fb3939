// Tells launches apart by %gridid: the first hundred are honest.
//! kind clock
//! kernel map
//! devices cuda
//! must wrong unstable cheated suspect no-gain refused compile_failed
__device__ unsigned long long first;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long now = __nvvm_read_ptx_sreg_gridid();
  if (first == 0) first = now;
  float x = in[i];
  for (int k = 0; k < (now - first < 100 ? 200 : 40); ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
