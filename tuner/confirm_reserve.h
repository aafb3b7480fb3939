// How much of a search's time is kept for confirming its finalists. A winner that cannot be confirmed is worthless.
#pragma once
#include <vector>

#include "core/model/evaluator.h"

namespace kernelift::tuner {

/// Share of a full confirmation's cost that must be left for another one.
inline constexpr double kWorthTrying = 0.5;

struct WaitingFinalist {
  const Verdict& verdict;  ///< Of its screening.
  bool leads;              ///< The likeliest winner of its kind.
};

/// Seconds. `hidden`: noise hides which candidates win. `finalists`: how many are confirmed then. `sitting`: seconds
/// for search and confirmation.
double confirm_reserve(ConfirmCost cost, const std::vector<WaitingFinalist>& waiting, bool hidden, size_t finalists,
                       double sitting);

}  // namespace kernelift::tuner
