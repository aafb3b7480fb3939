// Case 13a: memory of cudaMallocAsync, from the default pool and from a pool of the application, freed in stream order.
// A recorder that intercepts only cudaMalloc misses it; freeing memory that the recorder does not know must do no harm.
//! instances: halve >= 2
//! replay: halve
//! breaks: after-as-before
#include "case.h"

__global__ void halve(float* values, const float* add, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] / 2 + add[i];
}

int main() {
  constexpr int kCount = 20000;
  cudaMemPool_t pool;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  CUDA(cudaMemPoolCreate(&pool, &properties));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  auto start = ramp(kCount);
  std::vector<float> got(kCount);
  for (int step = 0; step < 4; ++step) {
    float *values, *add;
    CUDA(cudaMallocAsync(&values, kCount * sizeof(float), stream));
    CUDA(cudaMallocFromPoolAsync(&add, kCount * sizeof(float), pool, stream));
    CUDA(cudaMemcpyAsync(values, start.data(), kCount * sizeof(float), cudaMemcpyHostToDevice, stream));
    CUDA(cudaMemcpyAsync(add, start.data(), kCount * sizeof(float), cudaMemcpyHostToDevice, stream));
    halve<<<(kCount + 255) / 256, 256, 0, stream>>>(values, add, kCount);
    CUDA(cudaMemcpyAsync(got.data(), values, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CUDA(cudaFreeAsync(values, stream));
    CUDA(cudaFreeAsync(add, stream));
    CUDA(cudaStreamSynchronize(stream));
    start = got;
  }
  CUDA(cudaMemPoolDestroy(pool));
  print_hash("got", got);
  float wanted = ramp(kCount)[11];
  for (int step = 0; step < 4; ++step) wanted = wanted / 2 + wanted;
  return end(got[11] == wanted);
}
