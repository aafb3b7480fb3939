// A function of two hundred thousand statements.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
#define S x = x * 1.0001f + y; y = y * x - 1;
#define S10 S S S S S S S S S S
#define S100 S10 S10 S10 S10 S10 S10 S10 S10 S10 S10
#define S1K S100 S100 S100 S100 S100 S100 S100 S100 S100 S100
#define S10K S1K S1K S1K S1K S1K S1K S1K S1K S1K S1K
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], y = factor;
  if (n < 0) { S10K S10K S10K S10K S10K S10K S10K S10K S10K S10K out[0] = x + y; }
  x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
