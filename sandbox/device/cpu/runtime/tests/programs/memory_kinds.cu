// Pitched, three-dimensional, pinned, mapped, registered and pooled memory, with kernels reading and writing it.
#include <cuda_runtime.h>
#include <vector>
#include "check.h"

__global__ void scale_rows(char* base, size_t pitch, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) ((float*)(base + y * pitch))[x] *= 2;
}
__global__ void increment(int* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ++p[i];
}

int main() {
  const int w = 37, h = 11;
  std::vector<float> image(w * h), back(w * h);
  for (int i = 0; i < w * h; ++i) image[i] = i;
  char* pitched;
  size_t pitch;
  CUDA(cudaMallocPitch(&pitched, &pitch, w * sizeof(float), h));
  CUDA(cudaMemcpy2D(pitched, pitch, image.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
  scale_rows<<<dim3(3, 2), dim3(16, 8)>>>(pitched, pitch, w, h);
  CUDA(cudaMemcpy2D(back.data(), w * 4, pitched, pitch, w * 4, h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < w * h; ++i) CHECK(back[i] == 2.0f * i);
  cudaPitchedPtr box;
  CUDA(cudaMalloc3D(&box, make_cudaExtent(64, 8, 4)));
  CUDA(cudaMemset3D(box, 1, make_cudaExtent(64, 8, 4)));
  int word = 0;
  CUDA(cudaMemcpy(&word, (char*)box.ptr + box.pitch * 31 + 60, 4, cudaMemcpyDefault));
  CHECK(word == 0x01010101);

  const int n = 500;
  int *pinned, *mapped, *device_view, *pooled;
  CUDA(cudaHostAlloc(&pinned, n * sizeof(int), cudaHostAllocDefault));
  CUDA(cudaHostAlloc(&mapped, n * sizeof(int), cudaHostAllocMapped));
  CUDA(cudaHostGetDevicePointer(&device_view, mapped, 0));
  std::vector<int> own(n, 10);
  CUDA(cudaHostRegister(own.data(), n * sizeof(int), cudaHostRegisterMapped));
  for (int i = 0; i < n; ++i) {
    pinned[i] = i;
    mapped[i] = -i;
  }
  increment<<<2, 256>>>(device_view, n);
  increment<<<2, 256>>>(own.data(), n);
  CUDA(cudaMallocAsync(&pooled, n * sizeof(int), 0));
  CUDA(cudaMemcpyAsync(pooled, pinned, n * sizeof(int), cudaMemcpyHostToDevice, 0));
  increment<<<2, 256>>>(pooled, n);
  CUDA(cudaMemcpyAsync(pinned, pooled, n * sizeof(int), cudaMemcpyDeviceToHost, 0));
  CUDA(cudaFreeAsync(pooled, 0));
  CUDA(cudaStreamSynchronize(0));
  for (int i = 0; i < n; ++i) CHECK(pinned[i] == i + 1 && mapped[i] == 1 - i && own[i] == 11);
  CUDA(cudaHostUnregister(own.data()));
  CUDA(cudaFreeHost(pinned));
  CUDA(cudaFreeHost(mapped));
  CHECK(cudaFree(pinned) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(box.ptr, image.data(), 1 << 20, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(box.ptr, image.data(), 16, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  return PASS();
}
