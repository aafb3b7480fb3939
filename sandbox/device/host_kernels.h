// The runner's own kernels as host functions, for devices whose memory this process can address: the processor and the
// fake. The arithmetic of sandbox/device/cuda/kernels/judging.cu, in loops that skip equal ranges quickly.
#pragma once
#include <cstddef>
#include <cstring>
#include <span>

namespace kernelift::sandbox {

/// Arguments of one launch, packed as in the device ABI.
struct PackedArguments {
  const std::byte* bytes = nullptr;
  size_t size = 0;
  /// The argument at `offset`; zero if the launch passes fewer bytes.
  template <class T>
  T at(size_t offset) const {
    T value{};
    if (offset + sizeof value <= size) std::memcpy(&value, bytes + offset, sizeof value);
    return value;
  }
};

struct HostKernel {
  const char* name;
  void (*run)(const PackedArguments&);
};

/// kl_compare, kl_spread, kl_check_canary, kl_poison, kl_copy_written, kl_classify, kl_uncovered, kl_copy_ranges,
/// kl_copy, kl_mix, kl_veil, kl_flush, kl_hold, kl_write, kl_nothing. kl_flush and kl_hold do nothing: the device
/// implements them.
std::span<const HostKernel> host_kernels();

}  // namespace kernelift::sandbox
