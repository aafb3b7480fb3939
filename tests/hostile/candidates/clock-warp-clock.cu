// Reads the 32-bit clock by a builtin, and computes less after it has wrapped around.
//! kind clock
//! kernel map
//! devices cuda
//! must wrong unstable cheated suspect no-gain refused compile_failed
__device__ unsigned last, wraps;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned now = __nvvm_read_ptx_sreg_clock();
  int steps = wraps > 2 ? 40 : 200;
  float x = in[i];
  for (int k = 0; k < steps; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == n - 1) {
    if (now < last) wraps++;
    last = now;
  }
}
