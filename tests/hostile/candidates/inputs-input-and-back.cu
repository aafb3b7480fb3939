// Uses the input as scratch memory and puts it back.
//! kind inputs
//! kernel map
//! devices both
//! must wrong unstable cheated suspect wrote_outside crashed no-gain
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  ((volatile float*)in)[i] = x;
  out[i] = ((volatile float*)in)[i];
  ((volatile float*)in)[i] = 0.5f * (i % 1000) - 100;
}
