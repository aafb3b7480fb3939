#include "config.h"
#include "filter.h"
#include "hip_check.h"

__device__ int bin_of(float value) {
  int bin = (int)(value * (kBins - 1) + 0.5f);
  return bin < 0 ? 0 : bin > kBins - 1 ? kBins - 1 : bin;
}

__global__ void histogram_kernel(const float* in, unsigned int* counts, int pixels) {
  __shared__ unsigned int bins[kBins];
  for (int b = threadIdx.x; b < kBins; b += kHistogramThreads) bins[b] = 0;
  __syncthreads();
  // Each thread processes adjacent pixels, so a warp reads with a stride.
  int first = (blockIdx.x * kHistogramThreads + threadIdx.x) * kPixelsPerThread;
  for (int i = first; i < first + kPixelsPerThread; ++i)
    if (i < pixels) atomicAdd(&bins[bin_of(in[i])], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += kHistogramThreads)
    if (bins[b] > 0) atomicAdd(&counts[b], bins[b]);
}

__global__ void curve_kernel(float* image, const float* curve, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels) image[i] = curve[bin_of(image[i])];
}

void histogram(const float* in, unsigned int* counts, int pixels) {
  const int per_block = kHistogramThreads * kPixelsPerThread;
  HIP_CHECK(hipMemset(counts, 0, kBins * sizeof(unsigned int)));
  histogram_kernel<<<(pixels + per_block - 1) / per_block, kHistogramThreads>>>(in, counts, pixels);
  HIP_CHECK(hipGetLastError());
}

void apply_curve(float* image, const float* curve, int pixels) {
  hipLaunchKernelGGL(curve_kernel, dim3((pixels + 255) / 256), dim3(256), 0, 0, image, curve, pixels);
  HIP_CHECK(hipGetLastError());
}
