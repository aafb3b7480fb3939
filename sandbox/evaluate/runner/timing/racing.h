// Times a candidate and the original in alternation on the same device, until it is known whether the candidate wins.
#pragma once
#include "sandbox/evaluate/runner/timing/launch_trials.h"

namespace kernelift::sandbox {

struct Samples {
  std::optional<RunFailure> failure;
  std::optional<Verdict> wrong;             ///< A launch that was timed left something wrong.
  std::vector<double> baseline, candidate;  ///< Seconds of one launch each, in pairs.
};

/// An instance that is timed, and the weight of its timing: its own, or that of all instances of its group.
struct TimedInstance {
  size_t instance = 0;
  double weight = 1;
};

class Racing {
 public:
  Racing(Workbench& bench, LaunchTrials& trials) : bench_(bench), trials_(trials) {}

  /// Groups instances of equal geometry and similar duration; a search times one of each group. EXPECTS: calibrated.
  void group_instances();
  /// The heaviest instance of each group, heaviest group first.
  const std::vector<TimedInstance>& groups() const { return groups_; }
  /// The instances to time for the current inquiry: groups(); for a finalist all instances.
  std::vector<TimedInstance> timed() const;

  /// `rounds` pairs of samples; a sample is the median of `batch` launches, each on restored memory. `judged`: each
  /// launch is a trial (launch_trials.h).
  Samples time(const LoadedCode& baseline, const LoadedCode& candidate, size_t instance, int rounds, int batch,
               bool judged = false);
  /// To be called at the beginning of each inquiry.
  void begin() { throttled_ = 0, retakes_ = kRetakes; }
  /// Times the instances one after the other, those of a finalist in an order that is drawn. False: the verdict says
  /// why that failed. `races_after`, `checks_after`: numbers of races, and of passes of verification over all instances
  /// (`check_seconds` each), that have to follow before the deadline.
  /// `verified`: seconds of the launch that verified it, by instance.
  bool time_all(const LoadedCode& candidate, const std::vector<TimedInstance>& instances, int races_after,
                int checks_after, double check_seconds, const std::vector<double>& verified, Verdict& verdict);
  /// Whether the last time_all() launched anything: a sparing plan may know enough before.
  bool launched() const { return launched_; }
  /// Samples of the current inquiry that were taken while the device's clock was throttled.
  int throttled() const { return throttled_; }

 private:
  bool candidate_goes_first(unsigned round) const;
  /// Of what the inquiry's candidate is raced against, by the calibration.
  double rival_seconds(size_t instance) const;
  /// Of an instance that was left out, as others had shown that the candidate cannot win: it may be slower by any
  /// factor.
  Timing not_timed(const TimedInstance& timed) const;
  /// Duration of a launch of the original, as far as it is known; else 0.
  double expected_seconds(size_t instance) const;
  /// Untimed launches of these, in turn.
  std::optional<RunFailure> warm_up(std::initializer_list<const LoadedCode*> codes, size_t instance, int launches);
  /// Gives the race up with one pair, if the candidate took far longer than the original in the launch that verified it
  /// (`verified`, in seconds) and does so in the pair: else the race is as it was. Decides against candidates alone, so
  /// that nobody looks at what the pair leaves. False: as race().
  bool glance(const LoadedCode& candidate, size_t instance, double verified, Race& race, Verdict& verdict);
  /// False: the verdict says so.
  bool failed(const RunFailure& failure, size_t instance, Verdict& verdict) const;
  bool race(const LoadedCode& candidate, size_t instance, Race& race, std::optional<Deadline> until, Verdict& verdict);
  /// Makes the verdict Suspect if the candidate is faster than its results can be written (physics_floor).
  void suspect_below_floor(const Race& race, size_t instance, Verdict& verdict) const;
  void wait_until_calm();
  void look_at_clocks();

  static constexpr int kRetakes = 5, kPatience = 20;
  Workbench& bench_;
  LaunchTrials& trials_;
  std::vector<TimedInstance> groups_;  ///< Heaviest first.
  Deadline clocks_checked_{};
  bool calm_ = true;          ///< The clock was not throttled when last checked.
  int patience_ = kPatience;  ///< Number of pauses to wait for a throttled clock.
  int retakes_ = kRetakes;    ///< How many more times this inquiry may retake samples.
  int throttled_ = 0;
  bool launched_ = false;
  bool candidate_begins_ = true;
  unsigned rounds_ = 0;  ///< Rounds of the present race so far; decides which side goes first.
};

}  // namespace kernelift::sandbox
