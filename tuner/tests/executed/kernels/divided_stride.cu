//! original | block 64 | grid 8
__global__ void divided_stride(const float* x, float* y, long w, long h) {
  for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < w * h; i += gridDim.x * blockDim.x)
    y[i] = 2.0f * x[i / w * w + (w - 1 - i % w)];
}
