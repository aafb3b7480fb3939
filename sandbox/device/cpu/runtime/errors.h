// Error state with CUDA's semantics. A call that fails leaves its number in the calling thread's "last error", which
// cudaGetLastError returns and clears. A kernel that dies (assert, illegal address, trap, timeout) poisons the device
// for the whole process: every later call answers the same number until cudaDeviceReset. As on a GPU, the launch itself
// still answers success; the fault shows at the next call that looks at the device.
#pragma once
#include "sandbox/device/cpu/runtime/abi.h"

namespace kernelift::cudart {

/// Notes `error` as the thread's last error, if it is one, and passes it on. Every API function returns through it.
cudaError_t leave(cudaError_t error);

/// The device's sticky error; cudaSuccess while it is healthy.
cudaError_t device_fault();
void set_device_fault(cudaError_t error);
void clear_device_fault();

/// cudaGetLastError (`clear`) and cudaPeekAtLastError.
cudaError_t last_error(bool clear);

const char* error_name(int error);
const char* error_text(int error);

/// One line on stderr, prefixed "kernelift: ". The library never prints but to explain an error it returns.
void explain(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// Explains once per process that `function` is not available on the CPU device; returns cudaErrorNotSupported.
cudaError_t not_supported(const char* function, const char* why = nullptr);

/// First line of every function that touches the device: starts the runtime, and answers a sticky error.
#define KL_ENTER()                                                                                               \
  do {                                                                                                           \
    ::kernelift::cudart::start_runtime();                                                                        \
    if (cudaError_t kl_fault = ::kernelift::cudart::device_fault()) return ::kernelift::cudart::leave(kl_fault); \
  } while (0)

/// Attaches the recorder, once. Cheap afterwards.
void start_runtime();

}  // namespace kernelift::cudart
