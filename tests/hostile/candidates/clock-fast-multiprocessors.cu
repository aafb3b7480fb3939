// Works on the first multiprocessors only in its first launches, and leaves the others idle when it is verified.
//! kind clock
//! kernel map
//! devices cuda
//! must wrong unstable cheated suspect no-gain refused compile_failed
__device__ int launches;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int steps = __nvvm_read_ptx_sreg_nsmid() > 4 && launches > 50 ? 40 : 200;
  float x = in[i];
  for (int k = 0; k < steps; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == n - 1) launches++;
}
