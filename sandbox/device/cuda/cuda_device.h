// An NVIDIA GPU as a Device, through the driver API: libcuda is opened at run time, and CUDA's runtime is not used. The
// first open_cuda_device() in a process initialises CUDA there, so it is called only in runner processes, which have
// been forked before. Memory is device memory, never managed; clocks, power and modes are left as they are.
#pragma once
#include <memory>

#include "sandbox/device/device.h"

namespace kernelift::sandbox {

struct CudaDeviceOptions {
  int ordinal = 0;
  /// Initialises this GPU only, which saves seconds on a machine with many; facts().same_model then lacks the others.
  bool alone = false;
  /// Limits for the stack of a thread, and for malloc and printf in kernels; 0: the driver's default.
  uint64_t stack_bytes = 0, heap_bytes = 0, printf_bytes = 0;
  /// Ranges of addresses for later calls of place(). They are reserved before the context is made, because its own
  /// memory might be allocated there.
  std::vector<std::pair<uint64_t, uint64_t>> wanted;
};

/// An Error says what is missing: the driver, the GPU, or (if built without NVIDIA's headers) support for NVIDIA GPUs.
Result<std::unique_ptr<Device>> open_cuda_device(const CudaDeviceOptions& options);

}  // namespace kernelift::sandbox
