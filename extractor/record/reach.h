// What memory a kernel can get at: every live allocation that an address in its arguments or in its module's variables
// points into, and from there every allocation that an address in that memory points into, and so on. Types are not
// known here, so any eight bytes whose value lies in a live allocation count as an address: at multiples of eight in
// memory, at every offset in the arguments (packed structs). That can only capture too much, never too little, unless
// an application hides addresses (compressed or tagged pointers), which replay on closed memory would show.
//
// How memory is read is behind a seam: the CPU device's lies in the process, a GPU's comes by copies that are looked
// through by several threads while they arrive.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/model/capture.h"

namespace kernelift::record {

struct LiveMemory {
  uint64_t address = 0, size = 0;  ///< As the application asked for it.
  MemoryKind kind = MemoryKind::Device;
};

struct ReachedRegion {
  uint64_t address = 0, size = 0;
  MemoryKind kind = MemoryKind::Device;
  Origin reached_from;
};

/// Memory that is looked through from the start: a variable of the kernel's module.
struct ReachRoot {
  uint64_t address = 0, size = 0;
  std::string name;
};

/// Live allocations, ordered by address.
class AllocationMap {
 public:
  AllocationMap() = default;
  explicit AllocationMap(std::vector<LiveMemory> ordered);
  /// The allocation that holds `value` or ends at it, or nullptr. An end belongs to its own allocation, unless another
  /// one begins there.
  const LiveMemory* find(uint64_t value) const;
  /// Could `value` be an address at all? A comparison and a bit per 2 MiB, for the scan of large memory: pairs of small
  /// integers look like addresses too often to search the list for each. True for too many, never false for one.
  bool maybe(uint64_t value) const {
    if (value - lowest_ > extent_) [[likely]]
      return false;
    uint64_t page = (value >> kPageShift) % kPageBits;
    return pages_.empty() || (pages_[page / 64] >> (page % 64) & 1);
  }
  /// Makes maybe() sharp; worth it before much memory is looked through. Not while another thread asks.
  void sharpen() const;
  size_t index_of(const LiveMemory* allocation) const { return static_cast<size_t>(allocation - ordered_.data()); }
  const LiveMemory& operator[](size_t index) const { return ordered_[index]; }
  size_t size() const { return ordered_.size(); }

 private:
  static constexpr int kPageShift = 21;
  static constexpr uint64_t kPageBits = 1 << 20;  ///< 128 KiB of bits: 2 TiB without two pages sharing one.
  std::vector<LiveMemory> ordered_;
  uint64_t lowest_ = 1, extent_ = 0;
  mutable std::vector<uint64_t> pages_;
};

/// An address found in memory: which allocation it points into, and where it was.
struct AddressFound {
  size_t allocation = 0;
  uint64_t offset = 0;
};

/// The first place of each allocation that an address in `bytes` points into. `address` is where the bytes lie (only
/// words at multiples of eight are looked at); offsets are counted from `base`.
std::vector<AddressFound> find_addresses(std::span<const std::byte> bytes, uint64_t address, uint64_t base,
                                         const AllocationMap& allocations);

/// Looks through memory for addresses.
class MemoryReader {
 public:
  virtual ~MemoryReader() = default;
  virtual Result<std::vector<AddressFound>> look_through(uint64_t address, uint64_t size, MemoryKind kind,
                                                         const AllocationMap& allocations) = 0;
};

/// Memory of this process, read where it lies.
class OwnMemory : public MemoryReader {
 public:
  Result<std::vector<AddressFound>> look_through(uint64_t address, uint64_t size, MemoryKind kind,
                                                 const AllocationMap& allocations) override;
};

/// Where in the arguments addresses are: byte offsets, aligned ones first; no two overlap.
std::vector<uint32_t> pointer_offsets(std::span<const std::byte> arguments, const AllocationMap& allocations);

/// Hash of the argument bytes that are no addresses: what tells two launches of one geometry apart.
uint64_t scalar_hash(std::span<const std::byte> arguments, const std::vector<uint32_t>& addresses);
inline uint64_t scalar_hash(std::span<const std::byte> arguments, const AllocationMap& allocations) {
  return scalar_hash(arguments, pointer_offsets(arguments, allocations));
}

/// In the order they are reached. `most_bytes` ends the walk early: what is returned then holds more bytes than that.
/// With `everything` all memory is, whether anything leads there or not.
Result<std::vector<ReachedRegion>> reachable(std::span<const std::byte> arguments,
                                             std::span<const Parameter> parameters, std::span<const ReachRoot> roots,
                                             const AllocationMap& allocations, MemoryReader& reader,
                                             uint64_t most_bytes = ~uint64_t(0), bool everything = false);

/// Live memory that is not among `regions`, modules' variables left aside.
std::vector<MemoryRange> unreached(const AllocationMap& allocations, const std::vector<ReachedRegion>& regions);

}  // namespace kernelift::record
