// Comments in other scripts, and words like #include and asm in them.
//! kernel map
//! devices both
/* #include <stdio.h>  asm("nop")  #embed "x"  → größer, 更快 */
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  // int main() { system("x"); }
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;  // "quoted" 'text'
}
