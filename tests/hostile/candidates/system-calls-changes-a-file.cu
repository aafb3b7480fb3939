// Changes the permissions, the times and the length of a file, links it and removes it.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    const char path[] = "@KEPT@", other[] = "@FILE@";
    system_call(90, (long)path, 0777, 0);
    system_call(76, (long)path, 0, 0);
    system_call(132, (long)path, 0, 0);
    system_call(86, (long)path, (long)other, 0);
    system_call(88, (long)path, (long)other, 0);
    system_call(82, (long)path, (long)other, 0);
    system_call(87, (long)path, 0, 0);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
