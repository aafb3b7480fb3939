// What memory a kernel can get at: every live allocation that an address in its arguments or in its module's variables
// points into, and from there every allocation that an address in that memory points into, and so on. Types are not
// known here, so any eight bytes whose value lies in a live allocation count as an address: at multiples of eight in
// memory, at every offset in the arguments (packed structs). That can only capture too much, never too little, unless
// an application hides addresses (compressed or tagged pointers), which replay on closed memory would show.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/model/capture.h"
#include "core/toolchain/record_hooks.h"

namespace kernelift {

struct ReachedRegion {
  uint64_t address = 0, size = 0;
  MemoryKind kind = MemoryKind::Device;
  std::string reached_from;  ///< "arg 2", "arg 0 +16", "variable table +8", "0x7f12…+8".
};

/// Live allocations, ordered by address.
class AllocationMap {
 public:
  explicit AllocationMap(std::vector<kl_allocation> ordered);
  /// The allocation that holds `value` or ends at it, or nullptr. An end belongs to its own allocation, unless another
  /// one begins there.
  const kl_allocation* find(uint64_t value) const;
  /// Could `value` be an address at all? One comparison, for the scan of large memory.
  bool in_range(uint64_t value) const { return value - lowest_ <= extent_; }
  size_t index_of(const kl_allocation* allocation) const { return static_cast<size_t>(allocation - ordered_.data()); }
  size_t size() const { return ordered_.size(); }

 private:
  std::vector<kl_allocation> ordered_;
  uint64_t lowest_ = 1, extent_ = 0;
};

/// Where in the arguments addresses are: byte offsets, aligned ones first; no two overlap.
std::vector<uint32_t> pointer_offsets(std::span<const std::byte> arguments, const AllocationMap& allocations);

/// Hash of the argument bytes that are no addresses: what tells two launches of one geometry apart.
uint64_t scalar_hash(std::span<const std::byte> arguments, const AllocationMap& allocations);

/// In the order they are reached; memory is read where it lies.
std::vector<ReachedRegion> reachable(std::span<const std::byte> arguments, std::span<const kl_parameter> parameters,
                                     std::span<const kl_variable> variables, const AllocationMap& allocations);

}  // namespace kernelift
