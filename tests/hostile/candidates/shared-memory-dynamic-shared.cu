// Asks for 400 kB of dynamic shared memory at the launch.
//! kind shared-memory
//! kernel map
//! devices both
//! must over_resources launch_failed
//! launch map; gx, gy, gz; bx, by, bz; 400000
extern __shared__ float large[];
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  large[threadIdx.x * 390] = 1;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
