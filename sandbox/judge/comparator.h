// Is this buffer what the original would have left? Every byte is compared, typed: integers, bools and unknown bytes
// exactly; floating point within a tolerance that comes from what is known of the buffer: the user's override, or else
// a bound in units of the last place, widened by what the original itself varies from run to run and by its rounding
// envelope (rounding_envelope.h): how far the same arithmetic lands when it is merely rounded differently. Where its sums
// are known to be far from the exact ones, what is clearly nearer to those is right as well (nearer_reference.h).
//   NaN       equals NaN whatever its payload, and nothing else
//   infinity  equals the infinity of its sign only
//   -0        equals +0
//   denormals are numbers like others: their distance is counted in their own spacing
// Sees bytes only: no device, no time, no disk.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sandbox/judge/nearer_reference.h"

namespace kernelift {

/// How far a floating-point element may be from its reference: any one of the bounds suffices.
struct FloatTolerance {
  double ulps = 0;      ///< In spacings of the reference value.
  double relative = 0;  ///< Of the reference's magnitude.
  double absolute = 0;
  double envelope = 0;  ///< Of the root mean square of the element's neighbourhood.

  /// The default for a type, before anything is known of the kernel.
  static FloatTolerance standard(const ElementType& type);
  /// Within which two runs of one program may differ: sums that threads add up in any order. What is further apart is
  /// another answer.
  static FloatTolerance between_runs(const ElementType& type);
  /// Widened so that it covers what two runs differed by (in ULP, and in absolute terms) with a margin.
  FloatTolerance covering(double ulps_seen, double absolute_seen) const;
  /// "rounding envelope 3.1e-07 of the buffer's scale, 16 ULP"; "exact" of a type that is none of floating point.
  std::string text(const ElementType& type) const;
};

/// Bytes of reference that make up an element's neighbourhood: a buffer may hold large numbers here and tiny ones there.
inline constexpr size_t kNeighbourhood = 4096;
/// Root mean square of the finite elements in `bytes`; 0 of none. EXPECTS: a floating-point type.
double scale_of(const ElementType& type, std::span<const std::byte> bytes);

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
  /// `nearer`: may be null.
  Comparator(ElementType type, FloatTolerance tolerance, const NearerReference* nearer = nullptr)
      : type_(type), tolerance_(tolerance), nearer_(nearer) {}
  /// EXPECTS: equal sizes. A tail shorter than one element is compared as bytes.
  Comparison compare(std::span<const std::byte> expected, std::span<const std::byte> got) const;
  const ElementType& type() const { return type_; }

 private:
  /// `allowed`: the envelope's share of the neighbourhood's scale.
  void compare_element(const std::byte* expected, const std::byte* got, uint64_t index, double allowed,
                       Comparison& into) const;
  ElementType type_;
  FloatTolerance tolerance_;
  const NearerReference* nearer_;
};

}  // namespace kernelift
