//! original | block 128 | grid ceil_div(w * h * c, 128)
__global__ void unflattened(const float* __restrict__ x, float* __restrict__ y, size_t w, size_t h, size_t c) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= w * h * c) return;
  const size_t column = i % w, row = (i / w) % h, channel = i / (w * h);
  y[(channel * h + row) * 2 * w + column] = x[i];
}
