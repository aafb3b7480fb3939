// Stands in for cuda_device.cpp where Kernelift is built without NVIDIA's headers.
#include "sandbox/device/cuda/cuda_device.h"

namespace kernelift {

Result<std::unique_ptr<Device>> open_cuda_device(const CudaDeviceOptions&) {
  return environment_error("this Kernelift was built without CUDA's headers and cannot use NVIDIA GPUs; build it where a "
                           "CUDA 13 toolkit is installed, or use --device cpu");
}

}  // namespace kernelift
