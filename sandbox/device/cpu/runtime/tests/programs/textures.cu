// Arrays, textures and surfaces as an application makes them: each kind of resource, what copies reach, what the
// objects say of themselves, and what is refused.
#include <cuda_runtime.h>
#include <cmath>
#include <vector>
#include "check.h"

__global__ void sample(cudaTextureObject_t t, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) out[y * width + x] = tex2D<float>(t, x + 0.5f, y + 0.5f);
}
__global__ void sample_bytes(cudaTextureObject_t t, float4* out) {
  out[threadIdx.x] = tex2D<float4>(t, (threadIdx.x + 0.5f) / blockDim.x, 0.5f);
}
__global__ void sample_linear(cudaTextureObject_t t, int* out) { out[threadIdx.x] = tex1Dfetch<int>(t, threadIdx.x); }
__global__ void sample_box(cudaTextureObject_t t, float* out) { *out = tex3D<float>(t, 1, 1, 1); }
__global__ void sample_layers(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex2DLayered<float>(t, 0.5f, 1.5f, threadIdx.x);
}
__global__ void twice(cudaSurfaceObject_t s) {
  int x = threadIdx.x * sizeof(float);
  surf2Dwrite(2 * surf2Dread<float>(s, x, blockIdx.x), s, x, blockIdx.x);
}

cudaTextureObject_t texture_of(const cudaResourceDesc& resource, cudaTextureFilterMode filter, bool normalized = false,
                               cudaTextureReadMode read = cudaReadModeElementType) {
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeClamp;
  how.filterMode = filter, how.normalizedCoords = normalized, how.readMode = read;
  cudaTextureObject_t texture = 0;
  CUDA(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  cudaTextureDesc told = {};
  CUDA(cudaGetTextureObjectTextureDesc(&told, texture));
  CHECK(told.filterMode == filter && told.addressMode[0] == cudaAddressModeClamp);
  return texture;
}

int main() {
  const int width = 37, height = 5;
  std::vector<float> image(width * height), back(width * height);
  for (int i = 0; i < width * height; ++i) image[i] = i * 0.25f;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CUDA(cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore));
  const size_t row = width * sizeof(float);
  CUDA(cudaMemcpy2DToArray(array, 0, 0, image.data(), row, row, height, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DToArray(array, 4, 0, image.data(), row, row, height, cudaMemcpyHostToDevice) ==
        cudaErrorInvalidValue);
  cudaExtent extent;
  unsigned flags;
  CUDA(cudaArrayGetInfo(&format, &extent, &flags, array));
  CHECK(format.x == 32 && extent.width == width && extent.height == height && flags == cudaArraySurfaceLoadStore);

  float* out;
  CUDA(cudaMalloc(&out, width * height * sizeof(float)));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray, resource.res.array.array = array;
  cudaTextureObject_t texture = texture_of(resource, cudaFilterModeLinear);
  cudaResourceDesc told = {};
  CUDA(cudaGetTextureObjectResourceDesc(&told, texture));
  CHECK(told.resType == cudaResourceTypeArray && told.res.array.array == array);
  sample<<<dim3(2, height), 32>>>(texture, out, width, height);
  CUDA(cudaMemcpy(back.data(), out, back.size() * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(back == image);

  // Written through a surface, and read back as an array.
  cudaSurfaceObject_t surface;
  CUDA(cudaCreateSurfaceObject(&surface, &resource));
  twice<<<height, width>>>(surface);
  CUDA(cudaMemcpy2DFromArray(back.data(), row, array, 0, 0, row, height, cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < image.size(); ++i) CHECK(back[i] == 2 * image[i]);
  CUDA(cudaDestroySurfaceObject(surface));
  CUDA(cudaDestroyTextureObject(texture));
  CHECK(cudaDestroyTextureObject(texture) == cudaErrorInvalidValue);

  // Pitched memory.
  float* pitched;
  size_t pitch;
  CUDA(cudaMallocPitch(&pitched, &pitch, row, height));
  CUDA(cudaMemcpy2D(pitched, pitch, image.data(), row, row, height, cudaMemcpyHostToDevice));
  cudaResourceDesc rows = {};
  rows.resType = cudaResourceTypePitch2D;
  rows.res.pitch2D.devPtr = pitched, rows.res.pitch2D.desc = format;
  rows.res.pitch2D.width = width, rows.res.pitch2D.height = height, rows.res.pitch2D.pitchInBytes = pitch;
  texture = texture_of(rows, cudaFilterModePoint);
  sample<<<dim3(2, height), 32>>>(texture, out, width, height);
  CUDA(cudaMemcpy(back.data(), out, back.size() * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(back == image);
  CUDA(cudaDestroyTextureObject(texture));

  // Linear memory, whole numbers.
  std::vector<int> numbers = {5, -6, 7, 1 << 30}, fetched(4);
  int *from, *to;
  CUDA(cudaMalloc(&from, 16));
  CUDA(cudaMalloc(&to, 16));
  CUDA(cudaMemcpy(from, numbers.data(), 16, cudaMemcpyHostToDevice));
  cudaResourceDesc linear = {};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear.devPtr = from, linear.res.linear.desc = cudaCreateChannelDesc<int>();
  linear.res.linear.sizeInBytes = 16;
  texture = texture_of(linear, cudaFilterModePoint);
  sample_linear<<<1, 4>>>(texture, to);
  CUDA(cudaMemcpy(fetched.data(), to, 16, cudaMemcpyDeviceToHost));
  CHECK(fetched == numbers);
  CUDA(cudaDestroyTextureObject(texture));

  // Bytes as fractions, at coordinates from 0 to 1.
  const uchar4 pixels[2] = {{0, 51, 102, 255}, {255, 0, 0, 51}};
  cudaChannelFormatDesc four_bytes = cudaCreateChannelDesc<uchar4>();
  cudaArray_t picture;
  CUDA(cudaMallocArray(&picture, &four_bytes, 2, 1));
  CUDA(cudaMemcpyToArray(picture, 0, 0, pixels, sizeof pixels, cudaMemcpyHostToDevice));
  resource.res.array.array = picture;
  texture = texture_of(resource, cudaFilterModeLinear, true, cudaReadModeNormalizedFloat);
  float4* colours;
  CUDA(cudaMalloc(&colours, 2 * sizeof(float4)));
  sample_bytes<<<1, 2>>>(texture, colours);
  float4 colour[2];
  CUDA(cudaMemcpy(colour, colours, sizeof colour, cudaMemcpyDeviceToHost));
  CHECK(colour[0].x == 0 && colour[0].y == 0.2f && colour[0].z == 0.4f && colour[0].w == 1);
  CHECK(colour[1].x == 1 && colour[1].w == 0.2f);
  // No surface without the array's flag, no filter over integers, no fractions of 32 bits.
  CHECK(cudaCreateSurfaceObject(&surface, &resource) == cudaErrorInvalidValue);
  cudaTextureDesc wrong = {};
  wrong.filterMode = cudaFilterModeLinear;
  CHECK(cudaCreateTextureObject(&texture, &resource, &wrong, nullptr) == cudaErrorInvalidValue);
  wrong.filterMode = cudaFilterModePoint, wrong.readMode = cudaReadModeNormalizedFloat;
  CHECK(cudaCreateTextureObject(&texture, &linear, &wrong, nullptr) == cudaErrorInvalidValue);

  // A box and layers, filled by three-dimensional copies.
  float cells[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  for (unsigned how : {0u, unsigned(cudaArrayLayered)}) {
    cudaArray_t box;
    CUDA(cudaMalloc3DArray(&box, &format, make_cudaExtent(2, 2, 2), how));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(cells, 2 * sizeof(float), 2, 2);
    copy.dstArray = box, copy.extent = make_cudaExtent(2, 2, 2), copy.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&copy));
    copy.dstPos = make_cudaPos(1, 0, 0);
    CHECK(cudaMemcpy3D(&copy) == cudaErrorInvalidValue);
    resource.res.array.array = box;
    texture = texture_of(resource, cudaFilterModeLinear);
    float found[2] = {};
    if (how) sample_layers<<<1, 2>>>(texture, out);
    else sample_box<<<1, 1>>>(texture, out);
    CUDA(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
    CHECK(how ? found[0] == 2 && found[1] == 6 : found[0] == 3.5f);
    CUDA(cudaDestroyTextureObject(texture));
    CUDA(cudaFreeArray(box));
  }
  CUDA(cudaFreeArray(array));
  CHECK(cudaFreeArray(array) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() != cudaSuccess);
  return PASS();
}
