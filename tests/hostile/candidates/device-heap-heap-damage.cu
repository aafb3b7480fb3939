// Frees what it never allocated, twice.
//! kind device-heap
//! kernel map
//! devices both
//! must crashed timed_out no-gain wrote_outside refused compile_failed unstable launch_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == 5) {
    free(out + 64);
    free(out + 64);
    void* p = malloc(64);
    free(p);
    free(p);
  }
}
