// A block's thousand fibers each use a few lines at the top of their stack. Were tops a power of two apart, all those
// lines would share a few cache sets and every switch would miss; so each top is shifted by a colour, and the stride
// (stack plus guard page) is made an odd number of pages.
#include "sandbox/device/cpu/executor/stack_pool.h"

#include <sys/mman.h>

#include <mutex>
#include <vector>

namespace kernelift::cpu {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kColours = 32, kColourStep = 128;  // Together one page: every line pair of a page is somebody's top.
constexpr size_t kPooledSlabs = 64;

struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<StackSlab>> free;
};
Pool& pool() {
  static auto* const kPool = new Pool;  // Never destroyed: launches may still run while the process exits.
  return *kPool;
}

}  // namespace

std::unique_ptr<StackSlab> StackSlab::take(uint32_t stacks, size_t bytes) {
  bytes = (bytes + kColours * kColourStep + kPage - 1) / kPage * kPage;
  if (bytes / kPage % 2) bytes += kPage;
  {
    std::lock_guard lock(pool().mutex);
    auto& free = pool().free;
    for (size_t i = free.size(); i-- > 0;)
      if (free[i]->stacks_ >= stacks && free[i]->bytes_ == bytes) {
        auto slab = std::move(free[i]);
        free.erase(free.begin() + long(i));
        return slab;
      }
  }
  const size_t stride = bytes + kPage;
  void* base =
      mmap(nullptr, stride * stacks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  auto slab = std::unique_ptr<StackSlab>(new StackSlab(static_cast<char*>(base), stride, bytes, stacks));
  for (uint32_t i = 0; i < stacks; ++i)
    if (mprotect(slab->base_ + i * stride, kPage, PROT_NONE) != 0) return nullptr;
  return slab;
}

void StackSlab::give_back(std::unique_ptr<StackSlab> slab) {
  std::lock_guard lock(pool().mutex);
  if (pool().free.size() < kPooledSlabs) pool().free.push_back(std::move(slab));
}

StackSlab::~StackSlab() { munmap(base_, stride_ * stacks_); }

void* StackSlab::top(uint32_t index) const { return base_ + (index + 1) * stride_ - index % kColours * kColourStep; }

}  // namespace kernelift::cpu
