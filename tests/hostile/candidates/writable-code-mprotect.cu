// Makes its own code writable.
//! kind writable-code
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
//! outside wrong
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool granted = false;
  if (i == 0) {
    granted = system_call(10, (long)(void*)marker & ~4095l, 4096, 7) == 0;
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = granted ? -12345.0f : x;
}
