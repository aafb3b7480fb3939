// See confirm_reserve.h.
#include "tuner/confirm_reserve.h"

#include <algorithm>

namespace kernelift::tuner {
namespace {

// Shares of the time that is left once the original is measured, kept for confirmation:
constexpr double kSmallReserve = 0.1;  ///< At most for all finalists.
constexpr double kNoisyReserve = 0.2;  ///< The same, if noise hides which candidates win.
constexpr double kMostReserve = 0.4;   ///< At most for the leaders, with the original measured again.
constexpr double kLastReserve = 0.7;   ///< At most for leaders that surely win.
constexpr double kConfirming = 2;      ///< Duration of a confirmation as a multiple of the winner's screening.
constexpr double kBusy = 2;            ///< Factor of the expected cost of confirming on a busy machine.

}  // namespace

double confirm_reserve(ConfirmCost cost, const std::vector<WaitingFinalist>& waiting, bool hidden, size_t finalists,
                       double sitting) {
  // The expected cost is the original's: a leader takes less for its own launches, or as long as its screening did.
  double each = 0, leading = 0;
  for (auto& [verdict, leads] : waiting) {
    if (!leads) continue;
    double shorter = cost.own * (1 - 1 / std::max(1.0, verdict.speedup_low()));
    double screening = verdict.evaluate_seconds - verdict.compile_seconds;
    each = std::max({each, cost.each - shorter, kConfirming * screening}), ++leading;
  }
  if (leading > 0) cost.each = each;
  // No winner yet: a late one, perhaps twice as fast, gets a short confirmation.
  double most_ever = kMostReserve * sitting;
  if (leading == 0) return std::min(cost.first + kWorthTrying * (cost.each - cost.own / 2), most_ever);
  double barely = cost.first + cost.each * leading, least = cost.once + barely;
  // If noise hides the winner, the first finalist is often not the one, and the machine is so busy that everything
  // takes longer than it did for the original.
  if (hidden) least *= kBusy;
  size_t most = hidden ? std::max(finalists, waiting.size()) : waiting.size();
  double all = cost.once + cost.first + cost.each * static_cast<double>(most);
  double reserve =
      std::min(most_ever, std::max(least, std::min(all, (hidden ? kNoisyReserve : kSmallReserve) * sitting)));
  // A winner that cannot be confirmed is worthless, so confirmation takes precedence over a longer search.
  return hidden ? reserve : std::max(reserve, std::min(kLastReserve * sitting, barely));
}

}  // namespace kernelift::tuner
