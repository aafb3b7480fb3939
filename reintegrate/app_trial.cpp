// The interval is Wilcoxon's: of the logarithms of before/after, pair by pair, the median of all averages of two, and
// those averages that the signed-rank distribution cuts off on either side. It is exact for any noise that treats both
// builds alike: under the hypothesis each pair is as likely to lie as far above the true gain as below. So a
// neighbour's burst or a slow minute cannot make a gain, and small samples need no approximation. Pairs, because a slow
// minute slows both members.
//
// When to stop is decided before the first look, or stopping at a lucky moment would turn noise into a gain. A patch
// that gains nothing may pass once in forty trials (2.5 %). Looks at 10, 20, 40, … pairs may spend a thousandth of all
// trials each, so only a plain gain ends a trial early; the last look, at as many pairs as the time allows, has the
// rest (the sum bounds the error whatever the looks have in common). How many pairs the time allows follows from what
// pairs take, before and after together, which says nothing of who is faster. To refuse a gain looks are free: they can
// only refuse.
#include "reintegrate/app_trial.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kernelift {
namespace {

constexpr int kFewestPairs = 6;       // That a gain is believed of: all above by chance once in 64.
constexpr int kFewestToRefuse = 3;    // All of which show none.
constexpr int kFirstEarlyLook = 10;   // Twice as many each time. Fewer could not be sure enough: 2^-10 …
constexpr double kMissEarly = 0.001;  // … is less than this.
constexpr double kMiss = 0.025;       // In all looks together.
constexpr double kNormalBound = 1.96, kMedianOfNormal = 0.6745;
constexpr double kWilcoxonEfficiency = 0.95;  // Of the mean, for normal noise; better for any other.

double at_rank(std::vector<double>& values, size_t rank) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(rank), values.end());
  return values[rank];
}

double median(std::vector<double> values) {
  size_t half = values.size() / 2;
  return values.empty()      ? 0
         : values.size() % 2 ? at_rank(values, half)
                             : (at_rank(values, half - 1) + at_rank(values, half)) / 2;
}

/// As many pairs as the time is enough for.
int pairs_within(const TrialOptions& options, double seconds_a_pair) {
  double pairs = std::max<double>(options.time_limit / seconds_a_pair, kFewestPairs);
  return static_cast<int>(std::min<double>(pairs, options.most_pairs));
}

/// The k for which the k-th smallest average of two is a lower bound that is missed with a probability of `miss` at
/// most: the signed ranks of `pairs` symmetric values sum to less than k no more often. 0: no bound is as sure.
size_t ranks_outside(size_t pairs, double miss) {
  std::vector<double> chance(pairs * (pairs + 1) / 2 + 1);  // Of each sum.
  chance[0] = 1;
  for (size_t rank = 1; rank <= pairs; ++rank)
    for (size_t sum = rank * (rank + 1) / 2 + 1; sum-- > 0;)
      chance[sum] = (chance[sum] + (sum >= rank ? chance[sum - rank] : 0)) / 2;
  size_t k = 0;
  for (double below = chance[0]; below <= miss; below += chance[++k]) {}
  return k;
}

}  // namespace

Outlook outlook(const TrialOptions& options, const std::vector<double>& runs) {
  double mean = std::accumulate(runs.begin(), runs.end(), 0.0) / static_cast<double>(runs.size());
  // From one run to the next, and the median of that: neither a drift nor a burst is the noise of most pairs.
  std::vector<double> steps;
  for (size_t i = 1; i < runs.size(); ++i) steps.push_back(std::abs(std::log(runs[i] / runs[i - 1])));
  double pair_spread = median(steps) / kMedianOfNormal;
  Outlook expected;
  expected.pairs = pairs_within(options, 2 * mean);
  expected.noise = kNormalBound * pair_spread / std::sqrt(kWilcoxonEfficiency * expected.pairs);
  return expected;
}

void summarise(AppTiming& timing, double miss) {
  timing.before_median = median(timing.before);
  timing.after_median = median(timing.after);
  size_t pairs = timing.after.size();
  if (pairs == 0) return;
  std::vector<double> gains, averages;
  for (size_t i = 0; i < pairs; ++i) {
    gains.push_back(std::log(timing.before[i] / timing.after[i]));
    for (size_t j = 0; j <= i; ++j) averages.push_back((gains[i] + gains[j]) / 2);
  }
  size_t outside = std::max<size_t>(ranks_outside(pairs, miss), 1) - 1;
  timing.low = std::exp(at_rank(averages, outside));
  timing.high = std::exp(at_rank(averages, averages.size() - 1 - outside));
  timing.speedup = std::exp(median(std::move(averages)));
}

Result<AppTiming> time_in_alternation(const TrialOptions& options, const std::function<Status(bool)>& place,
                                      const std::function<Result<double>()>& run,
                                      const std::function<void(const AppTiming&, int)>& progress) {
  AppTiming timing;
  double spent = 0;
  auto once = [&](bool patched, std::vector<double>* into) -> Status {
    KERNELIFT_TRY(place(patched));
    KERNELIFT_ASSIGN(double seconds, run());
    if (into) into->push_back(seconds), spent += seconds;
    return done();
  };
  for (bool patched : {false, true}) KERNELIFT_TRY(once(patched, nullptr));  // Caches and page tables warm for both.
  int next_look = kFirstEarlyLook, most = options.most_pairs;
  double miss = kMiss;
  for (int pair = 1;; ++pair) {
    // Who goes first changes, or a machine that slows down, or warms up, would speak for one of them.
    for (bool patched : {pair % 2 == 0, pair % 2 == 1})
      KERNELIFT_TRY(once(patched, patched ? &timing.after : &timing.before));
    if (pair <= kFewestToRefuse) most = pairs_within(options, spent / pair);
    progress(timing, most);
    bool over = spent > options.time_limit;
    bool last = pair == most || (over && pair >= kFewestPairs);
    bool early = pair == next_look && !last;
    if (early) {
      next_look *= 2, miss -= kMissEarly;
      summarise(timing, kMissEarly);
      if (timing.low > options.smallest_gain) break;
    }
    bool refusable = early || pair == kFewestPairs || (over && pair >= kFewestToRefuse);
    if (!last && !refusable) continue;
    summarise(timing, miss);
    if (last || timing.high < options.smallest_gain) break;
  }
  return timing;
}

std::string AppTiming::text() const {
  char text[160];
  std::snprintf(text, sizeof text, "%.3fx [%.3f, %.3f] pair by pair; %.3f s -> %.3f s, medians of %zu pairs", speedup,
                low, high, before_median, after_median, after.size());
  return text;
}

Json to_json(const AppTiming& timing) {
  return {{"before_seconds", timing.before},
          {"after_seconds", timing.after},
          {"before_median_seconds", timing.before_median},
          {"after_median_seconds", timing.after_median},
          {"speedup", timing.speedup},
          {"speedup_low", timing.low},
          {"speedup_high", timing.high}};
}

}  // namespace kernelift
