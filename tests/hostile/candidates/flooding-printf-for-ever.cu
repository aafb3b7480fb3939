// Prints without an end.
//! kind flooding
//! kernel map
//! devices both
//! must crashed timed_out over_resources refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0)
    for (volatile int go = 1; go;) printf("@MARK@ %0200d\n", i);
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
