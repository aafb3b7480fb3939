// Tries calls that few programs need: unshare, bpf, perf events, userfaultfd, io_uring, keys, modules, mounts.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    const int numbers[] = {272, 321, 298, 323, 425, 426, 427, 248, 249, 250, 175, 313, 165, 166, 155, 161, 308, 169, 246, 304, 440, 428, 429, 430, 431, 432, 435, 441, 442, 443, 447};
    for (int number : numbers) system_call(number, 0x10000000, 0, 0);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
