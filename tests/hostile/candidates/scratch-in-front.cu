// Writes in front of its scratch memory.
//! kind scratch
//! kernel map
//! devices both
//! must wrote_outside crashed
//! launch map; gx, gy, gz; bx, by, bz; 0
//! scratch gx * bx * 4
__global__ void map(const float* in, float* out, int n, float factor, float* scratch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  scratch[i] = x;
  if (i == 0) ((volatile float*)scratch)[-1] = 1;
  out[i] = x;
}
