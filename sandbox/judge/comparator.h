// Compares a buffer with its reference, every byte by its type: integers, bools and bytes of unknown type exactly;
// floating-point values within a tolerance. The tolerance is the user's, or else a bound in units of the last place,
// widened by the buffer's rounding envelope (rounding_envelope.h): how far the original's own results move from run to
// run, and when the same arithmetic is rounded differently. If the original's sums are far from the exact sums, values
// that are clearly nearer to the exact sums are accepted as well (nearer_reference.h).
//   NaN        equals NaN with any payload, and nothing else
//   infinity   equals the infinity of the same sign only
//   -0         equals +0, unless the sign is a result: the original's own runs, and all its builds that round
//   otherwise,
//              leave the row bit for bit. What only selects, copies or negates does; a sum whose terms are added in
//              another order may leave a zero of another sign, and where rounding moves anything none counts
//   denormals  may be integers (float4.w often is one), so they equal only themselves; once rounding was seen to change
//              one, they are compared as numbers, with distances in their own spacing
// Works on bytes alone: no device, no clock, no disk.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sandbox/judge/judging.h"
#include "sandbox/judge/length_bound.h"
#include "sandbox/judge/nearer_reference.h"
#include "sandbox/judge/unsteady_elements.h"

namespace kernelift::sandbox {

/// Largest accepted distance of a floating-point element from its reference. An element within any one of the bounds is
/// accepted.
struct FloatTolerance {
  double ulps = 0;      ///< In spacings of the reference value.
  double relative = 0;  ///< As a share of the reference's magnitude.
  double absolute = 0;
  double envelope = 0;  ///< As a share of the root mean square of the element's neighbourhood.
  /// Upper limit of the envelope, as a share of the neighbourhood's geometric mean.
  double typical = std::numeric_limits<double>::infinity();
  bool denormals = false;   ///< Denormals are results of arithmetic, not integers.
  bool zero_signs = false;  ///< -0 differs from +0.

  /// The default for a type, before anything is known of the kernel.
  static FloatTolerance standard(const ElementType& type);
  /// The largest difference between two runs of one program that the order of additions explains. Results that differ
  /// by more are different answers.
  static FloatTolerance between_runs(const ElementType& type);
  /// The user's tolerance alone.
  static FloatTolerance given(double relative, double absolute);
  /// "rounding envelope 3.1e-07 of the buffer's scale, 16 ULP"; "exact" for types that are not floating-point.
  std::string text(const ElementType& type) const;
};

/// Bytes of the reference that form one neighbourhood. Scales are measured per neighbourhood, since one buffer may hold
/// large numbers in one part and tiny ones in another.
inline constexpr size_t kNeighbourhood = judging::kNeighbourhoodBytes;
/// EXPECTS: a floating-point type.
judging::Scale scale_of(const ElementType& type, std::span<const std::byte> bytes);
/// The comparison of a row of `type` within `tolerance`; the caller sets the addresses.
judging::Task task_of(const ElementType& type, const FloatTolerance& tolerance);
/// The bits of one element.
judging::u64 bits_of(const ElementType& type, const std::byte* element);

struct Mismatch {
  uint64_t offset = 0;  ///< Bytes from the buffer's start.
  uint64_t index = 0;   ///< Scalar element.
  std::string expected, got;
  double distance = 0;  ///< ULP for floats (infinite against NaN or infinity), absolute difference for integers.
};

struct Comparison {
  uint64_t mismatches = 0;  ///< Elements out of tolerance.
  std::optional<Mismatch> first, worst;
  double largest_ulps = 0, largest_absolute = 0;  ///< Over finite elements, tolerated or not.
  bool ok() const { return mismatches == 0; }
};

class Comparator {
 public:
  /// `nearer`, `by_length`, `unsteady`: may be null.
  Comparator(ElementType type, FloatTolerance tolerance, const NearerReference* nearer = nullptr,
             const LengthBound* by_length = nullptr, const UnsteadyElements* unsteady = nullptr)
      : type_(type), task_(task_of(type, tolerance)), nearer_(nearer), by_length_(by_length), unsteady_(unsteady) {}
  /// EXPECTS: equal sizes. A tail shorter than one element is compared as bytes.
  Comparison compare(std::span<const std::byte> expected, std::span<const std::byte> got) const;
  const ElementType& type() const { return type_; }

 private:
  /// `allowed`: the absolute difference that the envelope permits in the element's neighbourhood.
  void compare_element(const std::byte* expected, const std::byte* got, uint64_t index, double allowed,
                       Comparison& into) const;
  ElementType type_;
  judging::Task task_;
  const NearerReference* nearer_;
  const LengthBound* by_length_;
  const UnsteadyElements* unsteady_;
};

}  // namespace kernelift::sandbox
