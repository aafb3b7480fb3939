// How often the original and its candidates are launched, for each purpose: decided once per calibration, from one
// timed launch of the original on each instance and the time that the run has left. Every stage reads the plan; none
// decides by itself that a launch is too long for it. Where launches are long for the time, they are used sparingly:
// one launch serves several purposes, what only finalists need is left to their confirmation, and few samples are taken
// where the difference is large. docs/verification.md lists the launches by purpose.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sandbox/judge/timing/race.h"

namespace kernelift::sandbox {

struct DeviceFacts;

/// Seconds: launches longer than this are not repeated to observe varying results, or with threads in another order.
inline constexpr double kSlowSeconds = 0.05;
/// Launches longer than this are run once in a replay, and used sparingly however much time there is.
inline constexpr double kLongSeconds = 0.5;

/// Device-dependent rules for measuring.
struct MeasuringRules {
  double sample_seconds = 50e-6;  ///< Least duration of a sample; shorter launches are batched.
  int most_launches = 16;         ///< Most launches per sample.
  double patience = 100;          ///< Time limit of a candidate's launch, in durations of the original's.
  int runs = 2;                   ///< Runs of the original after the first, to see whether results repeat.
  static MeasuringRules of(const DeviceFacts& facts);
};

/// Launches on one instance.
struct InstancePlan {
  bool sparing = false;  ///< Launches are used sparingly.
  // Of the original, to calibrate.
  bool once = false;              ///< Only the first: a replay of a long launch.
  bool other_order = false;       ///< One with blocks in another order, where the device can; of finalists as well.
  int repeats = 0;                ///< After the first, to see whether results repeat.
  int repeats_if_varying = 0;     ///< The same once floats were seen to vary.
  bool outputs_together = false;  ///< All outputs are poisoned in the same launches, which also serve as repeats.
  bool outputs_apart = true;      ///< Each is poisoned alone, if that is not so or does not work.
  size_t unchanged_regions = 0;   ///< Regions that no recorded launch changed and that are poisoned nevertheless.
  size_t roundings = 0;           ///< Builds that round otherwise. Of a sparing plan: only once a result seems wrong.
  bool exact_sums = false;        ///< Builds with randomly rounded sums, and one launch for the signs of zeros.
  int pairs = 0;                  ///< Timed pairs of it and itself; 0: the launches above are its samples.
  bool mixtures = false;          ///< Perturbed inputs can be mixed afresh for each timed launch.
  // Of a candidate and the original in alternation.
  RaceRules screening, confirming;    ///< While searching, and of a finalist.
  bool verified_counts = false;       ///< While searching, the launch that verifies a candidate is its first sample.
  bool glances = false;               ///< While searching, a pair without a warm-up gives up what is far slower.
  int warm_up = 0;                    ///< Untimed launches of each side before the first sample.
  int looks = 1, finalist_looks = 1;  ///< Processes in which what seems to win is measured.
  int fewest_pairs = 0;               ///< Of a finalist in each process, where a deadline ends its race.
  int after_others = 0;               ///< Launches of a candidate with memory of its own, to see whether they differ.
  bool looks_for_memory = false;      ///< Whether such a candidate is timed with and without what it left there.
  bool over_old_answers = false;  ///< Perturbed inputs are tried over poison and over old answers: else over either.
};

struct PlanInputs {
  std::vector<double> seconds;   ///< Of one launch of the original, by instance; 0: not known yet.
  size_t outputs = 1;            ///< Most buffers that an instance changes.
  bool for_candidates = true;    ///< False: a replay.
  bool processor = false;        ///< DeviceFacts::processor.
  bool changes_anything = true;  ///< Some recorded launch changes memory.
  MeasuringRules rules;
  RaceRules race;              ///< Of launches that are not used sparingly.
  std::optional<double> left;  ///< Seconds for everything that follows; nullopt: as many as it takes.
  double spent = 0;            ///< Seconds of the run so far: what it would take is told as a whole.
};

class MeasurementPlan {
 public:
  MeasurementPlan() = default;
  explicit MeasurementPlan(PlanInputs inputs);

  const InstancePlan& of(size_t instance) const { return instances_[instance]; }
  /// Some instance's launches are used sparingly.
  bool sparing() const;
  /// The instance's launch turned out to take so long, with this relative spread: numbers of samples follow, but not
  /// whether it is sparing.
  void measured(size_t instance, double seconds, double spread);

  /// Time limits in seconds of a launch of the original, and of a candidate, where the original takes `slowest`.
  double original_limit(double slowest) const;
  double candidate_limit(double slowest) const;

  /// Seconds of one launch of the original that is restored, run and compared, and of a pair of samples.
  struct Cost {
    double check = 0, pair = 0;
  };
  struct Confirmation {
    double each = 0;   ///< Seconds of a finalist.
    double own = 0;    ///< Those of them that it takes itself, if it is as fast as the original.
    double first = 0;  ///< Seconds of the original, for the first finalist only.
  };
  /// `perturbed`: the instances with perturbed inputs; `builds`: of the original, that are run on those; `sizes`:
  /// seconds for sizes that were not recorded.
  Confirmation confirmation(const std::vector<Cost>& costs, const std::vector<size_t>& perturbed, size_t builds,
                            double sizes) const;

  /// Seconds that are expected until the original is measured, for one candidate, and to confirm one.
  double calibration_seconds() const;
  double candidate_seconds() const;
  double confirmation_seconds() const;
  /// Candidates that can be judged in the time that is left, one confirmation included; 0 if there is time for none.
  size_t candidates() const;
  /// What the time suffices for, as a sentence; empty where launches are short, or nothing is sought.
  std::string text() const;
  /// An Error (exit No) if the time does not suffice to judge a candidate. It says which --time would do.
  Status affords_a_candidate() const;
  /// What a confirmation leaves out because launches are long; empty: nothing.
  std::string left_out() const;

 private:
  InstancePlan plan_for(double seconds, bool sparing) const;
  /// The --time that `candidates` and a confirmation would take, rounded up.
  std::string time_for(size_t candidates) const;
  double slowest() const;

  PlanInputs inputs_;
  std::vector<InstancePlan> instances_;
};

}  // namespace kernelift::sandbox
