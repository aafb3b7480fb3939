// Is this buffer what the original would have left? Every byte is compared, typed: integers, bools and unknown bytes
// exactly; floating point within a tolerance that comes from what is known of the buffer: the user's override, or else
// a bound in units of the last place, widened by its envelope (rounding_envelope.h): how far the original itself lands
// from run to run, and when the same arithmetic is merely rounded differently. Where its sums are known to be far from
// the exact ones, what is clearly nearer to those is right as well (nearer_reference.h).
//   NaN       equals NaN whatever its payload, and nothing else
//   infinity  equals the infinity of its sign only
//   -0        equals +0
//   denormals may be integers (float4.w often is one) and equal only themselves, until rounding is seen to move them:
//   then
//             they are numbers like others, and their distance is counted in their own spacing
// Sees bytes only: no device, no time, no disk.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sandbox/judge/judging.h"
#include "sandbox/judge/nearer_reference.h"

namespace kernelift {

/// How far a floating-point element may be from its reference: any one of the bounds suffices.
struct FloatTolerance {
  double ulps = 0;      ///< In spacings of the reference value.
  double relative = 0;  ///< Of the reference's magnitude.
  double absolute = 0;
  double envelope = 0;  ///< Of the root mean square of the element's neighbourhood,
  double typical = std::numeric_limits<double>::infinity();  ///< and no more than this of their geometric mean.
  bool denormals = false;                                    ///< They are results of arithmetic, and no integers.

  /// The default for a type, before anything is known of the kernel.
  static FloatTolerance standard(const ElementType& type);
  /// Within which two runs of one program may differ: sums that threads add up in any order. What is further apart is
  /// another answer.
  static FloatTolerance between_runs(const ElementType& type);
  /// What the user asks for, and nothing else.
  static FloatTolerance given(double relative, double absolute);
  /// "rounding envelope 3.1e-07 of the buffer's scale, 16 ULP"; "exact" of a type that is none of floating point.
  std::string text(const ElementType& type) const;
};

/// Bytes of reference that make up an element's neighbourhood: a buffer may hold large numbers here and tiny ones
/// there.
inline constexpr size_t kNeighbourhood = judging::kNeighbourhoodBytes;
/// EXPECTS: a floating-point type.
judging::Scale scale_of(const ElementType& type, std::span<const std::byte> bytes);
/// A row of `type` within `tolerance`, for the judge's arithmetic; its addresses are left to the caller.
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
  /// `nearer`: may be null.
  Comparator(ElementType type, FloatTolerance tolerance, const NearerReference* nearer = nullptr)
      : type_(type), task_(task_of(type, tolerance)), nearer_(nearer) {}
  /// EXPECTS: equal sizes. A tail shorter than one element is compared as bytes.
  Comparison compare(std::span<const std::byte> expected, std::span<const std::byte> got) const;
  const ElementType& type() const { return type_; }

 private:
  /// `allowed`: what the envelope does there.
  void compare_element(const std::byte* expected, const std::byte* got, uint64_t index, double allowed,
                       Comparison& into) const;
  ElementType type_;
  judging::Task task_;
  const NearerReference* nearer_;
};

}  // namespace kernelift
