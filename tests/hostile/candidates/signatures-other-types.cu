// The kernel takes parameters of other types and sizes.
//! kind signatures
//! kernel map
//! devices both
//! must wrong unstable cheated suspect launch_failed refused compile_failed
//! launch map; gx, gy, gz; bx, by, bz; 0
__global__ void map(const float* in, float* out, double n, double factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * factor;
}
