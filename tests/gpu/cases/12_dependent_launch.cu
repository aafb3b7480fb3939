// Case 12g: programmatic dependent launch: the second kernel may start before the first has ended and waits for it
// inside. The recorder treats it as a launch attribute and still takes the images between the two kernels, so that both
// replay.
//! launches: producer == 3
//! launches: consumer == 3
//! replay: consumer
//! breaks: after-as-before
#include "case.h"

__global__ void producer(float* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += 2;
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void consumer(float* values, float* sums, int n) {
  cudaGridDependencySynchronize();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sums[i] += values[i];
}

int main() {
  constexpr int kCount = 1 << 14;
  auto* values = device_array(ramp(kCount));
  auto* sums = device_array(std::vector<float>(kCount, 0.0f));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(kCount / 256), config.blockDim = dim3(256), config.stream = stream;
  config.attrs = &attribute, config.numAttrs = 1;
  for (int step = 0; step < 3; ++step) {
    producer<<<kCount / 256, 256, 0, stream>>>(values, kCount);
    CUDA(cudaLaunchKernelEx(&config, consumer, values, sums, kCount));
  }
  CUDA(cudaStreamSynchronize(stream));
  auto got = host_copy(sums, kCount);
  print_hash("sums", got);
  float start = ramp(kCount)[8];
  return end(got[8] == (start + 2) + (start + 4) + (start + 6));
}
