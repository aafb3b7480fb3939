// What a field run knows of four bytes of memory: a number modulo p that a float there stands for, or that they are
// bits like any others. Kept in 64 bits, of which the upper three say which it is. A double's second half is an End.
#pragma once
#include <cstdint>

#include "sandbox/device/cpu/prime_field.h"

namespace kernelift::cpu {

class FieldState {
 public:
  enum Kind : uint64_t { Untouched, Float, Double, Either, End, Bits, ReadAsBits };
  FieldState() = default;
  FieldState(Kind kind, uint64_t number) : word_(uint64_t(kind) << prime_field::kBits | number) {}
  static FieldState from(uint64_t word) {
    FieldState state;
    state.word_ = word;
    return state;
  }
  uint64_t word() const { return word_; }
  Kind kind() const { return Kind(word_ >> prime_field::kBits); }
  /// Of Float, Double and Either (which may be read as one or the other), modulo p; of Bits, the 32 bits.
  uint64_t number() const { return word_ & prime_field::kPrime; }
  bool is_number() const { return kind() == Float || kind() == Double || kind() == Either; }

 private:
  uint64_t word_ = 0;
};

}  // namespace kernelift::cpu
