// See reach.h. The walk is breadth first and visits an allocation once, so it ends however memory is linked; its cost
// is one pass over the bytes that are captured anyway.
#include "extractor/record/reach.h"

#include <algorithm>
#include <cstring>

namespace kernelift::record {
namespace {

/// The parameter that holds this byte of the arguments, and where in it.
Origin argument_at(uint32_t offset, std::span<const Parameter> parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    auto& parameter = parameters[i];
    if (offset < parameter.offset || offset >= parameter.offset + parameter.size) continue;
    return Origin::of_argument(i, offset - parameter.offset);
  }
  return Origin::of_argument_bytes(offset);
}

}  // namespace

AllocationMap::AllocationMap(std::vector<LiveMemory> ordered) : ordered_(std::move(ordered)) {
  if (ordered_.empty()) return;
  lowest_ = ordered_.front().address;
  extent_ = ordered_.back().address + ordered_.back().size - lowest_;
}

void AllocationMap::sharpen() const {
  if (!pages_.empty()) return;
  std::vector<uint64_t> pages(kPageBits / 64);
  for (auto& memory : ordered_) {
    uint64_t first = memory.address >> kPageShift, last = (memory.address + memory.size) >> kPageShift;
    if (last - first >= kPageBits) last = first + kPageBits - 1;
    for (uint64_t page = first; page <= last; ++page) pages[page % kPageBits / 64] |= uint64_t(1) << (page % 64);
  }
  pages_ = std::move(pages);
}

const LiveMemory* AllocationMap::find(uint64_t value) const {
  if (ordered_.empty() || value - lowest_ > extent_) return nullptr;
  auto after = std::upper_bound(ordered_.begin(), ordered_.end(), value,
                                [](uint64_t v, const LiveMemory& a) { return v < a.address; });
  if (after == ordered_.begin()) return nullptr;
  const LiveMemory& candidate = *std::prev(after);
  return value <= candidate.address + candidate.size ? &candidate : nullptr;
}

std::vector<uint32_t> pointer_offsets(std::span<const std::byte> arguments, const AllocationMap& allocations) {
  constexpr uint32_t kWord = sizeof(uint64_t);
  std::vector<uint32_t> offsets;
  auto overlaps = [&](uint32_t at) {
    return std::any_of(offsets.begin(), offsets.end(), [&](uint32_t o) { return at < o + kWord && o < at + kWord; });
  };
  for (uint32_t step : {kWord, kWord / 2, uint32_t(1)})
    for (uint32_t at = 0; at + kWord <= arguments.size(); at += step)
      if (!overlaps(at) && allocations.find(word_at(arguments, at))) offsets.push_back(at);
  return offsets;
}

uint64_t scalar_hash(std::span<const std::byte> arguments, const std::vector<uint32_t>& addresses) {
  std::vector<std::byte> rest(arguments.begin(), arguments.end());
  // An address becomes a mark, so that a null pointer still differs from one that points somewhere.
  for (uint32_t at : addresses) std::memset(rest.data() + at, 0xa5, sizeof(uint64_t));
  return hash_bytes(rest).low;
}

std::vector<AddressFound> find_addresses(std::span<const std::byte> bytes, uint64_t address, uint64_t base,
                                         const AllocationMap& allocations) {
  std::vector<AddressFound> found;
  std::vector<bool> seen(allocations.size(), false);
  uint64_t skip = (sizeof(uint64_t) - address % sizeof(uint64_t)) % sizeof(uint64_t);
  for (uint64_t at = skip; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t value = word_at(bytes, at);
    if (!allocations.maybe(value)) [[likely]]
      continue;
    const LiveMemory* target = allocations.find(value);
    if (!target || seen[allocations.index_of(target)]) continue;
    seen[allocations.index_of(target)] = true;
    found.push_back({allocations.index_of(target), address + at - base});
  }
  return found;
}

Result<std::vector<AddressFound>> OwnMemory::look_through(uint64_t address, uint64_t size, MemoryKind,
                                                          const AllocationMap& allocations) {
  return find_addresses({reinterpret_cast<const std::byte*>(address), size}, address, address, allocations);
}

Result<std::vector<ReachedRegion>> reachable(std::span<const std::byte> arguments,
                                             std::span<const Parameter> parameters, std::span<const ReachRoot> roots,
                                             const AllocationMap& allocations, MemoryReader& reader,
                                             uint64_t most_bytes, bool everything) {
  std::vector<ReachedRegion> reached;
  std::vector<bool> seen(allocations.size(), false);
  uint64_t bytes = 0;
  allocations.sharpen();
  auto reach = [&](size_t index, auto&& origin) {
    if (seen[index]) return;
    seen[index] = true;
    auto& target = allocations[index];
    bytes += target.size;
    reached.push_back({target.address, target.size, target.kind, origin()});
  };
  for (uint32_t at : pointer_offsets(arguments, allocations))
    reach(allocations.index_of(allocations.find(word_at(arguments, at))), [&] { return argument_at(at, parameters); });
  for (auto& root : roots) {
    KERNELIFT_ASSIGN(auto found, reader.look_through(root.address, root.size, MemoryKind::Variable, allocations));
    for (auto& one : found) reach(one.allocation, [&] { return Origin::of_variable(root.name, one.offset); });
  }
  for (size_t next = 0; next < reached.size() && bytes <= most_bytes; ++next) {
    uint64_t address = reached[next].address;
    KERNELIFT_ASSIGN(auto found, reader.look_through(address, reached[next].size, reached[next].kind, allocations));
    for (auto& one : found) reach(one.allocation, [&] { return Origin::of_memory(address, one.offset); });
  }
  for (size_t i = 0; everything && i < allocations.size(); ++i)
    if (allocations[i].kind != MemoryKind::Variable) reach(i, Origin::alive);
  return reached;
}

std::vector<MemoryRange> unreached(const AllocationMap& allocations, const std::vector<ReachedRegion>& regions) {
  constexpr size_t kMostRanges = 4096;
  std::vector<uint64_t> taken;
  for (auto& region : regions) taken.push_back(region.address);
  std::sort(taken.begin(), taken.end());
  std::vector<MemoryRange> ranges;
  for (size_t i = 0; i < allocations.size() && ranges.size() < kMostRanges; ++i)
    if (allocations[i].kind != MemoryKind::Variable &&
        !std::binary_search(taken.begin(), taken.end(), allocations[i].address))
      ranges.push_back({allocations[i].address, allocations[i].size});
  return ranges;
}

}  // namespace kernelift::record
