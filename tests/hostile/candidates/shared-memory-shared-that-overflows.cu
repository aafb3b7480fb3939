// Asks for 2^62 bytes of dynamic shared memory.
//! kind shared-memory
//! kernel map
//! devices both
//! must over_resources launch_failed refused
//! launch map; gx, gy, gz; bx, by, bz; 1 << 62
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
