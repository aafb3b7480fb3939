// See reach.h. The walk is breadth first and visits an allocation once, so it ends however memory is linked; its cost
// is one pass over the bytes that are captured anyway.
#include "extractor/record/reach.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace kernelift {
namespace {

uint64_t word_at(const std::byte* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

MemoryKind kind_of(const kl_allocation& allocation) {
  switch (allocation.kind) {
    case KL_MEMORY_MANAGED: return MemoryKind::Managed;
    case KL_MEMORY_HOST_MAPPED: return MemoryKind::HostMapped;
    default: return MemoryKind::Device;
  }
}

/// "arg 2" for a parameter that is an address, "arg 2 +16" for one inside it.
std::string argument_name(uint32_t offset, std::span<const kl_parameter> parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    auto& parameter = parameters[i];
    if (offset < parameter.offset || offset >= parameter.offset + parameter.size) continue;
    std::string name = "arg " + std::to_string(i);
    return offset == parameter.offset ? name : name + " +" + std::to_string(offset - parameter.offset);
  }
  return "argument byte " + std::to_string(offset);
}

std::string memory_name(uint64_t address, uint64_t offset) {
  char text[64];
  std::snprintf(text, sizeof text, "0x%llx +%llu", static_cast<unsigned long long>(address),
                static_cast<unsigned long long>(offset));
  return text;
}

}  // namespace

AllocationMap::AllocationMap(std::vector<kl_allocation> ordered) : ordered_(std::move(ordered)) {
  if (ordered_.empty()) return;
  lowest_ = ordered_.front().address;
  extent_ = ordered_.back().address + ordered_.back().size - lowest_;
}

const kl_allocation* AllocationMap::find(uint64_t value) const {
  if (ordered_.empty() || !in_range(value)) return nullptr;
  auto after = std::upper_bound(ordered_.begin(), ordered_.end(), value,
                                [](uint64_t v, const kl_allocation& a) { return v < a.address; });
  if (after == ordered_.begin()) return nullptr;
  const kl_allocation& candidate = *std::prev(after);
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
      if (allocations.find(word_at(arguments.data() + at)) && !overlaps(at)) offsets.push_back(at);
  return offsets;
}

uint64_t scalar_hash(std::span<const std::byte> arguments, const AllocationMap& allocations) {
  std::vector<std::byte> rest(arguments.begin(), arguments.end());
  // An address becomes a mark, so that a null pointer still differs from one that points somewhere.
  for (uint32_t at : pointer_offsets(arguments, allocations)) std::memset(rest.data() + at, 0xa5, sizeof(uint64_t));
  return hash_bytes(rest).low;
}

std::vector<ReachedRegion> reachable(std::span<const std::byte> arguments, std::span<const kl_parameter> parameters,
                                     std::span<const kl_variable> variables, const AllocationMap& allocations) {
  std::vector<ReachedRegion> reached;
  std::vector<bool> seen(allocations.size(), false);
  auto reach = [&](uint64_t value, auto&& name) {
    const kl_allocation* found = allocations.find(value);
    if (!found || seen[allocations.index_of(found)]) return;
    seen[allocations.index_of(found)] = true;
    reached.push_back({found->address, found->size, kind_of(*found), name()});
  };
  auto scan = [&](uint64_t address, uint64_t size, auto&& name) {
    uint64_t start = (address + 7) & ~uint64_t(7);
    if (start >= address + size) return;
    auto* words = reinterpret_cast<const std::byte*>(start);
    uint64_t count = (address + size - start) / sizeof(uint64_t);
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t value = word_at(words + i * sizeof(uint64_t));
      if (allocations.in_range(value)) [[unlikely]]
        reach(value, [&] { return name(start - address + i * sizeof(uint64_t)); });
    }
  };
  for (uint32_t at : pointer_offsets(arguments, allocations))
    reach(word_at(arguments.data() + at), [&] { return argument_name(at, parameters); });
  for (auto& variable : variables)
    scan(reinterpret_cast<uint64_t>(variable.address), variable.size, [&](uint64_t offset) {
      return std::string("variable ") + variable.name + (offset ? " +" + std::to_string(offset) : std::string());
    });
  for (size_t next = 0; next < reached.size(); ++next) {
    uint64_t address = reached[next].address;
    scan(address, reached[next].size, [&](uint64_t offset) { return memory_name(address, offset); });
  }
  return reached;
}

}  // namespace kernelift
