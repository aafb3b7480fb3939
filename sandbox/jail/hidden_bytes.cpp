// See hidden_bytes.h.
#include "sandbox/jail/hidden_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <exception>

namespace kernelift::sandbox {

HiddenBytes::HiddenBytes(size_t size) : size_(size) {
  const size_t mapped = std::max<size_t>(1, size);
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) std::terminate();
  madvise(base, mapped, MADV_DONTFORK);
  base_ = static_cast<std::byte*>(base);
}

HiddenBytes::~HiddenBytes() {
  if (base_) munmap(base_, std::max<size_t>(1, size_));
}

}  // namespace kernelift::sandbox
