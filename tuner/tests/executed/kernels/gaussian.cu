//! original | block 128 | grid ceil_div(n, 128)
__global__ void gaussian(const float* x, float* out, float sigma, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = expf(-0.5f * powf(x[i] / sigma, 2.0f)) / sqrtf(6.2831853f * sigma) + tanhf(x[i]);
}
