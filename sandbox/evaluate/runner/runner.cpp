// See runner.h.
#include "sandbox/evaluate/runner/runner.h"

#include <algorithm>

#include "core/model/evaluator.h"

namespace kernelift::sandbox {
namespace {

/// Keeps the lower speedup of two measurements per instance, with the union of their intervals.
void keep_weaker(Verdict& verdict, const Verdict& second) {
  for (size_t i = 0; i < std::min(verdict.timings.size(), second.timings.size()); ++i) {
    Timing& one = verdict.timings[i];
    const Timing& two = second.timings[i];
    double low = std::min(one.speedup_low, two.speedup_low), high = std::max(one.speedup_high, two.speedup_high);
    int samples = one.samples + two.samples;
    if (two.speedup < one.speedup) one = two;
    one.speedup_low = low, one.speedup_high = high, one.samples = samples;
  }
}

}  // namespace

Runner::Runner(std::unique_ptr<Workbench> bench)
    : bench_(std::move(bench)),
      length_bounds_(*bench_),
      verification_(*bench_, length_bounds_),
      tolerances_(*bench_),
      unsteady_(*bench_, verification_),
      perturbed_(*bench_, verification_, tolerances_, length_bounds_, unsteady_),
      trials_(*bench_, verification_, perturbed_, length_bounds_, unsteady_),
      racing_(*bench_, trials_),
      calibration_(*bench_, verification_, racing_, tolerances_),
      check_mode_(*bench_, verification_),
      sizes_(*bench_, verification_, tolerances_, length_bounds_, check_mode_),
      field_runs_(*bench_) {}

Result<std::unique_ptr<Runner>> Runner::create(Device& device, const Mep& mep, const std::filesystem::path& folder,
                                               const RunnerSettings& settings,
                                               std::function<void(const std::string&)> announce) {
  KERNELIFT_ASSIGN(auto bench, Workbench::create(device, mep, folder, settings, std::move(announce)));
  return std::unique_ptr<Runner>(new Runner(std::move(bench)));
}

void Runner::reconfigure(bool cold, const std::set<std::string>& fatal, std::optional<Deadline> deadline) {
  bench_->settings.cold = cold, bench_->settings.fatal = fatal, bench_->settings.deadline = deadline;
}

Result<BaselineReport> Runner::calibrate(const Original& original) {
  perturbed_.forget(), sizes_.forget(), length_bounds_.forget(), tolerances_.forget(), unsteady_.forget();
  field_runs_.forget();
  side_by_side_ = original.code.side_by_side, bears_side_by_side_.reset();
  check_mode_.set_original(original.code.checked);
  bench_->laps = {};
  if (bench_->settings.check_seconds > 0) {
    bench_->report = {};
    tolerances_.take_user_tolerance();
    return bench_->report;
  }
  KERNELIFT_TRY(calibration_.calibrate(original));
  if (bench_->report.instances.size() == bench_->mep.instances.size()) {
    racing_.group_instances();
    estimate_confirmation();
    KERNELIFT_TRY(perturb_early());
    bench_->laps.end("perturbed inputs");
  }
  return bench_->report;
}

Status Runner::perturb_early() {
  BaselineReport& report = bench_->report;
  if (!bench_->settings.for_candidates || !report.judges() ||
      report.perturbing_seconds > bench_->settings.perturbing_limit)
    return done();
  bool prepared = perturbed_.prepare(perturbed_instances());
  bench_->cut = false;
  if (!bench_->usable) return environment_error("the original itself ended on perturbed inputs");
  if (prepared) report.perturbing_seconds = 0;
  return done();
}

std::vector<size_t> Runner::perturbed_instances() const {
  std::vector<size_t> instances;
  if (!racing_.groups().empty()) instances.push_back(racing_.groups().front().instance);
  for (size_t i = 0; i < bench_->mep.instances.size(); ++i)
    if (bench_->mep.instances[i].held_out) instances.push_back(i);
  for (size_t group = 1; group < racing_.groups().size(); ++group)
    instances.push_back(racing_.groups()[group].instance);
  instances.resize(std::min(instances.size(), PerturbedInputs::kMostInstances));
  return instances;
}

void Runner::estimate_confirmation() {
  if (!bench_->settings.for_candidates || racing_.groups().empty()) return;
  const auto& costs = calibration_.costs();
  const double sizes = SizeRuns::most_seconds(std::ranges::min(costs, {}, [](auto& cost) { return cost.check; }).check);
  const auto expected =
      bench_->plan.confirmation(costs, perturbed_instances(), bench_->rounded.size() + bench_->at_random.size(), sizes);
  bench_->report.confirmation_seconds = expected.each, bench_->report.own_seconds = expected.own;
  bench_->report.perturbing_seconds = expected.first;
}

bool Runner::load(const RunnableCode& candidate, bool first, LoadedCode& into, Verdict& verdict) {
  auto failure = into.load(bench_->device, *bench_->memory, bench_->mep, candidate, first);
  if (!failure) return true;
  bench_->cut |= bench_->ended();
  verdict.outcome = failure->outcome, verdict.detail = failure->detail;
  verdict.stage = failure->outcome == Outcome::OverResources ? Stage::Launch : Stage::Load;
  return false;
}

bool Runner::verify_all(const LoadedCode& code, const std::vector<size_t>& instances, Stage stage, Verdict& verdict) {
  verified_.resize(bench_->mep.instances.size());
  return std::ranges::all_of(instances, [&](size_t i) {
    const Verdict before = verdict;
    bool right = verification_.verify(code, {i, i}, stage, verdict);
    auto again = [&] { return verification_.verify(code, {i, i}, stage, verdict = before); };
    if (!right && verdict.outcome == Outcome::Wrong)
      right = tolerances_.judge_again({i, i}, again) || unsteady_.judge_again({i, i}, again);
    verified_[i] = verification_.last_seconds(), verified_last_ = i;
    return right;
  });
}

bool Runner::verify_order(const RunnableCode& candidate, const LoadedCode& code, Verdict& verdict) {
  if (racing_.groups().empty()) return true;
  const size_t instance =
      std::ranges::min(racing_.groups(), {}, [&](auto& one) { return bench_->run_seconds[one.instance]; }).instance;
  const MemoryEntry entry{instance, instance};
  if (!bench_->plan.of(instance).other_order) return true;
  Verification::Manner manner{Verification::Before::Poisoned};
  manner.reordered = true;
  if (!verification_.verify(code, entry, Stage::Verify, verdict, manner)) {
    if (verdict.outcome == Outcome::Wrong)
      verdict.detail =
          "wrong when its blocks run in another order, so its "
          "result depends on their order: " +
          verdict.detail;
    return false;
  }
  if (side_by_side_.empty() || candidate.side_by_side.empty()) return true;
  // Only what is wrong counts: that it is too slow so, or waits for a lane behind it, is the manner's doing.
  auto wrong = [&](const RunnableCode& wanted, Verdict& seen) {
    LoadedCode other;
    if (other.load(bench_->device, *bench_->memory, bench_->mep, wanted)) return false;
    return !verification_.verify(other, entry, Stage::Verify, seen, manner) && seen.outcome == Outcome::Wrong;
  };
  if (!bears_side_by_side_) {
    RunnableCode original;
    original.image = side_by_side_;
    Verdict seen;
    bears_side_by_side_ = !wrong(original, seen) && seen.outcome == Outcome::Ok;
  }
  RunnableCode other = candidate;
  other.image = candidate.side_by_side;
  Verdict seen;
  if (!*bears_side_by_side_ || !wrong(other, seen)) return true;
  verdict = seen;
  verdict.detail =
      "right when its threads run one after another, wrong when "
      "the threads of a warp run side by side as "
      "on a GPU, so its result depends on the order of threads: " +
      seen.detail;
  return false;
}

bool Runner::try_once(const RunnableCode& candidate, bool second, Verdict& verdict) {
  const bool confirm = bench_->inquiry.confirm;
  const std::vector<TimedInstance> timed = racing_.timed();
  std::vector<size_t> all, timed_instances;
  for (size_t i = 0; i < bench_->mep.instances.size(); ++i) all.push_back(i);
  for (auto& one : timed) timed_instances.push_back(one.instance);
  // The original computes the answers before the candidate's code is loaded.
  if (confirm && !second && !perturbed_.prepare(perturbed_instances())) {
    if (bench_->usable) return false;
    verdict.outcome = Outcome::Crashed, verdict.stage = Stage::Verify;
    verdict.detail = "the original itself ended on perturbed inputs";
    return false;
  }
  bench_->laps.end("the original on perturbed inputs");
  LoadedCode code;
  if (!load(candidate, second, code, verdict)) return false;
  bench_->laps.end("loading code");
  // A candidate is verified on all instances once; a second attempt covers only the instances that are timed.
  auto begin = Deadline::clock::now();
  if (!verify_all(code, second ? timed_instances : all, Stage::Verify, verdict)) return false;
  check_seconds_ = seconds_since(begin);
  bench_->laps.end("recorded inputs");
  if (bench_->inquiry.untimed) {
    verdict.stage = Stage::Verify, verdict.resources = code.resources();
    return true;
  }
  if (confirm && !second) {
    const bool right = perturbed_.verify(code, verdict) && verify_order(candidate, code, verdict);
    bench_->laps.end("perturbed inputs");
    if (!right) return false;
    const bool right_there = sizes_.verify(candidate, code, bench_->inquiry.sizes, verdict);
    bench_->laps.end("other sizes");
    if (!right_there) return false;
  }
  if (bench_->ended()) return !(bench_->cut = true);

  bench_->settings.quiet(true);
  const bool again = bench_->device.facts().processor && !second;
  bool good = racing_.time_all(code, timed, again ? static_cast<int>(timed.size()) : 0, again ? 3 : 1, check_seconds_,
                               verified_, verdict);
  bench_->settings.quiet(false);
  bench_->laps.end("timing");
  verdict.resources = code.resources();
  if (!good || verdict.outcome != Outcome::Ok) return false;
  // Results of a candidate without a gain are never used, so they need no second verification.
  if (!confirm && !verdict.gains()) return true;
  for (size_t i : timed_instances)
    if (!trials_.right_after_others(code, i, verdict)) return false;
  if (std::ranges::any_of(timed_instances, [&](size_t i) { return trials_.remembers(code, i, verdict); })) return false;
  if (!racing_.launched() || verify_all(code, timed_instances, Stage::Time, verdict)) return true;
  // It was right before timing, so its result depends on how often or when it is run.
  if (verdict.outcome == Outcome::Wrong) {
    verdict.outcome = Outcome::Unstable;
    verdict.detail = "right before it was timed, wrong after: " + verdict.detail;
  }
  return false;
}

void Runner::recheck(const RunnableCode& candidate, Verdict& verdict) {
  Verdict again;
  LoadedCode code;
  std::vector<size_t> all;
  for (size_t i = 0; i < bench_->mep.instances.size(); ++i) all.push_back(i);
  bool prepared = perturbed_.prepare(perturbed_instances());
  if (!prepared && !bench_->usable) {
    verdict = {};
    verdict.outcome = Outcome::Crashed, verdict.stage = Stage::Verify;
    verdict.detail = "the original itself ended on perturbed inputs";
  }
  if (!prepared) return;
  bool right = load(candidate, false, code, again) && verify_all(code, all, Stage::Verify, again) &&
               perturbed_.verify(code, again);
  if (bench_->cut) return;
  if (!right) {
    verdict.outcome = Outcome::Cheated, verdict.stage = again.stage, verdict.instance = again.instance;
    verdict.detail += "; loaded afresh it is " + std::string(kernelift::name(again.outcome)) + ": " + again.detail;
    verdict.buffer = again.buffer, verdict.index = again.index, verdict.distance = again.distance;
    verdict.expected = again.expected, verdict.got = again.got;
    return;
  }
  verdict.detail += perturbed_.count() == 0 ? "; no input could be perturbed, so it remains suspect"
                                            : "; it was right on " + std::to_string(perturbed_.count()) +
                                                  " perturbed inputs, loaded afresh";
}

double Runner::promise() const {
  constexpr double kFactor = 2, kSeconds = 10e-6;  // The first launch of an image finds caches empty.
  if (!verified_last_ || *verified_last_ >= bench_->report.instances.size()) return 0;
  const InstanceReport& report = bench_->report.instances[*verified_last_];
  const double original = bench_->inquiry.against_application ? report.application_seconds : report.seconds,
               seconds = verified_[*verified_last_];
  if (seconds > kFactor * original / std::max(bench_->inquiry.rival, 1.0) + kSeconds) return 0;
  return original / std::max(seconds, 1e-9);
}

Status Runner::wipe() {
  Steps steps(*bench_->kernels);
  bench_->memory->wipe(steps);
  DeviceOutcome outcome = steps.run(bench_->settings.launch_limit);
  bench_->usable = bench_->usable && outcome.usable();
  return outcome.ok() ? done() : environment_error("clearing memory: " + outcome.detail);
}

std::optional<Evaluation> Runner::evaluate(const RunnableCode& candidate, const Inquiry& inquiry) {
  auto evaluation = judge(candidate, inquiry);
  if (auto* verdict = evaluation ? std::get_if<Verdict>(&*evaluation) : nullptr)
    for (auto& instance : bench_->mep.instances)
      verdict->held_out |= instance.held_out && instance.id == verdict->instance;
  return evaluation;
}

std::optional<Evaluation> Runner::judge(const RunnableCode& candidate, const Inquiry& inquiry) {
  bench_->inquiry = inquiry, bench_->cut = false, bench_->laps = {};
  verified_last_.reset();
  racing_.begin();
  Verdict verdict;
  verdict.stage = Stage::Time;
  if (bench_->ended()) return std::nullopt;
  if (inquiry.against_application && !bench_->application) {
    // A race against our build instead would be taken for one against the application's code.
    verdict.outcome = Outcome::Unstable, verdict.detail = "the application's code is not known in this process";
    return verdict;
  }
  // The previous candidate may have written to memory that is not compared with a reference.
  if (bench_->device.facts().processor) bench_->memory->launched(0, true);
  if (Status wiped = wipe(); !wiped.ok()) return NotJudged{wiped.error().message};
  if (inquiry.check) {
    check_mode_.check(candidate, verdict);
    if (bench_->cut) return std::nullopt;
    return verdict;
  }
  if (inquiry.field) {
    verdict.field = field_runs_.compare(candidate);
    if (bench_->cut) return std::nullopt;
    return verdict;
  }
  if (inquiry.held_to_length) length_bounds_.begin(candidate);
  bool good = try_once(candidate, false, verdict);
  if (verdict.outcome == Outcome::Suspect && !bench_->cut) recheck(candidate, verdict);
  if (bench_->cut || (!good && verdict.outcome == Outcome::Ok)) return std::nullopt;
  // Where a process's threads run, and where its memory lies, has luck in it that lasts: a win must be repeated in new
  // processes. A screening has one look more, since it takes fewer samples.
  int looks = 1;
  for (auto& timed : racing_.timed()) {
    const InstancePlan& plan = bench_->plan.of(timed.instance);
    looks = std::max(looks, inquiry.confirm ? plan.finalist_looks : plan.looks);
  }
  for (int look = 1; good && !inquiry.untimed && look < looks; ++look) {
    if (!inquiry.confirm && verdict.speedup_low() <= std::max(kSmallestGain, inquiry.rival)) break;
    Verdict next;
    good = try_once(candidate, true, next);
    if (next.outcome == Outcome::Suspect && !bench_->cut) recheck(candidate, next);
    if (bench_->cut || (!good && next.outcome == Outcome::Ok)) return std::nullopt;
    if (good) keep_weaker(verdict, next);
    else verdict = next;
  }
  // A finalist is not wrong because its confirmation was short.
  if (inquiry.confirm && inquiry.held_to_length && verdict.outcome == Outcome::Wrong && length_bounds_.lacked_time())
    return std::nullopt;
  if (inquiry.held_to_length && verdict.outcome == Outcome::Wrong)
    verdict.detail += length_bounds_.why_not().empty()
                          ? "; it is beyond the error bounds of the original's sums, too"
                          : "; the error bounds of the original's sums are not known: " + length_bounds_.why_not();
  // Not the candidate's fault.
  if (bench_->lost) return NotJudged{verdict.detail.empty() ? "the GPU itself failed" : verdict.detail};
  if (int throttled = racing_.throttled(); throttled > 0) {
    verdict.throttled_samples = throttled;
    verdict.detail += (verdict.detail.empty() ? "" : "; ") + std::to_string(throttled) +
                      " of its samples were taken while the GPU's clock was held down; waiting did not help";
  }
  if (verdict.ok() && verdict.timings.empty() && !inquiry.untimed) return std::nullopt;
  if (inquiry.confirm && verdict.ok()) verdict.further_inputs = perturbed_.count();
  if (std::string left_out = bench_->plan.left_out(); inquiry.confirm && verdict.ok() && !left_out.empty())
    verdict.detail += (verdict.detail.empty() ? "" : "; ") + left_out;
  return verdict;
}

}  // namespace kernelift::sandbox
