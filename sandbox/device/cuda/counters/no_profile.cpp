// Replaces profile.cpp and kernel_trace.cpp if Kernelift is built without NVIDIA's headers.
#include "sandbox/device/cuda/counters/kernel_trace.h"
#include "sandbox/device/cuda/counters/profile.h"

namespace kernelift::sandbox {
namespace {

constexpr const char* kWhy =
    "this Kernelift was built without CUDA's headers; build it where a CUDA 13 toolkit is installed";

}  // namespace

Status profile_launch(int, const std::function<Status()>&, const std::function<Status()>&, KernelFacts& facts) {
  facts.counters_missing = kWhy;
  return done();
}

Result<std::vector<double>> trace_kernel(const std::string&, const std::function<Status()>&) {
  return environment_error(kWhy);
}

}  // namespace kernelift::sandbox
