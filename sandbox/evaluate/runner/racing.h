// Timing a candidate against the original, in alternation on the same device, until it is known whether it wins.
#pragma once
#include "sandbox/evaluate/runner/workbench.h"

namespace kernelift {

struct Samples {
  std::optional<TrialFailure> failure;
  std::vector<double> baseline, candidate;  ///< Seconds of one launch each, in pairs.
};

/// An instance that is timed, and the weight that its timing carries: its own, or that of all instances like it.
struct TimedInstance {
  size_t instance = 0;
  double weight = 1;
};

class Racing {
 public:
  explicit Racing(Workbench& bench) : bench_(bench) {}

  /// Finds instances of one geometry whose launches take about as long: one of them shows whether a candidate deserves
  /// more. EXPECTS: calibrated.
  void group_instances();
  /// One instance of each group, heaviest first.
  const std::vector<TimedInstance>& groups() const { return groups_; }
  /// What is timed for the present inquiry: one instance of each group, heaviest first; for a finalist all of them.
  std::vector<TimedInstance> timed() const;

  /// `rounds` pairs of samples, each the median of `batch` launches with everything restored before each.
  Samples time(const LoadedCode& baseline, const LoadedCode& candidate, size_t instance, int rounds, int batch);
  /// Before another inquiry is answered.
  void begin() { throttled_ = 0, retakes_ = kRetakes; }
  /// Times the instances one after the other. False: the verdict says why not. `races_after`, `checks_after`: races,
  /// and passes of verification over all instances (of `check_seconds` each), that are still to come before the
  /// deadline.
  bool time_all(const LoadedCode& candidate, const std::vector<TimedInstance>& instances, int races_after,
                int checks_after, double check_seconds, Verdict& verdict);
  /// Pairs of samples that a finalist is given on an instance.
  int confirmation_rounds(double seconds) const;
  /// Samples of the present inquiry that were taken while the device's clock was held down.
  int throttled() const { return throttled_; }

 private:
  bool candidate_goes_first(unsigned round) const;
  /// Of a launch of the original, as far as it is known yet.
  double expected_seconds(size_t instance) const;
  bool race(const LoadedCode& candidate, size_t instance, Race& race, std::optional<Deadline> until, Verdict& verdict);
  /// Below the least time in which the original's results can be written at all.
  void suspect_below_floor(const Race& race, size_t instance, Verdict& verdict) const;
  void wait_until_calm();
  void look_at_clocks();

  static constexpr int kRetakes = 5, kPatience = 20;
  Workbench& bench_;
  std::vector<TimedInstance> groups_;  ///< Heaviest first.
  Deadline clocks_checked_{};
  bool calm_ = true;          ///< When the clocks were last looked at.
  int patience_ = kPatience;  ///< Pauses that a clock which is held down is waited for.
  int retakes_ = kRetakes;    ///< How often this inquiry's samples may still be taken again.
  int throttled_ = 0;
  unsigned rounds_ = 0;  ///< Of the present race so far.
};

}  // namespace kernelift
