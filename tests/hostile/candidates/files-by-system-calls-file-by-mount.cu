// Mounts something over a file.
//! kind files-by-system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    const char path[] = "@FILE@", kept[] = "@KEPT@";
    system_call(165, (long)kept, (long)path, 0);
    if (!path[0] || !kept[0]) out[0] = 0;
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
