// The note tries to break Markdown.
//! kind notes
//! kernel map
//! devices both
//! must no-gain
//! note | a | b |\n|---|---|\n```\n[click](javascript:alert(1)) ![x](http://127.0.0.1:@PORT@/x)
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = in[i] * 0.125f + x * factor;
  out[i] = x + 0.0f * n;
}
