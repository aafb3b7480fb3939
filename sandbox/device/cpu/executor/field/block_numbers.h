// A field run's view of one resident block: its accesses to memory, as numbers modulo p and as bits.
#pragma once
#include <vector>

#include "sandbox/device/cpu/executor/field/field_memory.h"
#include "sandbox/device/cpu/executor/launch_state.h"

namespace kernelift::cpu {

class BlockNumbers {
 public:
  BlockNumbers(FieldMemory& memory, const LaunchState& launch);

  /// A block begins, whose shared memory holds nothing.
  void begin(const kl_block& block);
  /// The number that a float of `bytes` bytes stands for.
  uint64_t load(const void* pointer, uint32_t bytes, kl_field_site& site);
  void store(const void* pointer, uint32_t bytes, uint64_t number, kl_field_site& site);
  /// The state of four bytes that are carried elsewhere as they are.
  uint64_t load_word(const void* pointer, kl_field_site& site);
  void store_word(const void* pointer, uint64_t state, kl_field_site& site);
  /// The bytes are read as an integer, or (`wrote`) have just been written as one.
  void touch(const void* pointer, uint64_t bytes, bool wrote, kl_field_site& site);
  /// Before the bytes themselves are copied.
  void copy(const void* to, const void* from, uint64_t bytes, kl_field_site& site);
  FieldMemory& memory() { return memory_; }

 private:
  FieldWord word(uint64_t address, kl_field_site& site) {
    const uint64_t offset = address - shared_begin_;
    if (offset >= shared_bytes_) return memory_.word(address, site);
    return {StateRef(shared_[offset / FieldObject::kWord]), kShared, offset / FieldObject::kWord,
            memory_.keeps_recorded()};
  }
  /// A number by the bits in memory, that a float was read as.
  uint64_t by_bits(uint64_t address, uint32_t bytes) const;

  static constexpr uint64_t kShared = 0x54a;
  FieldMemory& memory_;
  uint64_t shared_begin_ = 0, shared_bytes_ = 0;
  std::vector<uint64_t> shared_;
};

}  // namespace kernelift::cpu
