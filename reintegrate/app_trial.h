// Times two builds of the application against each other and says whether the patched one is faster.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "reintegrate/metric.h"

namespace kernelift::reintegrate {

/// One run of the application.
struct AppRun {
  double seconds = 0;
  double figure = 0;  ///< What is measured: the seconds, or what the run printed.
  AppRun(double seconds) : seconds(seconds), figure(seconds) {}
  AppRun(double seconds, double figure) : seconds(seconds), figure(figure) {}
};

/// Figures of whole runs of the application, before and after the patch, measured in alternation: durations in seconds,
/// unless there is a metric.
struct AppTiming {
  std::vector<double> before, after;
  double before_median = 0, after_median = 0;
  double speedup = 1, low = 1, high = 1;  ///< Speedup of a typical pair, and its confidence interval of 95 % or more.
  std::optional<Metric> metric = {};
  /// "1.089x [1.051, 1.102] pair by pair; 0.901 s -> 0.827 s, medians of 24 pairs", or with a metric
  /// "…; 1.2e+09 -> 1.31e+09 ('FOM = ([0-9.e+]+)', higher is better), medians of …".
  std::string text() const;
  /// "0.901 s" or "1.2e+09".
  std::string shown(double figure) const;
};

struct TrialOptions {
  std::optional<Metric> metric = {};  ///< What is measured; none: the duration.
  int most_pairs = 200;               ///< Limit on the number of pairs, however much time there is.
  double smallest_gain = 1.01;        ///< The interval's lower bound must exceed this speedup.
  double time_limit = 600;            ///< Seconds of runs. At least six pairs are run, or three if those show no gain.
};

/// The precision to expect of a trial, estimated from a few runs of one build.
struct TrialForecast {
  int pairs = 0;     ///< Number of pairs that the time allows.
  double noise = 0;  ///< Half the width of the resulting interval, as a fraction: 0.012 is ±1.2 %.
};
TrialForecast forecast(const TrialOptions& options, const std::vector<AppRun>& runs);

/// Fills medians, speedup and interval from the samples. `miss` is the largest probability that the true speedup lies
/// below `low`, and likewise above `high`. With too few pairs for that, the interval is given by the extremes and must
/// not be used to keep a patch.
void summarise(AppTiming& timing, double miss = 0.025);

/// Runs both builds in alternation until an interim look is decisive, until no pairs to come can make the gain certain,
/// or until pairs or time run out. `install(true)` puts the patched build in its place, `run` runs the application,
/// `progress` is called after each pair with the largest number of pairs that there will be.
Result<AppTiming> time_in_alternation(const TrialOptions& options, const std::function<Status(bool patched)>& install,
                                      const std::function<Result<AppRun>()>& run,
                                      const std::function<void(const AppTiming&, int most)>& progress);

Json to_json(const AppTiming&);

}  // namespace kernelift::reintegrate
