// Allocates from the device heap until there is nothing left, and frees nothing.
//! kind device-heap
//! kernel map
//! devices both
//! must crashed timed_out over_resources no-gain refused compile_failed launch_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = 0; k < 200; ++k) {
    volatile char* more = (volatile char*)malloc(1 << 20);
    if (more) for (int p = 0; p < (1 << 20); p += 4096) more[p] = 1;
  }
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
