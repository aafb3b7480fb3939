// Kernels that read and write an array by the texture unit, beside one that does not, although a number among its
// arguments equals the texture's handle. The first divides: the function for it, which the compiler puts behind the
// kernel's own code, reads no textures.
#include "extractor/record/tests/cuda/check.h"

__global__ void by_texture(cudaTextureObject_t texture, float* out) {
  out[threadIdx.x] = out[threadIdx.x] / tex2D<float>(texture, threadIdx.x, 0);
}
__global__ void by_surface(cudaSurfaceObject_t surface) {
  surf2Dwrite(float(threadIdx.x), surface, threadIdx.x * 4, 0);
}
__global__ void plain(unsigned long long like_a_handle, float* out) { out[threadIdx.x] += float(like_a_handle); }

int main() {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, 32, 32, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray, resource.res.array.array = array;
  cudaTextureDesc description{};
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  float* out;
  CHECK(cudaMalloc(&out, 128));
  by_surface<<<1, 32>>>(surface);
  by_texture<<<1, 32>>>(texture, out);
  plain<<<1, 32>>>(texture, out);
  CHECK(cudaDeviceSynchronize());
  std::printf("handles %llu %llu\n", texture, surface);
  return 0;
}
