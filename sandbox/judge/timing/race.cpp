// Stop rules; see race.h.
#include "sandbox/judge/timing/race.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kernelift::sandbox {

int Race::next_rounds() const {
  if (stop_ != Stop::None) return 0;
  int taken = static_cast<int>(baseline_.size());
  int goal = taken < rules_.first_rounds ? rules_.first_rounds : static_cast<int>(std::ceil(taken * rules_.growth));
  if (taken == 0) goal = std::min(rules_.early_rounds, rules_.first_rounds);
  goal = std::min(goal, rules_.most_rounds);
  // A growing step must not overshoot the budget: with long launches it would be exceeded twofold.
  if (taken >= rules_.first_rounds && spent_ > 0)
    goal = std::min(goal, static_cast<int>(std::ceil(taken * rules_.most_seconds / spent_)));
  return std::max(1, goal - taken);
}

void Race::add(const std::vector<double>& baseline, const std::vector<double>& candidate) {
  size_t pairs = std::min(baseline.size(), candidate.size());
  baseline_.insert(baseline_.end(), baseline.begin(), baseline.begin() + pairs);
  candidate_.insert(candidate_.end(), candidate.begin(), candidate.begin() + pairs);
  speedup_ = paired_ratio(baseline_, candidate_);
  spent_ = std::accumulate(baseline_.begin(), baseline_.end(), 0.0) +
           std::accumulate(candidate_.begin(), candidate_.end(), 0.0);
  int taken = static_cast<int>(baseline_.size());
  double bar = rules_.hopeless * std::max(1.0, rules_.smallest_gain);
  bool early = taken >= rules_.early_rounds && taken < rules_.first_rounds;
  bool hopeless = early && *std::ranges::max_element(baseline_) < bar * *std::ranges::min_element(candidate_);
  const bool enough = taken >= RaceRules::kEnough, looks = taken >= rules_.first_rounds;
  const double below = enough ? 1 : std::max(1.0, rules_.clear);
  const bool settled =
      enough && speedup_.low > rules_.smallest_gain && speedup_.relative_width() < rules_.settled_width;
  const bool clear = rules_.clear > 0 && speedup_.low > rules_.clear * rules_.smallest_gain;
  // Few pairs decide that there is a gain, and hardly how large it is at least: resampling two of them puts the lower
  // end above the truth once in four.
  if (clear && !enough)
    speedup_.low =
        std::max(rules_.clear * rules_.smallest_gain, std::min(speedup_.low, low_of_few(baseline_, candidate_)));
  if (hopeless) stop_ = Stop::CannotWin;
  else if (looks && below * speedup_.high < rules_.smallest_gain) stop_ = Stop::CannotWin;
  else if (looks && (settled || clear)) stop_ = Stop::Settled;
  else if (taken >= rules_.most_rounds || (taken >= rules_.first_rounds && spent_ >= rules_.most_seconds) || pairs == 0)
    stop_ = Stop::Budget;
}

double physics_floor(double fastest_write_seconds, unsigned cores) {
  // A factor of two allows for timer errors, page placement, and a store loop that is faster than the measured one.
  constexpr double kAllowance = 0.5;
  return cores > 0 ? kAllowance * fastest_write_seconds / cores : 0;
}

}  // namespace kernelift::sandbox
