// What cpu_device.h says of the states that field runs left: those of two runs, compared as what they stand for, and
// the number beside a float.
#include <bit>

#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/device/cpu/executor/field/field_memory.h"
#include "sandbox/device/cpu/real_number.h"

namespace kernelift::cpu {

namespace {

using Kind = FieldState::Kind;

/// One run's states of an object.
class Side {
 public:
  Side(const FieldObject& object, uint64_t seed, std::span<const uint64_t> states)
      : states_(states), key_(object.key ^ seed) {}

  /// What was not written is what was there.
  FieldState at(uint64_t word) const {
    const FieldState state = FieldState::from(word < states_.size() ? states_[word] : 0);
    const bool written = state.kind() != Kind::Untouched && state.kind() != Kind::ReadAsBits;
    return written ? state : FieldState(Kind::Either, prime_field::drawn(key_, word));
  }
  /// As a float, or as a double that begins there.
  uint64_t number(uint64_t word, bool wide) const {
    const FieldState state = at(word);
    if (state.kind() != Kind::Bits) return state.number();
    const uint64_t low = state.number(), high = at(word + 1).number();
    return prime_field::of_double(wide ? std::bit_cast<double>(high << 32 | low)
                                       : std::bit_cast<float>(static_cast<uint32_t>(low)));
  }

 private:
  std::span<const uint64_t> states_;
  uint64_t key_;
};

}  // namespace

std::optional<FieldDifference> first_difference(const FieldObject& object, uint64_t seed, std::span<const uint64_t> one,
                                                std::span<const uint64_t> other) {
  std::optional<FieldDifference> doubtful;
  if (object.integers) return doubtful;
  const Side left(object, seed, one), right(object, seed, other);
  const uint64_t words = object.states_bytes() / sizeof(uint64_t) - 1;
  for (uint64_t word = 0; word < words; ++word) {
    const Kind a = left.at(word).kind(), b = right.at(word).kind();
    if (a == b && (a == Kind::Bits || a == Kind::End)) continue;  // Integers are compared as such, elsewhere.
    auto is_float = [](Kind kind) { return kind == Kind::Float || kind == Kind::Double; };
    const bool wide = a == Kind::Double || b == Kind::Double;
    const bool comparable = is_float(a) || is_float(b) || a == b;
    if (!comparable || a == Kind::End || b == Kind::End) {
      if (!doubtful) doubtful = {word * FieldObject::kWord, false};
      continue;
    }
    if (left.number(word, wide) != right.number(word, wide)) return FieldDifference{word * FieldObject::kWord, true};
    word += wide;  // The other half says nothing more.
  }
  return doubtful;
}

std::optional<double> number_beside_float(uint64_t word) {
  const FieldState state = FieldState::from(word);
  if (state.kind() != Kind::Float) return std::nullopt;
  return real_number::unpacked(state.number());
}

}  // namespace kernelift::cpu
