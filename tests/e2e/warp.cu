// A bilinear image warp, as optical flow does it: the second image is fetched where the flow points, and what is left
// of the difference to the first one is written through a surface.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Flow {
  const float2* vectors;
  cudaTextureObject_t second;
  int width, height;
  float decay;
};

__global__ void warp(Flow flow, cudaTextureObject_t first, cudaSurfaceObject_t left, float* sums) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= flow.width || y >= flow.height) return;
  float2 v = flow.vectors[y * flow.width + x];
  float sum = 0;
  for (int k = -4; k <= 4; ++k) {
    float w = float(pow(double(flow.decay), abs(k) / 1.0));
    sum += w * tex2D<float>(flow.second, x + v.x + k + 0.5f, y + v.y + 0.5f);
  }
  surf2Dwrite(tex2D<float>(first, x + 0.5f, y + 0.5f) - sum, left, x * int(sizeof(float)), y);
  sums[y * flow.width + x] = sum;
}

static cudaArray_t image_of(const std::vector<float>& pixels, int width, int height, unsigned flags = 0) {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMallocArray(&array, &format, width, height, flags);
  size_t row = width * sizeof(float);
  cudaMemcpy2DToArray(array, 0, 0, pixels.data(), row, row, height, cudaMemcpyHostToDevice);
  return array;
}
static cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureFilterMode filter) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray, resource.res.array.array = array;
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp, how.filterMode = filter;
  cudaTextureObject_t texture;
  cudaCreateTextureObject(&texture, &resource, &how, nullptr);
  return texture;
}

int main() {
  const int width = 250, height = 60, n = width * height;
  std::vector<float> one(n), two(n), left(n), sums(n);
  std::vector<float2> vectors(n);
  for (int i = 0; i < n; ++i) {
    one[i] = (rand() % 1000) / 999.f, two[i] = (rand() % 1000) / 999.f;
    vectors[i] = make_float2((rand() % 700) / 100.f - 3, (rand() % 300) / 100.f - 1);
  }
  cudaArray_t first = image_of(one, width, height), second = image_of(two, width, height);
  cudaArray_t rest = image_of(left, width, height, cudaArraySurfaceLoadStore);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray, resource.res.array.array = rest;
  cudaSurfaceObject_t surface;
  cudaCreateSurfaceObject(&surface, &resource);
  float* out;
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(out, 0, n * sizeof(float));
  Flow flow = {nullptr, texture_of(second, cudaFilterModeLinear), width, height, 0.5f};
  cudaMalloc((void**)&flow.vectors, n * sizeof(float2));
  cudaMemcpy((void*)flow.vectors, vectors.data(), n * sizeof(float2), cudaMemcpyHostToDevice);
  cudaTextureObject_t before = texture_of(first, cudaFilterModePoint);
  dim3 block(32, 4), grid((width + 31) / 32, (height + 3) / 4);
  for (int i = 0; i < 12; ++i) warp<<<grid, block>>>(flow, before, surface, out);
  size_t row = width * sizeof(float);
  cudaMemcpy2DFromArray(left.data(), row, rest, 0, 0, row, height, cudaMemcpyDeviceToHost);
  cudaMemcpy(sums.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
  double total = 0;
  for (int i = 0; i < n; ++i) total += left[i] + 2 * sums[i];
  printf("%.3f %s\n", total, cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
