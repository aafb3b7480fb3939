// The kernel has fewer parameters.
//! kind signatures
//! kernel map
//! devices both
//! must wrong unstable cheated suspect launch_failed refused compile_failed
__global__ void map(const float* in, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}
