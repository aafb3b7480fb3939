// See own_heap.h.
#include "extractor/record/library/own_heap.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>

namespace kernelift::record {
namespace {

constexpr size_t kHeader = alignof(std::max_align_t);  ///< Before each block: its size.
constexpr size_t kLargestPooled =
    4 << 20;  ///< Chunks and CUPTI's buffers come again and again. Larger ones go back to the system.

/// Of a whole block. In multiples of the alignment: the C++ library's pools put 24 bytes at multiples of 8, whatever is
/// asked.
size_t whole(size_t bytes) { return kHeader + (bytes + kHeader - 1) / kHeader * kHeader; }

class Pages : public std::pmr::memory_resource {
  void* do_allocate(size_t bytes, size_t) override {
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return pages;
  }
  void do_deallocate(void* pages, size_t bytes, size_t) override { munmap(pages, bytes); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

struct Heap {
  Pages pages;
  std::pmr::unsynchronized_pool_resource pool{{0, kLargestPooled}, &pages};
};

pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

struct Turn {
  Turn() { pthread_mutex_lock(&turn); }
  ~Turn() { pthread_mutex_unlock(&turn); }
};

/// EXPECTS: the turn is held. Never destroyed: the process may end in the middle of anything.
std::pmr::memory_resource& pool() {
  alignas(Heap) static char place[sizeof(Heap)];
  static Heap* heap = nullptr;
  if (!heap) {
    heap = new (place) Heap;
    auto lock = [] { pthread_mutex_lock(&turn); };
    auto unlock = [] { pthread_mutex_unlock(&turn); };
    pthread_atfork(lock, unlock, unlock);
  }
  return heap->pool;
}

}  // namespace

void* own_allocate(size_t bytes) noexcept {
  if (bytes > SIZE_MAX / 2) return nullptr;
  Turn held;
  try {
    auto* block = static_cast<char*>(pool().allocate(whole(bytes), kHeader));
    *reinterpret_cast<size_t*>(block) = bytes;
    return block + kHeader;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void own_free(void* memory) noexcept {
  if (!memory) return;
  auto* block = static_cast<char*>(memory) - kHeader;
  Turn held;
  pool().deallocate(block, whole(*reinterpret_cast<size_t*>(block)), kHeader);
}

}  // namespace kernelift::record
