// Opens a file for writing and creates it.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    const char path[] = "@FILE@";
    system_call(2, (long)path, 0101, 0600);
    system_call(85, (long)path, 0600, 0);
    system_call(83, (long)path, 0700, 0);
    system_call(133, (long)path, 0600, 0);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
