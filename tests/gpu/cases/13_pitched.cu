// Case 13d: pitched memory, and an array that is read through a texture and written through a surface. Pitched memory
// is captured; texture and surface objects are captured or refused by name, and never replayed with an invalid handle.
//! instances: rows >= 1
//! replay: rows
//! replay-or-refused: sample (texture|surface|array)
#include "case.h"

__global__ void rows(float* values, size_t pitch, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width || y >= height) return;
  auto* row = reinterpret_cast<float*>(reinterpret_cast<char*>(values) + size_t(y) * pitch);
  row[x] = row[x] * 2 + float(y);
}

__global__ void sample(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float* to, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  to[x] = tex2D<float>(texture, float(x) + 0.5f, 1.5f);
  surf2Dwrite(to[x] + 1, surface, x * int(sizeof(float)), 0);
}

int main() {
  constexpr int kWidth = 250, kHeight = 20;
  float* values;
  size_t pitch;
  CUDA(cudaMallocPitch(&values, &pitch, kWidth * sizeof(float), kHeight));
  CUDA(cudaMemset2D(values, pitch, 0, kWidth * sizeof(float), kHeight));
  for (int step = 0; step < 3; ++step) rows<<<dim3(1, kHeight), 256>>>(values, pitch, kWidth, kHeight);

  cudaArray_t array;
  auto format = cudaCreateChannelDesc<float>();
  CUDA(cudaMallocArray(&array, &format, kWidth, kHeight, cudaArraySurfaceLoadStore));
  CUDA(cudaMemcpy2DToArray(array, 0, 0, values, pitch, kWidth * sizeof(float), kHeight, cudaMemcpyDeviceToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how = {};
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
  CUDA(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  CUDA(cudaCreateSurfaceObject(&surface, &resource));
  auto* to = device_array(std::vector<float>(kWidth, 0.0f));
  sample<<<1, 256>>>(texture, surface, to, kWidth);
  auto got = host_copy(to, kWidth);
  print_hash("got", got);
  return end(got[9] == 7);
}
