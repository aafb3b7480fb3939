// Asks by inline assembly for its lines to stay in L2.
//! kind l2
//! kernel map
//! devices cuda
//! must refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float kept;
  asm volatile("ld.global.L2::evict_last.f32 %0, [%1];" : "=f"(kept) : "l"(in + i));
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
