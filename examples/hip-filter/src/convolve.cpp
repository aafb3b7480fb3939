#include "config.h"
#include "filter.h"
#include "hip_check.h"

__constant__ float mask_weights[kMaxMask];

template <typename T>
__device__ T clamp_to(T value, T low, T high) {
  return value < low ? low : value > high ? high : value;
}

template <int Radius>
__global__ void convolve_kernel(const float* in, float* out, int width, int height) {
  int x = blockIdx.x * TILE_X + threadIdx.x;
  int y = blockIdx.y * TILE_Y + threadIdx.y;
  if (x >= width || y >= height) return;
  out[y * width + x] = 0.0;
  for (int dy = -Radius; dy <= Radius; dy++)
    for (int dx = -Radius; dx <= Radius; dx++)
      out[y * width + x] += mask_weights[(dy + Radius) * (2 * Radius + 1) + dx + Radius] *
                            in[clamp_to(y + dy, 0, height - 1) * width + clamp_to(x + dx, 0, width - 1)];
}

template <int Radius>
__global__ void bilateral_kernel(const float* in, float* out, int width, int height, float range) {
  int x = blockIdx.x * TILE_X + threadIdx.x;
  int y = blockIdx.y * TILE_Y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0, weights = 0;
  for (int dy = -Radius; dy <= Radius; dy++)
    for (int dx = -Radius; dx <= Radius; dx++) {
      float value = in[clamp_to(y + dy, 0, height - 1) * width + clamp_to(x + dx, 0, width - 1)];
      float difference = value - in[y * width + x];
      // A rational approximation of the range Gaussian: cheaper, with the same shape near zero.
      float closeness = 1.0 / (1.0 + difference * difference / (2.0 * range * range));
      float weight = mask_weights[(dy + Radius) * (2 * Radius + 1) + dx + Radius] * closeness * closeness;
      sum += weight * value;
      weights += weight;
    }
  out[y * width + x] = sum / weights;
}

void upload_mask(const std::vector<float>& mask) {
  HIP_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(mask_weights), mask.data(), mask.size() * sizeof(float)));
}

void convolve(int radius, const float* in, float* out, int width, int height) {
  dim3 block(TILE_X, TILE_Y);
  dim3 grid((width + TILE_X - 1) / TILE_X, (height + TILE_Y - 1) / TILE_Y);
  switch (radius) {
    case 3: convolve_kernel<3><<<grid, block>>>(in, out, width, height); break;
    case 5: convolve_kernel<5><<<grid, block>>>(in, out, width, height); break;
    default: convolve_kernel<7><<<grid, block>>>(in, out, width, height); break;
  }
  HIP_CHECK(hipGetLastError());
}

void bilateral(int radius, const float* in, float* out, int width, int height, float range) {
  dim3 block(TILE_X, TILE_Y);
  dim3 grid((width + TILE_X - 1) / TILE_X, (height + TILE_Y - 1) / TILE_Y);
  if (radius == 3) hipLaunchKernelGGL(bilateral_kernel<3>, grid, block, 0, 0, in, out, width, height, range);
  else if (radius == 5) hipLaunchKernelGGL(bilateral_kernel<5>, grid, block, 0, 0, in, out, width, height, range);
  else hipLaunchKernelGGL(bilateral_kernel<7>, grid, block, 0, 0, in, out, width, height, range);
  HIP_CHECK(hipGetLastError());
}
