// How far a buffer's results move when the same arithmetic is rounded in another legitimate way: products and sums fused
// or not, sums in another order, loops vectorised or not. The original is compiled in such ways and run on the same
// inputs; what it then leaves spans an envelope, and a rewrite that stays near it did the same computation. It matters
// where terms cancel: a sum near zero is many ULP off though nothing is wrong.
//   measured   as a share of the scale (root mean square) of each neighbourhood, so that large numbers in one part of a
//              buffer do not excuse errors in a part that holds small ones
//   widened    by a small factor: a few roundings were tried, a candidate brings another one
//   capped     near a thousand units of rounding: where rounding alone moves results further than that, the computation
//              is unstable and proves nothing
// No spread, no envelope: then the bound in ULP stands alone.
#pragma once
#include "sandbox/judge/yardstick.h"

namespace kernelift {

/// FloatTolerance::envelope for a largest deviation, seen anywhere, as a share of its neighbourhood's scale.
double granted_envelope(const ElementType& type, double spread);

class RoundingEnvelope {
 public:
  explicit RoundingEnvelope(ElementType type) : type_(type) {}
  /// What another rounding left where the original left `reference`. EXPECTS: equal sizes.
  void add(std::span<const std::byte> reference, std::span<const std::byte> other);
  /// Largest deviation seen, as a share of its neighbourhood's scale.
  double spread() const { return spread_; }
  /// What may be granted: FloatTolerance::envelope.
  double granted() const;

 private:
  ElementType type_;
  double spread_ = 0;
};

/// The envelopes of all lanes of a buffer.
class LaneEnvelopes {
 public:
  explicit LaneEnvelopes(ElementLayout layout);
  void add(std::span<const std::byte> reference, std::span<const std::byte> other);
  /// Widens `yardstick`, never narrows it. EXPECTS: one of the same layout.
  void grant(Yardstick& yardstick) const;

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
  /// After the last run. EXPECTS: a yardstick of the same layout, for `reference`.
  void grant(std::span<const std::byte> reference, Yardstick& yardstick) const;

 private:
  ElementLayout layout_;
  std::vector<NearerReference> lanes_;
};

}  // namespace kernelift
