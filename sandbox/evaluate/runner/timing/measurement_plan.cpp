// See measurement_plan.h.
#include "sandbox/evaluate/runner/timing/measurement_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>

#include "sandbox/device/device.h"

namespace kernelift::sandbox {
namespace {

constexpr size_t kAll = SIZE_MAX;

// Launches are used sparingly where a calibration or a candidate, with launches of their own for each purpose, would
// take more than a share of the time that is left.
constexpr double kSparingSeconds = 0.1;  ///< Shorter launches never are.
constexpr double kWholeLaunches = 45;    ///< About so many either takes.
constexpr double kWholeShare = 0.05;

// Of the original.
constexpr int kMostPairs = 11, kLeastPairs = 3, kLongPairs = 1;
constexpr double kTimingSeconds = 0.25;  ///< Time to measure one instance; kLeastPairs may take longer.
constexpr int kRepeatsIfVarying = 16;
constexpr size_t kUnchangedRegions = 16, kUnchangedOfLong = 2;
constexpr size_t kRoundingsOfLong = 2, kRoundingsOfReplay = 1;
/// Sparing: the first, and two over poison; more where all take less than this share of the time that is left.
constexpr double kSparingLaunches = 3, kCalibrationShare = 0.1;

// Of a finalist. At least kFewestPairs, which a gain that is not obvious needs. They may be of two processes, whose
// intervals are united.
constexpr double kConfirmSeconds = 0.5;
constexpr int kFewestPairs = RaceRules::kEnough;
constexpr size_t kKinds = 2;  ///< Of perturbed inputs.

// Of candidates whose launches are used sparingly. The first pair is the verifying launch beside the original's known
// duration; what is far slower ends with it, and a clear winner with the next. A GPU that nobody else uses takes
// equally long for equal work: there the first pair decides unless it is close to what would be a gain.
constexpr int kClearPairs = 2, kMostSparing = 3, kClearPairsOfGpu = 1;
constexpr double kClear = 1.2, kClearOfGpu = 1.05;
constexpr double kPlanPatience = 2, kSlack = 0.25;  ///< Limit of a launch: a multiple of the original's, and seconds.
/// On a GPU what is ended takes its process along, and the next one calibrates again: that is not worth less.
constexpr double kRestartSeconds = 2;

/// Of launches that are not used sparingly: from here on a warm-up costs more than the look that may save it, and the
/// scheduler's hiccups are short beside a launch.
constexpr double kGlanceSeconds = 2e-3;
/// On a processor each side has a process, which is slow at first; the first of longer launches warms all of it.
constexpr int kWarmUp = 4, kWarmUpOfLonger = 1;

/// Most pairs of a screening on a GPU: where they leave open which of two is faster, it is by a hundredth or two, and
/// the confirmation asks that of both. Twice as many for each such candidate took a third of a GPU's time.
constexpr int kMostPairsOfGpu = 26;
/// Two pairs end a race where the candidate is further behind than that by chance: by so many spreads of the original's
/// duration. Launches find inputs of their own, which may take them longer than the recorded ones: not below the least.
constexpr double kSpreads = 10, kLeastBehind = 0.04;

constexpr double kCompileSeconds = 0.5;  ///< Of a candidate, with its processes.
constexpr double kStartSeconds = 0.2;    ///< For processes to start and load their images, of a confirmation.

RaceRules fixed_rounds(RaceRules rules, int rounds) {
  rules.early_rounds = rules.first_rounds = rules.most_rounds = rounds;
  return rules;
}

/// Few pairs where they settle it.
RaceRules few_rounds(RaceRules rules, int early, int first, int most, double seconds) {
  rules.early_rounds = early, rules.first_rounds = first, rules.most_rounds = std::min(most, rules.most_rounds);
  rules.clear = kClear, rules.growth = 1.3;
  rules.most_seconds = 2 * seconds * most;  // The number of pairs is the limit.
  return rules;
}

}  // namespace

MeasuringRules MeasuringRules::of(const DeviceFacts& facts) {
  MeasuringRules rules;
  if (!facts.processor) return rules;
  // On a busy machine short samples are dominated by scheduling noise.
  rules.sample_seconds = 200e-6, rules.most_launches = 64, rules.patience = 20;
  rules.runs = 1;  // Besides one with blocks in another order.
  return rules;
}

MeasurementPlan::MeasurementPlan(PlanInputs inputs) : inputs_(std::move(inputs)) {
  for (double seconds : inputs_.seconds) {
    const bool scarce = inputs_.left && kWholeLaunches * seconds > kWholeShare * *inputs_.left;
    const bool sparing = inputs_.for_candidates && (seconds > kLongSeconds || (seconds > kSparingSeconds && scarce));
    instances_.push_back(plan_for(seconds, sparing));
  }
}

InstancePlan MeasurementPlan::plan_for(double seconds, bool sparing) const {
  const bool slow = seconds > kSlowSeconds, longer = seconds > kLongSeconds;
  const MeasuringRules& rules = inputs_.rules;
  InstancePlan plan;
  plan.sparing = sparing;
  plan.looks = inputs_.processor && !sparing ? 3 : 1, plan.finalist_looks = inputs_.processor ? 2 : 1;
  if (sparing) {
    // What costs more launches, and makes a verdict no safer but for rare kernels, is tried where there is much time.
    const double more = (kSparingLaunches + 2 * kUnchangedOfLong) * seconds;
    const bool ample = !inputs_.left || more <= kCalibrationShare * *inputs_.left;
    plan.repeats = plan.repeats_if_varying = 1, plan.outputs_together = true;
    const double apart = 2 * static_cast<double>(inputs_.outputs * inputs_.seconds.size()) * seconds;
    plan.outputs_apart = !inputs_.left || apart <= kCalibrationShare * *inputs_.left;
    plan.unchanged_regions = ample || !inputs_.changes_anything ? kUnchangedOfLong : 0;
    plan.roundings = kRoundingsOfLong;
    plan.screening =
        few_rounds(inputs_.race, 1, inputs_.processor ? kClearPairs : kClearPairsOfGpu, kMostSparing, seconds);
    if (!inputs_.processor) plan.screening.clear = kClearOfGpu;
    plan.verified_counts = true;
    plan.confirming = few_rounds(inputs_.race, kClearPairs, kClearPairs, kFewestPairs, seconds);
    plan.after_others = 2, plan.fewest_pairs = kFewestPairs / plan.finalist_looks;
    return plan;
  }
  plan.once = longer && !inputs_.for_candidates;
  plan.other_order = inputs_.processor && !slow, plan.repeats = plan.once ? 0 : rules.runs;
  plan.repeats_if_varying = slow ? plan.repeats : kRepeatsIfVarying;
  plan.unchanged_regions = longer ? kUnchangedOfLong : kUnchangedRegions;
  plan.roundings = longer ? kRoundingsOfReplay : kAll, plan.exact_sums = !longer;
  plan.pairs = longer ? kLongPairs
                      : static_cast<int>(std::clamp<double>(kTimingSeconds / (2 * std::max(seconds, 1e-6)), kLeastPairs,
                                                            kMostPairs));  // Two sides.
  plan.screening = inputs_.race;
  if (!inputs_.processor) plan.screening.most_rounds = std::min(plan.screening.most_rounds, kMostPairsOfGpu);
  plan.confirming = fixed_rounds(
      inputs_.race, std::clamp(static_cast<int>(kConfirmSeconds / (2 * std::max(seconds, 1e-6))),
                               std::min(kFewestPairs, inputs_.race.most_rounds), inputs_.race.most_rounds));
  plan.mixtures = plan.over_old_answers = plan.looks_for_memory = true;
  plan.glances = inputs_.processor && seconds > kGlanceSeconds;
  if (inputs_.processor) plan.warm_up = plan.glances ? kWarmUpOfLonger : kWarmUp;
  plan.after_others = 6, plan.fewest_pairs = kFewestPairs;
  return plan;
}

bool MeasurementPlan::sparing() const {
  return std::ranges::any_of(instances_, [](auto& instance) { return instance.sparing; });
}

void MeasurementPlan::measured(size_t instance, double seconds, double spread) {
  inputs_.seconds[instance] = seconds;
  InstancePlan& plan = instances_[instance];
  plan = plan_for(seconds, plan.sparing);
  // On a processor another process differs from this one by more than launches of one do.
  if (!inputs_.processor && !plan.sparing)
    plan.screening.hopeless = std::max(plan.screening.hopeless, 1 - std::max(kLeastBehind, kSpreads * spread));
}

double MeasurementPlan::slowest() const {
  return inputs_.seconds.empty() ? 0 : *std::ranges::max_element(inputs_.seconds);
}

double MeasurementPlan::original_limit(double slowest) const {
  constexpr double kBusy = 5, kAtLeast = 1;  // A busy machine must not end it.
  return sparing() ? kBusy * slowest + kAtLeast : inputs_.rules.patience * slowest;
}

double MeasurementPlan::candidate_limit(double slowest) const {
  if (!sparing()) return slowest * inputs_.rules.patience;
  return kPlanPatience * slowest + kSlack + (inputs_.processor ? 0 : kSparingLaunches * slowest + kRestartSeconds);
}

MeasurementPlan::Confirmation MeasurementPlan::confirmation(const std::vector<Cost>& costs,
                                                            const std::vector<size_t>& perturbed, size_t builds,
                                                            double sizes) const {
  constexpr double kPerturbing = 2;  // Duration of a check on perturbed memory relative to a plain one.
  // Builds that round otherwise are run one after another until a result that seems wrong is explained: not all are.
  constexpr double kLateBuilds = 0.5;
  Confirmation seconds;
  seconds.own = sizes;
  double original = 0;
  for (size_t i = 0; i < costs.size(); ++i) {
    const InstancePlan& plan = instances_[i];
    // In each process it is verified before it is timed and after; a pair has a launch of either side.
    const double pairs = plan.confirming.first_rounds * costs[i].pair / 2;
    seconds.own += plan.finalist_looks * (2 * costs[i].check + pairs), original += plan.finalist_looks * pairs;
  }
  for (size_t i : perturbed) {
    const InstancePlan& plan = instances_[i];
    const double check = kKinds * costs[i].check * (plan.sparing ? 1 : kPerturbing);
    seconds.own += check * (plan.over_old_answers ? 2 : 1);
    seconds.first += check * static_cast<double>(2 + (plan.sparing ? 0 : builds));
    if (plan.sparing) seconds.first += costs[i].check * kLateBuilds * static_cast<double>(builds);
  }
  if (sparing()) seconds.first += sizes;
  seconds.each = kStartSeconds + original + seconds.own;
  return seconds;
}

double MeasurementPlan::calibration_seconds() const {
  double seconds = 0;
  for (size_t i = 0; i < instances_.size(); ++i)
    seconds += inputs_.seconds[i] * (instances_[i].sparing
                                         ? kSparingLaunches + 2 * static_cast<double>(instances_[i].unchanged_regions)
                                         : kWholeLaunches);
  return seconds;
}

double MeasurementPlan::candidate_seconds() const {
  // It is verified on all instances. On a processor it is raced on the slowest, if not many are ended before or with
  // the first pair.
  return kCompileSeconds + std::accumulate(inputs_.seconds.begin(), inputs_.seconds.end(), 0.0) +
         (inputs_.processor ? 1.5 * slowest() : 0);
}

double MeasurementPlan::confirmation_seconds() const {
  constexpr size_t kMostPerturbed = 4;
  std::vector<Cost> costs;
  std::vector<size_t> perturbed;
  for (double seconds : inputs_.seconds) {
    if (perturbed.size() < kMostPerturbed) perturbed.push_back(costs.size());
    costs.push_back({seconds, 2 * seconds});
  }
  const Confirmation one = confirmation(costs, perturbed, kRoundingsOfLong, 0);
  return one.each + one.first;
}

size_t MeasurementPlan::candidates() const {
  if (!inputs_.left) return kAll;
  const double searching = *inputs_.left - calibration_seconds() - confirmation_seconds();
  return searching <= 0 ? 0 : static_cast<size_t>(searching / candidate_seconds());
}

std::string MeasurementPlan::time_for(size_t candidates) const {
  constexpr double kStep = 10, kMinute = 60, kInMinutes = 120;  // Seconds.
  const double wanted = inputs_.spent + calibration_seconds() + confirmation_seconds() +
                        static_cast<double>(candidates) * candidate_seconds();
  if (wanted <= kInMinutes) return std::to_string(static_cast<int>(std::ceil(wanted / kStep) * kStep)) + "s";
  return std::to_string(static_cast<int>(std::ceil(wanted / kMinute))) + "m";
}

std::string MeasurementPlan::text() const {
  constexpr size_t kMany = 40;
  if (!sparing()) return {};
  char launch[80], rest[200];
  std::snprintf(launch, sizeof launch, "one launch of the original takes %.1f s here", slowest());
  if (!inputs_.left) {
    std::snprintf(rest, sizeof rest, ": about %.0f s for each candidate, %.0f s to confirm one", candidate_seconds(),
                  confirmation_seconds());
    return std::string(launch) + rest;
  }
  const size_t affordable = candidates();
  if (affordable == 0) {
    std::snprintf(rest, sizeof rest,
                  ": the %.0f s that are left suffice to judge a few candidates, but hardly to confirm one; "
                  "--time %s would do for 10",
                  *inputs_.left, time_for(10).c_str());
  } else if (affordable < kMany) {
    std::snprintf(rest, sizeof rest, ": about %zu candidate%s in the %.0f s that are left; --time %s would do for %zu",
                  affordable, affordable == 1 ? "" : "s", *inputs_.left, time_for(kMany).c_str(), kMany);
  } else {
    std::snprintf(rest, sizeof rest, ": about %zu candidates in the %.0f s that are left", affordable, *inputs_.left);
  }
  return std::string(launch) + rest;
}

Status MeasurementPlan::affords_a_candidate() const {
  if (!inputs_.left || !sparing()) return done();
  if (calibration_seconds() + candidate_seconds() <= *inputs_.left) return done();
  char text[320];
  std::snprintf(
      text, sizeof text,
      "one launch of the original takes %.1f s here: measuring it takes about %.0f s, and each candidate %.0f "
      "s, but only %.0f s are left, so nothing is tried; give it more time: --time %s would do for one "
      "candidate and its confirmation, --time %s for 10",
      slowest(), calibration_seconds(), candidate_seconds(), std::max(0.0, *inputs_.left), time_for(1).c_str(),
      time_for(10).c_str());
  return answer_is_no(text);
}

std::string MeasurementPlan::left_out() const {
  if (!sparing()) return {};
  const bool unchanged =
      std::ranges::any_of(instances_, [](auto& one) { return one.sparing && one.unchanged_regions == 0; });
  const bool apart = std::ranges::any_of(instances_, [](auto& one) { return !one.outputs_apart; });
  return std::string("since a launch takes long, not tried: blocks in another order, and how fast it is with what ") +
         "launches before it left" + (apart ? ", poison in one output at a time where all at once are not borne" : "") +
         (unchanged ? ", and poison in buffers that no recorded launch changed" : "");
}

}  // namespace kernelift::sandbox
