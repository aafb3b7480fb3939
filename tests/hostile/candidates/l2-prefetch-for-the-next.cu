// Reads at its end what the next launch will read first, so that it is found in L2.
//! kind l2
//! kernel map
//! devices cuda
//! must wrong unstable cheated suspect no-gain
__device__ float sink;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  float sum = 0;
  for (int k = i; k < n; k += 65536) sum += __ldg(in + k);
  if (sum == 12345.678f) sink = sum;
}
