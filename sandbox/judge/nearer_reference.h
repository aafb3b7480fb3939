// Where the exact sums lie, if the recorded answer is far from them. A sum of floats that rounds the same way a million
// times in a row ends far from the exact one, in whatever order its terms come: the original repeats itself, and a
// rewrite that adds up in registers or in a tree is refused for being right. So the original's sums are also rounded at
// random (core/compiler/sums.h) and it is run a few times: that is right on average, and the mean of the runs is the
// better reference.
//   used        only where the mean is sure enough: the recorded answer is several standard errors away from it, and
//               one such error lies within the bound that follows
//   within      the runs' own spread about their mean, with the margin and under the cap of a rounding envelope, and
//               never more than half of what the recorded answer is off by: whoever is let in has at most half its
//               error
//   by parts    each neighbourhood of a lane has bounds of its own
// What it lets in besides is never far from both: neither a dropped term nor a constant that is off comes nearer.
#pragma once
#include <span>
#include <vector>

#include "core/model/element.h"

namespace kernelift {

class NearerReference {
 public:
  explicit NearerReference(ElementType type) : type_(type) {}
  /// What one more run left where the original left `reference`. EXPECTS: equal sizes, the same in every call.
  void add(std::span<const std::byte> reference, std::span<const std::byte> run);
  /// After the last run. False: there is nothing that could be let in.
  bool settle(std::span<const std::byte> reference);
  /// EXPECTS: settled. `expected`: the recorded value of element `index`; both finite.
  bool admits(size_t index, double expected, double got) const;

 private:
  ElementType type_;
  int runs_ = 0;
  /// By element: how far from the reference the runs lay, in sum (later in the mean), and the squares of that. Never
  /// the answer itself, which whoever shares this process's memory must not find.
  std::vector<double> deviation_, squares_;
  std::vector<double> radius_;  ///< By neighbourhood; 0: nothing is let in.
};

}  // namespace kernelift
