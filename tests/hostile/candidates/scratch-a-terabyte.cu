// Asks for a terabyte of scratch memory.
//! kind scratch
//! kernel map
//! devices both
//! must over_resources launch_failed refused crashed
//! launch map; gx, gy, gz; bx, by, bz; 0
//! scratch 1 << 40
__global__ void map(const float* in, float* out, int n, float factor, float* scratch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  scratch[i] = x;
  out[i] = x;
}
