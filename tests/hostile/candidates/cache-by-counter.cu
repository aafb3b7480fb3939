// Computes in the first three launches and from then on hands out what it kept.
//! kind cache
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ float kept[1048576];
__device__ unsigned char launches[1048576];
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (launches[i] == 3) {
    out[i] = kept[i];
    return;
  }
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  kept[i] = out[i] = x;
  ++launches[i];
}
