// The interval is Wilcoxon's signed-rank interval over log(before/after), pair by pair: the estimate is the median of
// all pairwise averages (Walsh averages), and the signed-rank distribution says which of them bound the interval. It is
// exact for any noise that affects both builds equally, because then each pair is as likely to lie above the true gain
// as below it by the same amount. So a burst of other load or a slow minute cannot create a gain, and small samples
// need no approximation. Runs are paired because a slow minute slows both runs of a pair.
//
// The times of the interim looks are fixed in advance, because stopping at a lucky moment would turn noise into a gain.
// A patch that gains nothing may pass in one of forty trials (2.5 %). After six pairs a trial ends if each run with the
// patch was faster than each without: of twelve equal runs in any order that comes about once in 924 times, and since
// the builds alternate, a drift separates them no more often. The looks at 10, 20, 40, … pairs may use up a
// probability of 0.001 each, so only a plain gain ends a trial early; the last look, at as many pairs as the time
// allows, has the rest (the sum bounds the error however the looks are correlated). The number of pairs that the time
// allows is computed from the duration of whole pairs, which does not depend on which build is faster. Looks that only
// refuse a gain cost nothing of that probability.
#include "reintegrate/app_trial.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kernelift::reintegrate {
namespace {

constexpr int kFewestPairs = 6;     // Fewest pairs to accept a gain: all six show one by chance once in 64 trials.
constexpr int kFewestToRefuse = 3;  // Fewest pairs to refuse a gain, when none of them shows one.
constexpr double kMissSeparated = 1. / 924;  // By six runs of either build: one in 12! / (6! 6!).
constexpr double kMissEarly = 0.001;         // Probability that an early look may use up.
constexpr int kFirstEarlyLook = 10;  // Pairs at the first look, doubled for each next; 2^-10 is less than kMissEarly.
constexpr double kMiss = 0.025;      // Probability that all looks together may use up.
constexpr double kNormalBound = 1.96, kMedianOfNormal = 0.6745;
constexpr double kWilcoxonEfficiency = 0.95;  // Relative to the mean for normal noise; higher for any other noise.

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

/// The number of pairs that the time allows.
int pairs_within(const TrialOptions& options, double seconds_a_pair) {
  double pairs = std::max<double>(options.time_limit / seconds_a_pair, kFewestPairs);
  return static_cast<int>(std::min<double>(pairs, options.most_pairs));
}

/// The largest k such that the k-th smallest pairwise average is a lower bound with error probability of at most
/// `miss`: the signed ranks of `pairs` symmetric values sum to less than k with at most that probability. 0: there is
/// no such k.
size_t ranks_outside(size_t pairs, double miss) {
  std::vector<double> chance(pairs * (pairs + 1) / 2 + 1);  // Probability of each sum of ranks.
  chance[0] = 1;
  for (size_t rank = 1; rank <= pairs; ++rank)
    for (size_t sum = rank * (rank + 1) / 2 + 1; sum-- > 0;)
      chance[sum] = (chance[sum] + (sum >= rank ? chance[sum - rank] : 0)) / 2;
  size_t k = 0;
  for (double below = chance[0]; below <= miss; below += chance[++k]) {}
  return k;
}

/// Of the logarithms of the pairs' gains, each with each and with itself.
std::vector<double> pairwise_averages(const AppTiming& timing) {
  std::vector<double> gains, averages;
  const double sign = timing.metric && timing.metric->better() == Metric::Better::Higher ? -1 : 1;
  for (size_t i = 0; i < timing.after.size(); ++i) {
    gains.push_back(sign * std::log(timing.before[i] / timing.after[i]));
    for (size_t j = 0; j <= i; ++j) averages.push_back((gains[i] + gains[j]) / 2);
  }
  return averages;
}

/// Each run with the patch was faster than each without by more than the smallest gain.
bool separated(const AppTiming& timing, double smallest_gain) {
  const bool higher = timing.metric && timing.metric->better() == Metric::Better::Higher;
  const auto &slower = higher ? timing.after : timing.before, &faster = higher ? timing.before : timing.after;
  return *std::ranges::min_element(slower) > smallest_gain * *std::ranges::max_element(faster);
}

/// False: however large the gains of all pairs to come, the interval of `most` pairs does not lie above the smallest.
bool may_be_kept(const AppTiming& timing, const TrialOptions& options, int most, double miss) {
  std::vector<double> averages = pairwise_averages(timing);
  const size_t outside = std::max<size_t>(ranks_outside(static_cast<size_t>(most), miss), 1) - 1;
  return outside >= averages.size() || at_rank(averages, outside) > std::log(options.smallest_gain);
}

}  // namespace

TrialForecast forecast(const TrialOptions& options, const std::vector<AppRun>& runs) {
  double mean = 0;
  for (auto& run : runs) mean += run.seconds / static_cast<double>(runs.size());
  // The median of the differences between successive runs: a drift or a single burst does not affect most pairs.
  std::vector<double> steps;
  for (size_t i = 1; i < runs.size(); ++i) steps.push_back(std::abs(std::log(runs[i].figure / runs[i - 1].figure)));
  double pair_spread = median(steps) / kMedianOfNormal;
  TrialForecast expected;
  expected.pairs = pairs_within(options, 2 * mean);
  expected.noise = kNormalBound * pair_spread / std::sqrt(kWilcoxonEfficiency * expected.pairs);
  return expected;
}

void summarise(AppTiming& timing, double miss) {
  timing.before_median = median(timing.before);
  timing.after_median = median(timing.after);
  size_t pairs = timing.after.size();
  if (pairs == 0) return;
  std::vector<double> averages = pairwise_averages(timing);
  size_t outside = std::max<size_t>(ranks_outside(pairs, miss), 1) - 1;
  timing.low = std::exp(at_rank(averages, outside));
  timing.high = std::exp(at_rank(averages, averages.size() - 1 - outside));
  timing.speedup = std::exp(median(std::move(averages)));
}

Result<AppTiming> time_in_alternation(const TrialOptions& options, const std::function<Status(bool)>& install,
                                      const std::function<Result<AppRun>()>& run,
                                      const std::function<void(const AppTiming&, int)>& progress) {
  AppTiming timing;
  timing.metric = options.metric;
  double spent = 0;
  auto once = [&](bool patched, std::vector<double>* into) -> Status {
    KERNELIFT_TRY(install(patched));
    KERNELIFT_ASSIGN(AppRun ran, run());
    if (into) into->push_back(ran.figure), spent += ran.seconds;
    return done();
  };
  for (bool patched : {false, true}) KERNELIFT_TRY(once(patched, nullptr));  // Warms caches and page tables for both.
  int next_look = kFirstEarlyLook, most = options.most_pairs;
  double miss = kMiss;
  for (int pair = 1;; ++pair) {
    // The order alternates; otherwise a machine that slows down or warms up would favour one of the builds.
    for (bool patched : {pair % 2 == 0, pair % 2 == 1})
      KERNELIFT_TRY(once(patched, patched ? &timing.after : &timing.before));
    if (pair <= kFewestToRefuse) most = pairs_within(options, spent / pair);
    progress(timing, most);
    bool over = spent > options.time_limit;
    bool last = pair == most || (over && pair >= kFewestPairs);
    bool early = pair == next_look && !last;
    if (pair == kFewestPairs && !last) {
      summarise(timing, kMiss);
      if (separated(timing, options.smallest_gain) && timing.low > options.smallest_gain) break;
      miss -= kMissSeparated;
    }
    if (early) {
      next_look *= 2, miss -= kMissEarly;
      summarise(timing, kMissEarly);
      if (timing.low > options.smallest_gain) break;
    }
    const bool hopeless = pair >= kFewestToRefuse && !may_be_kept(timing, options, most, miss);
    bool refusable = early || pair == kFewestPairs || (over && pair >= kFewestToRefuse);
    if (!last && !refusable && !hopeless) continue;
    summarise(timing, miss);
    if (last || hopeless || timing.high < options.smallest_gain) break;
  }
  return timing;
}

std::string AppTiming::text() const {
  char text[96];
  std::snprintf(text, sizeof text, "%.3fx [%.3f, %.3f] pair by pair; ", speedup, low, high);
  return text + shown(before_median) + " -> " + shown(after_median) + (metric ? " (" + metric->title() + ")" : "") +
         ", medians of " + std::to_string(after.size()) + " pairs";
}

std::string AppTiming::shown(double figure) const {
  char text[32];
  std::snprintf(text, sizeof text, metric ? "%.5g" : "%.3f s", figure);
  return text;
}

Json to_json(const AppTiming& timing) {
  const std::string unit = timing.metric ? "" : "_seconds";
  Json metric = nullptr;
  if (timing.metric)
    metric = {{"title", timing.metric->title()},
              {"pattern", timing.metric->pattern()},
              {"better", timing.metric->better_text()}};
  return {{"metric", metric},
          {"before" + unit, timing.before},
          {"after" + unit, timing.after},
          {"before_median" + unit, timing.before_median},
          {"after_median" + unit, timing.after_median},
          {"speedup", timing.speedup},
          {"speedup_low", timing.low},
          {"speedup_high", timing.high}};
}

}  // namespace kernelift::reintegrate
