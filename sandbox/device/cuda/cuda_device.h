// An NVIDIA GPU behind the Device seam, through the driver alone: libcuda is opened at run time, nothing of CUDA's
// runtime is used. The first open() in a process initialises CUDA there, so it happens in runner processes only, which
// were forked before. Plain device memory, no managed memory; clocks, power and modes are left as they are.
#pragma once
#include <memory>

#include "sandbox/device/device.h"

namespace kernelift {

struct CudaDeviceOptions {
  int ordinal = 0;
  bool alone = false;  ///< Starts this GPU only, which on a machine of many saves seconds; facts().same_model then
                       ///< lacks the others.
  uint64_t stack_bytes = 0, heap_bytes = 0,
           printf_bytes = 0;  ///< Of a thread; of malloc and of printf in kernels. 0: the driver's own.
  /// Addresses that place() will be asked for: reserved before there is a context, whose own memory might lie there.
  std::vector<std::pair<uint64_t, uint64_t>> wanted;
};

/// An Error names what is missing: the driver, the device, or (built without NVIDIA's headers) the CUDA device itself.
Result<std::unique_ptr<Device>> open_cuda_device(const CudaDeviceOptions& options);

}  // namespace kernelift
