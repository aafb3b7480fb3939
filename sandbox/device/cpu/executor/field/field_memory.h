// A field run's memory: the states of the recorded objects and of whatever else a kernel touches (its local arrays);
// and what was met that is no rational function. Each worker of a launch has a FieldMemory of its own over the same
// states: blocks that may not depend on each other's results touch the same word only to note the number that was drawn
// for it, which is the same for all.
//
// What was never written holds, read as a float, a number that is drawn from the object's key and the place in it;
// in memory that is nobody's object it is what the bits say.
#pragma once
#include <array>
#include <atomic>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/model/launch/field_run.h"
#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/field_state.h"

namespace kernelift::cpu {

/// A word's state, which blocks in other workers may note as well.
class StateRef {
 public:
  explicit StateRef(uint64_t& state) : state_(&state) {}
  operator uint64_t() const { return std::atomic_ref(*state_).load(std::memory_order_relaxed); }
  void set(uint64_t state) const { std::atomic_ref(*state_).store(state, std::memory_order_relaxed); }

 private:
  uint64_t* state_;
};

/// The state of four bytes of memory.
struct FieldWord {
  StateRef state;
  uint64_t key = 0, place = 0;  ///< What its number is drawn from while nothing was written; key 0: none is.
  bool integers = false;        ///< While nothing was written it is an integer.
};

class FieldMemory {
 public:
  explicit FieldMemory(FieldRequest request);

  /// Another one over the same objects and parameters, for a worker.
  FieldMemory for_worker() const;
  /// What a worker met, and what it left in memory that is nobody's object, such as the device's heap.
  void add(const FieldMemory& worker);
  /// The next launch's packed parameters.
  void begin_launch(const void* arguments, uint64_t bytes);
  /// Of memory that is not shared. EXPECTS: `address` is a multiple of four.
  FieldWord word(uint64_t address, kl_field_site& site) {
    const Met& met = met_[place_of(site)];
    const uint64_t offset = address - met.object.begin;
    if (met.site != &site || offset >= met.object.bytes) return find(address, site);
    return word_of(met.object, offset);
  }
  uint64_t drawn(const FieldWord& word) const { return prime_field::drawn(word.key ^ seed_, word.place); }
  /// Functions have other values in every run, the same for the original and a candidate.
  uint64_t apply(uint64_t function, uint64_t a, uint64_t b, const kl_field_site& site);
  uint64_t divide(uint64_t a, uint64_t b);
  void decide(const kl_field_site& site);
  void note_float() { report_.floats = true; }
  /// Of a float that is known by its bits.
  uint64_t number_of(double value) const;
  /// What was never written stands for what it holds.
  bool keeps_recorded() const { return numbers_ != NumberKind::Residues; }
  bool constants_meant(std::span<const uint64_t> constants);
  const FieldReport& report() const { return report_; }

 private:
  struct Object {
    uint64_t begin = 0, bytes = 0;  ///< From a multiple of four on.
    uint64_t* states = nullptr;
    uint64_t key = 0;
    bool integers = false;
  };
  struct Inverse {
    uint64_t of = 0, inverse = 0;
  };
  /// The object that a place in the code met last.
  struct Met {
    const kl_field_site* site = nullptr;
    Object object;
  };
  static constexpr size_t kMet = 64;
  static size_t place_of(const kl_field_site& site) {
    return reinterpret_cast<uintptr_t>(&site) / sizeof(kl_field_site) % kMet;
  }
  static FieldWord word_of(const Object& object, uint64_t offset) {
    const uint64_t word = offset / FieldObject::kWord;
    return {StateRef(object.states[word]), object.key, word, object.integers};
  }
  static constexpr unsigned kInverseBits = 16;
  FieldWord find(uint64_t address, const kl_field_site& site);
  void note_constants(std::span<const uint64_t> constants);

  FieldReport report_;
  const uint64_t seed_;
  const NumberKind numbers_;
  const bool constants_meant_;
  const uint64_t* constants_ = nullptr;  ///< Those that were noted last.
  std::vector<Object> objects_;          ///< By address.
  Object arguments_;
  std::vector<uint64_t> argument_states_;
  std::unordered_map<uint64_t, uint64_t> elsewhere_;  ///< By address.
  std::array<Met, kMet> met_;
  /// Those that were asked for last, by a hash of the number.
  std::vector<Inverse> inverses_ = std::vector<Inverse>(size_t(1) << kInverseBits);
};

}  // namespace kernelift::cpu
