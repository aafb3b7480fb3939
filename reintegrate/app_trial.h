// Times two builds of the application against each other, and says whether the one is faster.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace kernelift {

/// Whole runs of the application, before and after the patch, taken in alternation. Seconds.
struct AppTiming {
  std::vector<double> before, after;
  double before_median = 0, after_median = 0;
  double speedup = 1, low = 1, high = 1;  ///< Of a typical pair, and its interval: 95 % or more.
  /// "1.089x [1.051, 1.102] pair by pair; 0.901 s -> 0.827 s, medians of 24 pairs".
  std::string text() const;
};

struct TrialOptions {
  int most_pairs = 200;         ///< Whatever the time.
  double smallest_gain = 1.01;  ///< The interval's lower bound must exceed it.
  double time_limit =
      600;  ///< Seconds of runs; but a gain is believed of six pairs, and three that show none refuse it.
};

/// What a few runs of one build let expect of the pairs.
struct Outlook {
  int pairs = 0;     ///< As many as there would be.
  double noise = 0;  ///< Half the interval's width then, as a fraction: 0.012 is ±1.2 %.
};
Outlook outlook(const TrialOptions& options, const std::vector<double>& runs);

/// Fills medians, speedup and interval from the samples. `miss` is how often, at most, the truth may lie below `low`,
/// and as often above `high`. Of so few pairs that no interval is that sure, the extremes: none to keep a patch by.
void summarise(AppTiming& timing, double miss = 0.025);

/// Alternates until a look is decisive, or pairs or time run out. `place(true)` puts the patched build in place, `run`
/// runs the application, `progress` hears of each pair and of the most that there will be.
Result<AppTiming> time_in_alternation(const TrialOptions& options, const std::function<Status(bool patched)>& place,
                                      const std::function<Result<double>()>& run,
                                      const std::function<void(const AppTiming&, int most)>& progress);

Json to_json(const AppTiming&);

}  // namespace kernelift
