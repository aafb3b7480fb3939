// The kernel has more parameters than it is given, and reads what lies behind them.
//! kind signatures
//! kernel map
//! devices both
//! must wrong unstable cheated suspect launch_failed crashed over_resources refused compile_failed
//! launch map; gx, gy, gz; bx, by, bz; 0
__global__ void map(const float* in, float* out, int n, float factor, const float* more) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x + more[i];
}
