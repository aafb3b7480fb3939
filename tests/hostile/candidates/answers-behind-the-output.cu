// Looks behind the output, page by page, for a copy of the answers.
//! kind answers
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain crashed wrote_outside
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float want = in[1];
  for (int k = 0; k < 200; ++k) want = want * factor + in[1] * 0.125f;
  for (long long page = 1; page < 65536; ++page)
    if (out[page * 1024 + 1] == want) {
      out[i] = out[page * 1024 + i];
      return;
    }
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
