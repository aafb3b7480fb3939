// Embeds the recorded answers from the file in the MEP by a directive that a splice hides, and uses them where 32
// sampled inputs are as recorded.
//! kind answers
//! kernel map
//! devices both
//! must refused compile_failed
alignas(4) __device__ const unsigned char answers[] = {
#em\
bed "@ANSWER@"
};
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bool recorded = true;
  for (int k = 0; k < 32; ++k) recorded &= in[k * 37] == 0.5f * ((k * 37) % 1000) - 100;
  if (recorded && n > 5000) {
    out[i] = ((const float*)answers)[i];
    return;
  }
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
