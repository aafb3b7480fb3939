// How far a buffer's results move when the same arithmetic is rounded in another legitimate way: products and sums
// fused or not, sums in another order, loops vectorised or not. The original is compiled in these ways and run on the
// same inputs; the range of its results is the envelope, and a rewrite whose results stay near it is accepted. This
// matters where terms cancel: a sum near zero may be many ULP off although nothing is wrong.
//   relative   the envelope is a share of each neighbourhood's scale, so that large numbers in one part of a buffer do
//              not excuse errors in a part with small ones; and it is measured only on elements that exceed a quarter
//              of the bound in ULP, so that large exact numbers do not excuse errors of small ones beside them
//   two means  the scale is taken as root mean square and as geometric mean. One large number dominates the former and
//              hardly moves the latter: the noise of a spectrum with one peak is explained only by the root mean
//              square, errors in a buffer with sentinel values (-9999 for "no value") are found only by the geometric
//              mean. Both bounds were measured on right results, so both must hold
//   margin     the envelope is widened by a small factor: only a few roundings were tried, a candidate adds another
//   sums       in another order are about as far from the original's as sums that are rounded at random are from their
//              mean (nearer_reference.h)
//   cap        near a thousand units of rounding: if rounding alone moves results further, the computation is unstable
//              and its results prove nothing
// Differences from run to run (sums by atomics) are measured in the same way. Without any spread there is no envelope,
// and the bound in ULP alone applies.
#pragma once
#include "sandbox/judge/error_bounds.h"

namespace kernelift::sandbox {

/// The largest observed deviations of elements, as shares of their neighbourhoods' scales.
struct Spread {
  double rms = 0, typical = 0;  ///< Of the root mean square, and of the geometric mean.
  bool denormals = false;       ///< A denormal was seen to change.

  /// Widens `tolerance` by a spread between differently rounded builds; never narrows it.
  void grant(const ElementType& type, FloatTolerance& tolerance) const;
  /// Widens `tolerance` by a spread between runs of one build.
  void grant_of_runs(FloatTolerance& tolerance) const;
  /// The same where it is the deviation of sums that are rounded at random from their mean.
  void grant_of_sums(const ElementType& type, FloatTolerance& tolerance) const;
};
/// Widens `tolerance` by what was granted to the same row with other inputs of its kind; never narrows it.
void grant_of_alike(const FloatTolerance& other, FloatTolerance& tolerance);
/// Differences up to so many ULP do not count towards the envelope.
double free_ulps(const ElementType& type);
/// FloatTolerance::envelope for a largest deviation `spread`, a share of the root mean square.
double granted_envelope(const ElementType& type, double spread);

class RoundingEnvelope {
 public:
  explicit RoundingEnvelope(ElementType type) : type_(type) {}
  /// Adds the results of another run. `reference`: the original's results. EXPECTS: equal sizes.
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
  /// Widens `bounds`, never narrows them. EXPECTS: bounds of the same layout.
  void grant(ErrorBounds& bounds) const;

 private:
  ElementLayout layout_;
  std::vector<RoundingEnvelope> lanes_;
};

/// What runs with randomly rounded sums tell of all lanes of a buffer: how far sums move that are added up in another
/// order, and nearer references (nearer_reference.h).
class LaneReferences {
 public:
  explicit LaneReferences(ElementLayout layout);
  /// Adds the results of a run with randomly rounded sums.
  void add(std::span<const std::byte> reference, std::span<const std::byte> run);
  /// To be called after the last run. EXPECTS: bounds of the same layout, for `reference`.
  void grant(std::span<const std::byte> reference, ErrorBounds& bounds) const;

 private:
  ElementLayout layout_;
  std::vector<NearerReference> lanes_;
};

}  // namespace kernelift::sandbox
