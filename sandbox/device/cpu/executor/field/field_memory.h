// A field run's memory: the states of the recorded objects and of whatever else a kernel touches (its local arrays);
// and what was met that is no rational function. Launches that are run so have one worker, so nothing here is locked.
//
// What was never written holds, read as a float, a number that is drawn from the object's key and the place in it;
// in memory that is nobody's object it is what the bits say.
#pragma once
#include <span>
#include <unordered_map>
#include <vector>

#include "core/model/launch/field_run.h"
#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/field_state.h"

namespace kernelift::cpu {

/// The state of four bytes of memory.
struct FieldWord {
  uint64_t& state;
  uint64_t key = 0, place = 0;  ///< What its number is drawn from while nothing was written; key 0: none is.
  bool integers = false;        ///< While nothing was written it is an integer.
};

class FieldMemory {
 public:
  explicit FieldMemory(FieldRequest request);

  /// The next launch's packed parameters.
  void begin_launch(const void* arguments, uint64_t bytes);
  /// Of memory that is not shared. EXPECTS: `address` is a multiple of four.
  FieldWord word(uint64_t address, kl_field_site& site) {
    const uint64_t offset = address - site.begin;
    if (site.owner != number_ || offset >= site.bytes) return find(address, site);
    return {site.states[offset / FieldObject::kWord], site.key, offset / FieldObject::kWord, site.integers != 0};
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
  static constexpr unsigned kInverseBits = 16;
  FieldWord find(uint64_t address, kl_field_site& site);

  FieldReport report_;
  const uint64_t number_, seed_;  ///< number_: of all runs of the process; from 1.
  const NumberKind numbers_;
  const bool constants_meant_;
  const uint64_t* constants_ = nullptr;  ///< Those that were noted last.
  std::vector<Object> objects_;          ///< By address.
  Object arguments_;
  std::vector<uint64_t> argument_states_;
  std::unordered_map<uint64_t, uint64_t> elsewhere_;  ///< By address.
  /// Those that were asked for last, by a hash of the number.
  std::vector<Inverse> inverses_ = std::vector<Inverse>(size_t(1) << kInverseBits);
};

}  // namespace kernelift::cpu
