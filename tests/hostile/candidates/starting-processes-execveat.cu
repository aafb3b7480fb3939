// Executes a shell by execveat.
//! kind starting-processes
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain timed_out
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    static const char sh[] = "/bin/sh", dash_c[] = "-c", command[] = "id > @FILE@";
    const char* words[] = {sh, dash_c, command, nullptr};
    system_call(322, -100, (long)sh, (long)words);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
