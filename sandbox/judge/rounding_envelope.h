// How far a buffer's results move when the same arithmetic is rounded in another legitimate way: products and sums
// fused or not, sums in another order, loops vectorised or not. The original is compiled in such ways and run on the
// same inputs; what it then leaves spans an envelope, and a rewrite that stays near it did the same computation. It
// matters where terms cancel: a sum near zero is many ULP off though nothing is wrong.
//   measured   as a share of the scale of each neighbourhood, so that large numbers in one part of a buffer do not
//              excuse errors in a part that holds small ones; and only of elements that need it, as the bound in ULP
//              (a quarter of
//              it) is not enough for them: beside large exact numbers small ones are not let off
//   twice      of the root mean square, which one large number among many small ones makes, and of the geometric
//              mean, which it does not: a spectrum with one peak has noise that only the first explains, a buffer
//              with marks (-9999:
//              "nothing here") errors that only the second finds. Where both have been seen to hold, both must
//   widened    by a small factor: a few roundings were tried, a candidate brings another one
//   capped     near a thousand units of rounding: where rounding alone moves results further than that, the
//              computation is unstable and proves nothing
// What differs from run to run (sums by atomics) is measured in the same way. No spread, no envelope: then the bound in
// ULP stands alone.
#pragma once
#include "sandbox/judge/error_bounds.h"

namespace kernelift {

/// The furthest that elements were seen to move, as shares of their neighbourhoods' scales.
struct Spread {
  double rms = 0, typical = 0;
  bool denormals = false;  ///< One was seen to move.

  /// Where the roundings are others. Widens `tolerance`, never narrows it.
  void grant(const ElementType& type, FloatTolerance& tolerance) const;
  /// Where nothing but the run is another.
  void grant_of_runs(FloatTolerance& tolerance) const;
};
/// Elements within so many ULP ask for no envelope.
double free_ulps(const ElementType& type);
/// FloatTolerance::envelope for a largest deviation as a share of the root mean square.
double granted_envelope(const ElementType& type, double spread);

class RoundingEnvelope {
 public:
  explicit RoundingEnvelope(ElementType type) : type_(type) {}
  /// What another run left where the original left `reference`. EXPECTS: equal sizes.
  void add(std::span<const std::byte> reference, std::span<const std::byte> other);
  const Spread& spread() const { return spread_; }

 private:
  ElementType type_;
  Spread spread_;
};

/// The envelopes of all lanes of a buffer.
class LaneEnvelopes {
 public:
  explicit LaneEnvelopes(ElementLayout layout);
  void add(std::span<const std::byte> reference, std::span<const std::byte> other);
  /// Widens `bounds`, never narrows it. EXPECTS: bounds of the same layout.
  void grant(ErrorBounds& bounds) const;

 private:
  ElementLayout layout_;
  std::vector<RoundingEnvelope> lanes_;
};

/// The nearer references of all lanes of a buffer (nearer_reference.h).
class LaneReferences {
 public:
  explicit LaneReferences(ElementLayout layout);
  /// What a run left whose sums were rounded at random.
  void add(std::span<const std::byte> reference, std::span<const std::byte> run);
  /// After the last run. EXPECTS: bounds of the same layout, for `reference`.
  void grant(std::span<const std::byte> reference, ErrorBounds& bounds) const;

 private:
  ElementLayout layout_;
  std::vector<NearerReference> lanes_;
};

}  // namespace kernelift
