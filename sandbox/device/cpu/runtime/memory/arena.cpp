// First fit over address-ordered free intervals: simple, deterministic, and good at giving a loop of malloc and free
// the same place again. Costs: 0.3 us for a small allocation, one mprotect for a large one; freeing a large one unmaps
// its pages, so memory goes back to the system and a use after free faults.
#include "sandbox/device/cpu/runtime/memory/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "sandbox/device/cpu/runtime/errors.h"

namespace kernelift::cudart {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = 2 << 20;
constexpr uint64_t kSmallLimit = 64 << 10;  ///< From here on an allocation has pages and a guard of its own.
constexpr uint64_t kChunk = 4 << 20;        ///< Small memory becomes accessible in steps of this.
constexpr int kPoison = 0xcb;

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// Physical memory, or the control group's limit where that is smaller.
uint64_t memory_of_machine() {
  uint64_t bytes = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  std::ifstream limit("/sys/fs/cgroup/memory.max");
  if (uint64_t group = 0; limit >> group) bytes = std::min(bytes, group);
  return bytes;
}

}  // namespace

Arena::Arena() : capacity_(memory_of_machine()), poison_(std::getenv("KERNELIFT_CPU_POISON") != nullptr) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* place = mmap(reinterpret_cast<void*>(kArenaBase), kArenaBytes, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (place == MAP_FAILED) {
    place = mmap(nullptr, kArenaBytes, PROT_NONE, kFlags, -1, 0);
    if (place == MAP_FAILED)
      explain("cannot reserve addresses for device memory (%s); every allocation will fail. Is `ulimit -v` set?",
              std::strerror(errno));
    else explain("device memory could not be placed at its usual addresses; a recording of this run will be relocated");
  }
  if (place == MAP_FAILED) return;
  base_ = reinterpret_cast<uint64_t>(place);
  small_ = {base_, base_ + kSmallBytes, base_, {{base_, base_ + kSmallBytes}}};
  large_ = {base_ + kSmallBytes, base_ + kArenaBytes, 0, {{base_ + kSmallBytes, base_ + kArenaBytes}}};
}

uint64_t Arena::cut(Region& region, uint64_t span, uint64_t alignment) {
  for (auto it = region.free.begin(); it != region.free.end(); ++it) {
    auto [begin, end] = *it;
    uint64_t start = round_up(begin, alignment);
    if (start + span > end || start + span < start) continue;
    region.free.erase(it);
    if (begin < start) region.free[begin] = start;
    if (start + span < end) region.free[start + span] = end;
    return start;
  }
  return 0;
}

void Arena::give_back(Region& region, uint64_t begin, uint64_t end) {
  auto next = region.free.lower_bound(begin);
  if (next != region.free.end() && next->first == end) {
    end = next->second;
    next = region.free.erase(next);
  }
  if (next != region.free.begin()) {
    auto before = std::prev(next);
    if (before->second == begin) {
      before->second = end;
      return;
    }
  }
  region.free[begin] = end;
}

bool Arena::commit_small(uint64_t end) {
  if (end <= small_.committed) return true;
  uint64_t target = std::min(round_up(end - base_, kChunk) + base_, small_.end);
  if (mprotect(reinterpret_cast<void*>(small_.committed), target - small_.committed, PROT_READ | PROT_WRITE) != 0)
    return false;
  small_.committed = target;
  return true;
}

uint64_t Arena::allocate(uint64_t size, kl_memory_kind kind, bool host, uint32_t flags) {
  if (base_ == 0 || size == 0 || size > capacity_ || used_ + size > capacity_) return 0;
  bool small = size < kSmallLimit;
  // A gap of one alignment unit between small neighbours, of one page (never accessible) behind a large one.
  uint64_t span = small ? round_up(size, kAlignment) + kAlignment : round_up(size, kPage) + kPage;
  uint64_t address = small ? cut(small_, span, kAlignment) : cut(large_, span, size >= kHugePage ? kHugePage : kPage);
  if (address == 0) return 0;
  void* place = reinterpret_cast<void*>(address);
  bool accessible = small ? commit_small(address + span) : mprotect(place, span - kPage, PROT_READ | PROT_WRITE) == 0;
  if (!accessible) {
    give_back(small ? small_ : large_, address, address + span);
    return 0;
  }
  if (size >= kHugePage) madvise(place, span - kPage, MADV_HUGEPAGE);
  if (poison_) std::memset(place, kPoison, size);
  live_[address] = {address, size, span, kind, host, false, false, flags};
  used_ += size;
  return address;
}

bool Arena::release(uint64_t address) {
  auto it = live_.find(address);
  if (it == live_.end()) return false;
  const Allocation& allocation = it->second;
  if (allocation.span > 0) {
    used_ -= allocation.size;
    bool small = address < small_.end;
    if (!small)  // New, inaccessible pages in place of the old ones: memory is returned, later accesses fault.
      mmap(reinterpret_cast<void*>(address), allocation.span, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    give_back(small ? small_ : large_, address, address + allocation.span);
  }
  live_.erase(it);
  return true;
}

bool Arena::adopt(uint64_t address, uint64_t size, uint32_t flags, kl_memory_kind kind) {
  auto next = live_.lower_bound(address);
  if (next != live_.end() && next->first < address + size) return false;
  if (next != live_.begin() && std::prev(next)->second.address + std::prev(next)->second.size > address) return false;
  const bool managed = kind == KL_MEMORY_MANAGED;
  live_[address] = {address, size, 0, kind, !managed, false, managed, flags};
  return true;
}

void Arena::release_all() {
  std::vector<uint64_t> ending;
  for (const auto& [address, allocation] : live_)
    if (!allocation.permanent) ending.push_back(address);
  for (uint64_t address : ending) release(address);
}

Allocation* Arena::find(uint64_t address) {
  auto next = live_.upper_bound(address);
  if (next == live_.begin()) return nullptr;
  Allocation& candidate = std::prev(next)->second;
  return address < candidate.address + candidate.size ? &candidate : nullptr;
}

}  // namespace kernelift::cudart
