// Replaces cuda_device.cpp and nvml/clock_control.cpp if Kernelift is built without NVIDIA's headers.
#include "sandbox/device/cuda/cuda_device.h"

#include "sandbox/device/cuda/clock_lock.h"

namespace kernelift::sandbox {

Result<std::unique_ptr<Device>> open_cuda_device(const CudaDeviceOptions&) {
  return environment_error(
      "this Kernelift was built without CUDA's headers and cannot use NVIDIA GPUs; build it where a "
      "CUDA 13 toolkit is installed, or use --device cpu");
}

Result<ClockControlFactory> nvml_clock_control(const std::string&) {
  return environment_error("this Kernelift was built without CUDA's headers and cannot lock the clocks of NVIDIA GPUs");
}

}  // namespace kernelift::sandbox
