// Makes its stack executable by libc's mprotect.
//! kind libc
//! kernel map
//! devices both
//! must refused compile_failed launch_failed
extern "C" __device__ int mprotect(void*, size_t, int);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0 && mprotect((void*)((size_t)&i & ~4095ul), 4096, 7) == 0) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
