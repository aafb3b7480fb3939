// What a field run of the CPU device is told, and what it answers. In a field run a kernel's floating-point arithmetic
// is done a second time, beside what it computes, in numbers modulo 2^61 - 1, with every float that it is given drawn
// at random: two kernels that leave the same numbers compute the same rational functions. The same way a run tells,
// beside the recorded floats, what they would be without rounding, and how far rounding may have moved them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kernelift {

/// Memory that a kernel is given. Four of its bytes have one state of eight bytes; a double has that of its first half.
struct FieldObject {
  std::string variable;           ///< A module variable's name in the image; empty: the memory at `begin`.
  uint64_t begin = 0, bytes = 0;  ///< Address; of a variable it is found in the image.
  uint64_t states = 0;            ///< Address of the states, states_bytes() of zeros before the first launch.
  uint64_t key = 0;               ///< What its numbers are drawn from: the same for the original and a candidate.
  bool integers = false;          ///< It holds no floats: its contents are kept as recorded.
  static constexpr uint64_t kWord = 4;
  uint64_t states_bytes() const { return ((begin % kWord + bytes + kWord - 1) / kWord + 1) * sizeof(uint64_t); }
};

/// What stands beside each float.
enum class NumberKind : uint8_t {
  Residues,     ///< The number modulo p of a field run.
  Precise,      ///< The float as it would be without rounding, in 49 bits, from the recorded floats on.
  ErrorBounds,  ///< How far rounding may have moved the float: a bound, of every operation that it comes from.
};

struct FieldRequest {
  std::vector<FieldObject> objects;
  NumberKind numbers = NumberKind::Residues;  ///< As the image was lowered for.
  uint64_t seed = 0;                          ///< Residues only, as the next.
  /// Constants stand for the simple fractions that round to them: 0.1f for 1/10.
  bool constants_meant = false;
};

/// What the run met.
struct FieldReport {
  bool floats = false;  ///< A float was read or written.
  /// "the comparison at kernel.cu:12": the first place where recorded floats decided what is computed, or became
  /// integers; empty: none did.
  std::string decided;
  /// "expf at kernel.cu:9": a function of which is only known that equal arguments have equal results.
  std::string function;
  uint64_t divisions_by_zero = 0;
  /// Constants that may stand for more than one number, by what they are modulo p; ascending.
  std::vector<uint64_t> constants;
};

}  // namespace kernelift
