// Device memory: one range of addresses reserved at a fixed place, from which every allocation is cut. The placement
// depends on nothing but the sequence of calls, so an application's buffers have the same addresses in every run, and
// a replay process can map a recorded buffer where it was. Large allocations are mapped page by page with
// an inaccessible guard behind them, so that a kernel running past its buffer faults; small ones share chunks, with a
// gap between them. Two allocations never share a byte, nor a 256-byte line.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/toolchain/record_hooks.h"

namespace kernelift::cudart {

inline constexpr uint64_t kArenaBase = 0x200000000000;       ///< Far from where Linux places anything by itself.
inline constexpr uint64_t kSmallBytes = uint64_t(32) << 30;  ///< Small allocations: the first 32 GiB.
inline constexpr uint64_t kArenaBytes = uint64_t(2) << 40;   ///< Addresses only; memory is committed when touched.
inline constexpr uint64_t kAlignment = 256;                  ///< As cudaMalloc promises.

struct Allocation {
  uint64_t address = 0, size = 0;  ///< As requested.
  uint64_t span = 0;               ///< Taken from the arena, guard included; 0: the application's own (registered).
  kl_memory_kind kind = KL_MEMORY_DEVICE;
  bool host = false;       ///< Pinned host memory (cudaMallocHost, cudaHostRegister).
  bool pooled = false;     ///< From cudaMallocAsync.
  bool permanent = false;  ///< A __managed__ variable: survives cudaDeviceReset.
  uint32_t flags = 0;      ///< cudaHostAlloc's.
};

/// EXPECTS: calls are serialised by the caller (State::mutex).
class Arena {
 public:
  Arena();
  /// Address 0: the device's memory or the arena is exhausted.
  uint64_t allocate(uint64_t size, kl_memory_kind kind, bool host = false, uint32_t flags = 0);
  /// False if `address` is not the start of a live allocation.
  bool release(uint64_t address);
  /// The application's own memory, made known by cudaHostRegister, or its __managed__ variable. False if it overlaps
  /// something known.
  bool adopt(uint64_t address, uint64_t size, uint32_t flags, kl_memory_kind kind = KL_MEMORY_HOST_MAPPED);
  void release_all();  ///< But for permanent ones.

  /// The live allocation that holds `address`.
  Allocation* find(uint64_t address);
  bool contains(uint64_t address) const { return address >= base_ && address < base_ + kArenaBytes; }
  const std::map<uint64_t, Allocation>& live() const { return live_; }
  uint64_t used() const { return used_; }
  uint64_t capacity() const { return capacity_; }

 private:
  struct Region {
    uint64_t begin = 0, end = 0;
    uint64_t committed = 0;             ///< Accessible up to here (small region only).
    std::map<uint64_t, uint64_t> free;  ///< begin → end, coalesced.
  };
  uint64_t cut(Region& region, uint64_t span, uint64_t alignment);
  void give_back(Region& region, uint64_t begin, uint64_t end);
  bool commit_small(uint64_t end);

  uint64_t base_ = 0, used_ = 0, capacity_ = 0;
  bool poison_ = false;
  Region small_, large_;
  std::map<uint64_t, Allocation> live_;
};

}  // namespace kernelift::cudart
