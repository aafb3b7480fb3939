// Memory that forked children do not inherit, for data that a candidate's process must not be able to read.
#pragma once
#include <cstddef>
#include <span>
#include <utility>

namespace kernelift::sandbox {

class HiddenBytes {
 public:
  HiddenBytes() = default;
  /// Zeroed memory. If there is not enough, the process is terminated.
  explicit HiddenBytes(size_t size);
  HiddenBytes(HiddenBytes&& other) noexcept { swap(other); }
  HiddenBytes& operator=(HiddenBytes&& other) noexcept {
    swap(other);
    return *this;
  }
  ~HiddenBytes();
  std::span<std::byte> bytes() const { return {base_, size_}; }

 private:
  void swap(HiddenBytes& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
  }
  std::byte* base_ = nullptr;
  size_t size_ = 0;
};

}  // namespace kernelift::sandbox
