// Error queries and versions: the calls that work on a poisoned device.
#include "sandbox/device/cpu/runtime/errors.h"

using namespace kernelift::cudart;

namespace {
constexpr int kVersion = 13000;  ///< CUDA 13.0, whose interface this library has.
}

KL_API cudaError_t cudaGetLastError() { return last_error(true); }
KL_API cudaError_t cudaPeekAtLastError() { return last_error(false); }
KL_API const char* cudaGetErrorName(int error) { return error_name(error); }
KL_API const char* cudaGetErrorString(int error) { return error_text(error); }

KL_API cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return leave(cudaErrorInvalidValue);
  *version = kVersion;
  return cudaSuccess;
}
KL_API cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
KL_API cudaError_t cudaProfilerStart() { return cudaSuccess; }
KL_API cudaError_t cudaProfilerStop() { return cudaSuccess; }
