// See calibration.h.
#include "sandbox/evaluate/runner/calibration.h"

#include <algorithm>

namespace kernelift::sandbox {
std::string Calibration::left_out(const RunFailure& failure, size_t instance) const {
  // Only recorded memory is mapped: the kernel may have accessed memory that was not recorded.
  std::string text = unreached_text(bench_.mep.instances[instance].unreached);
  return failure.outcome == Outcome::Crashed && !text.empty() ? "; " + text : "";
}

Status Calibration::fail(const Verification::Judged& judged, size_t instance, InstanceReport& report) const {
  report.pass = false;
  report.failure =
      (judged.failure->outcome == Outcome::WroteOutside ? "the original itself writes outside its buffers: " : "") +
      judged.failure->detail + left_out(*judged.failure, instance);
  return done();
}

Result<bool> Calibration::repeat(size_t instance, First& first, InstanceReport& report, std::vector<double>& seconds) {
  // Two runs are a small sample: a race may end the same way twice, and atomic sums of two runs hardly bound a third.
  // So are three runs that agree with each other but not with the recorded run.
  const InstancePlan& plan = bench_.plan.of(instance);
  Verification::Judged& judged = first.judged;
  bool varies = false;
  auto learn = [&](bool reordered) -> Status {
    judged = verification_.run(bench_.baseline, {instance, instance}, {.detailed = true, .reordered = reordered});
    if (judged.failure) return done();
    if (!reordered) seconds.push_back(judged.seconds);
    KERNELIFT_ASSIGN(report.failure, tolerances_.widen_by_run(instance, first.results, varies));
    return done();
  };
  if (plan.other_order) KERNELIFT_TRY(learn(true));
  const int runs = plan.repeats;
  for (int run = 0; !judged.failure && report.failure.empty() && run < (varies ? plan.repeats_if_varying : runs);
       ++run) {
    KERNELIFT_TRY(learn(false));
    varies = varies || (judged.first && run + 1 >= runs);
  }
  return varies;
}

Status Calibration::time(size_t instance, InstanceReport& report) {
  bench_.settings.quiet(true);
  auto begin = Deadline::clock::now();
  const int pairs = bench_.plan.of(instance).pairs;
  Samples samples = racing_.time(bench_.baseline, bench_.baseline, instance, pairs, bench_.batch_for(report.seconds));
  costs_[instance].pair = seconds_since(begin) / pairs;
  bench_.settings.quiet(false);
  if (samples.failure) {
    report.pass = false, report.failure = "while timed: " + samples.failure->detail;
    return done();
  }
  // Both sides of the race are the original, so both yield samples.
  samples.baseline.insert(samples.baseline.end(), samples.candidate.begin(), samples.candidate.end());
  report.seconds = median(samples.baseline), report.spread = relative_spread(samples.baseline);
  return done();
}

Status Calibration::calibrate_instance(size_t instance, InstanceReport& report) {
  const InstancePlan plan = bench_.plan.of(instance);
  First first = std::move(first_[instance]);
  // Where the capture was reproduced to the last bit or nearly, the first launch need not be judged again by tolerances
  // that are known only now.
  if (first.results.empty() || first.judged.first) {
    auto begin = Deadline::clock::now();
    first.judged = verification_.run(bench_.baseline, {instance, instance}, {.detailed = true});
    first.results.clear();
    if (!first.judged.failure) KERNELIFT_TRY(writes_.keep(instance, first.judged.altered, first.results));
    costs_[instance].check = seconds_since(begin);
  }
  std::vector<double> seconds{first.judged.seconds};
  bool together = false;
  if (plan.outputs_together && !first.judged.failure) {
    std::vector<double> more;
    KERNELIFT_ASSIGN(together, writes_.learn_together(instance, first.results, more));
    if (together) seconds.insert(seconds.end(), more.begin(), more.end());
  }
  bool varies = false;
  if (!together) {
    KERNELIFT_ASSIGN(varies, repeat(instance, first, report, seconds));
  }
  const Verification::Judged& judged = first.judged;
  if (judged.failure) return fail(judged, instance, report);
  report.buffers = judged.buffers;
  report.pass = report.failure.empty();
  for (auto& buffer : report.buffers) report.pass &= buffer.pass;
  report.seconds = plan.sparing ? median(seconds) : judged.seconds;
  if (!report.pass || plan.once) return done();
  auto& regions = bench_.memory->instances()[instance].regions;
  // `results`: of the last launch, whose contents are still in live memory; of the first where others followed it.
  std::vector<DeviceMemory> results;
  if (together) results = std::move(first.results);
  else KERNELIFT_TRY(writes_.keep(instance, judged.altered, results));
  first.results.clear();
  // Where a lone output failed with the others, it fails alone, unless its results vary. Outputs that are not known to
  // bear poison are put back as recorded.
  const auto outputs = std::ranges::count_if(regions, &ReplayBuffer::output);
  const bool known_too = !plan.outputs_together || (plan.outputs_apart && !together && (outputs > 1 || varies));
  bench_.laps.end("launching it");
  KERNELIFT_TRY(writes_.learn(instance, results, known_too));
  bench_.laps.end("finding out what it writes");
  for (size_t i = 0; i < regions.size(); ++i)
    report.buffers[i].written |= regions[i].written_bytes > 0, report.buffers[i].tolerance = regions[i].bounds.text();
  report.fastest_write_seconds = writes_.fastest_write(instance);
  costs_[instance].pair = 2 * costs_[instance].check;
  if (plan.pairs > 0) KERNELIFT_TRY(time(instance, report));
  else report.spread = relative_spread(seconds);
  bench_.laps.end("timing it");
  bench_.plan.measured(instance, report.seconds, report.spread);
  return done();
}

Status Calibration::calibrate_application(const std::string& image) {
  constexpr const char* kExperiment = "application";
  bool right = bench_.report.pass();
  auto explained = [](const InstanceReport& instance) { return instance.pass || !instance.failure.empty(); };
  if (image.empty() || !bench_.usable ||
      (!right && std::all_of(bench_.report.instances.begin(), bench_.report.instances.end(), explained)))
    return done();
  auto trouble = [&](const std::string& what) {
    bench_.report.application_trouble = what, bench_.application.reset();
    return done();
  };
  if (bench_.settings.fatal.contains(kExperiment))
    return trouble("the application's own machine code ends the process that replays it");
  bench_.announce(kExperiment);
  RunnableCode wanted;
  wanted.image = image, wanted.whole_unit = true;
  if (auto failure = bench_.application.emplace().load(bench_.device, *bench_.memory, bench_.mep, wanted))
    return bench_.announce(""), trouble("the application's own machine code cannot be run here: " + failure->detail);
  for (size_t i = 0; i < bench_.mep.instances.size(); ++i) {
    InstanceReport& report = bench_.report.instances[i];
    auto judged = verification_.run(*bench_.application, {i, i}, {});
    // The device was lost: the announced experiment must not be repeated by the next process.
    if (!bench_.usable) return environment_error(judged.failure->detail);
    if (judged.failure)
      return bench_.announce(""), trouble("the application's own machine code, replayed: " + judged.failure->detail);
    if (judged.first)
      return bench_.announce(""), trouble("the application's own machine code does not reproduce the capture in " +
                                          judged.buffers[judged.bad_buffer].name);
    if (!right) continue;
    report.application_seconds = judged.seconds;
    if (bench_.plan.of(i).pairs == 0) continue;
    Samples samples = racing_.time(bench_.baseline, *bench_.application, i, bench_.plan.of(i).pairs,
                                   bench_.batch_for(judged.seconds));
    if (!bench_.usable) return environment_error(samples.failure->detail);
    if (samples.failure)
      return bench_.announce(""),
             trouble("the application's own machine code, while timed: " + samples.failure->detail);
    report.application_seconds = median(samples.candidate);
  }
  // If the calibrated build fails and this code passes, neither the capture nor the kernel is at fault.
  bench_.report.application_alone = !right;
  bench_.announce("");
  return done();
}

InstanceReport Calibration::begin_report(size_t instance) const {
  const MepInstance& recorded = bench_.mep.instances[instance];
  InstanceReport report;
  report.id = recorded.id, report.held_out = recorded.held_out, report.weight = recorded.weight;
  // Durations recorded on another device are not comparable.
  const DeviceFacts& device = bench_.device.facts();
  const std::string& there = bench_.mep.captured_on;
  if (device.processor ? there.empty() || there.starts_with("cpu") : there.find(":" + device.name + ":") != there.npos)
    report.recorded_seconds = recorded.microseconds * 1e-6;
  return report;
}

void Calibration::limit_launches(double slowest, double seconds) {
  constexpr std::chrono::milliseconds kLeastLimit{1000};
  auto milliseconds = [](double given) { return std::chrono::milliseconds(static_cast<int64_t>(given * 1e3)); };
  // A candidate that is many times slower than the original is ended; one of similar speed must not be.
  bench_.settings.launch_limit =
      std::min(std::max(configured_limit_, milliseconds(2 * slowest)), std::max(kLeastLimit, milliseconds(seconds)));
}

PlanInputs Calibration::plan_inputs() const {
  PlanInputs inputs;
  inputs.seconds = bench_.run_seconds;
  inputs.for_candidates = bench_.settings.for_candidates, inputs.processor = bench_.device.facts().processor;
  inputs.changes_anything = changes_anything(bench_.mep);
  inputs.rules = bench_.rules, inputs.race = bench_.settings.race;
  for (auto& instance : bench_.memory->instances())
    inputs.outputs =
        std::max(inputs.outputs, static_cast<size_t>(std::ranges::count_if(instance.regions, &ReplayBuffer::output)));
  const auto now = Deadline::clock::now();
  if (bench_.settings.deadline) inputs.left = std::chrono::duration<double>(*bench_.settings.deadline - now).count();
  if (bench_.settings.begun) inputs.spent = std::chrono::duration<double>(now - *bench_.settings.begun).count();
  return inputs;
}

Result<bool> Calibration::runs_at_all(bool begins_search) {
  // An original that takes a thousand times what it took in the application will not end.
  constexpr double kSlower = 1000, kLeastSeconds = 10;
  double slowest = 0;
  for (size_t i = 0; i < bench_.mep.instances.size(); ++i) {
    InstanceReport report = begin_report(i);
    if (report.recorded_seconds > 0) {
      double patience = std::max(kLeastSeconds, kSlower * report.recorded_seconds);
      bench_.settings.launch_limit =
          std::min(bench_.settings.launch_limit, std::chrono::milliseconds(static_cast<int64_t>(patience * 1e3)));
    }
    auto begin = Deadline::clock::now();
    auto judged = verification_.run(bench_.baseline, {i, i}, {.detailed = true});
    slowest = std::max(slowest, judged.seconds), bench_.run_seconds[i] = judged.seconds;
    // The plan so far, as if the instances that have not run took no time.
    bench_.plan = MeasurementPlan(plan_inputs());
    if (begins_search) KERNELIFT_TRY(bench_.plan.affords_a_candidate());
    if (bench_.plan.of(i).once) bench_.settings.tell(takes_long(report.id, judged.seconds));
    if (!judged.failure && bench_.plan.of(i).sparing) {
      KERNELIFT_TRY(writes_.keep(i, judged.altered, first_[i].results));
      costs_[i].check = seconds_since(begin);
      first_[i].judged = std::move(judged);
    }
    if (bench_.usable) continue;
    for (size_t other = 0; other < bench_.mep.instances.size(); ++other) {
      report = begin_report(other), report.pass = false;
      report.failure = other != i ? "not tried: the GPU was lost to instance " + bench_.mep.instances[i].id
                                  : (judged.failure->outcome == Outcome::TimedOut ? "timed out: " : "crashed: ") +
                                        judged.failure->detail;
      if (other == i) report.failure += left_out(*judged.failure, i);
      bench_.report.instances.push_back(std::move(report));
    }
    return false;
  }
  if (std::string text = bench_.plan.text(); begins_search && !text.empty()) bench_.settings.tell(text);
  limit_launches(slowest, bench_.plan.original_limit(slowest));
  return true;
}

Status Calibration::calibrate(const Original& original) {
  bench_.report = {};
  // Calibration belongs to no era: only its own deadline ends it.
  bench_.inquiry = {}, bench_.inquiry.era = ~uint64_t(0), bench_.inquiry.deadline = bench_.settings.deadline;
  costs_.assign(bench_.mep.instances.size(), {});
  first_.clear(), first_.resize(bench_.mep.instances.size());
  // A replay needs to know about unchanged outputs only if nothing changed at all.
  writes_.set_unchanged_too(bench_.settings.for_candidates || !changes_anything(bench_.mep));
  if (configured_limit_.count() == 0) configured_limit_ = bench_.settings.launch_limit;
  // The original gets a longer time limit than candidates.
  constexpr std::chrono::milliseconds kOriginalLimit{60'000};
  bench_.settings.launch_limit = std::max(configured_limit_, kOriginalLimit);
  bench_.original = original.code;
  if (auto failure = bench_.baseline.load(bench_.device, *bench_.memory, bench_.mep, original.code))
    return environment_error("the original cannot be run on " + bench_.device.facts().name + ": " + failure->detail);
  // An idle GPU runs slowly at first.
  constexpr auto kWarmUp = std::chrono::milliseconds(150);
  Steps warm_up(*bench_.kernels);
  for (int i = 0; i < 3; ++i) warm_up.hold(kWarmUp / 3);
  if (auto outcome = warm_up.run(bench_.settings.launch_limit); !outcome.ok())
    return environment_error("the GPU does not answer: " + outcome.detail);
  // An original that does not run is a result, in the report, and not an Error.
  tolerances_.take_user_tolerance();
  bench_.run_seconds.assign(bench_.mep.instances.size(), 0);
  KERNELIFT_ASSIGN(bool runs, runs_at_all(original.begins_search));
  KERNELIFT_TRY(calibration_in_time(bench_));
  if (!runs) return done();
  bench_.laps.end("launching it");
  KERNELIFT_TRY(tolerances_.add_envelopes(original.roundings));
  bench_.laps.end("rounding it otherwise");
  double slowest = 0;
  for (size_t i = 0; i < bench_.mep.instances.size(); ++i) {
    KERNELIFT_TRY(calibration_in_time(bench_));
    InstanceReport instance = begin_report(i);
    if (!bench_.usable) instance.pass = false, instance.failure = "not tried: the GPU was lost to an earlier instance";
    else KERNELIFT_TRY(calibrate_instance(i, instance));
    // A measurement that the deadline cut short is not evidence against the original.
    KERNELIFT_TRY(calibration_in_time(bench_));
    slowest = std::max(slowest, instance.seconds);
    bench_.report.instances.push_back(std::move(instance));
  }
  bench_.laps.end("launching it");
  KERNELIFT_TRY(calibrate_application(original.application));
  bench_.laps.end("the application's own code");
  // Last: everything above is measured against the original's own answers.
  if (bench_.report.pass()) KERNELIFT_TRY(tolerances_.add_nearer_references(original.at_random));
  bench_.laps.end("rounding it otherwise");
  if (bench_.report.pass()) bench_.report.unverifiable = unverifiable(bench_.mep, bench_.report);
  limit_launches(slowest, bench_.plan.original_limit(slowest));
  bench_.original_limit = bench_.settings.launch_limit;
  limit_launches(slowest, bench_.plan.candidate_limit(slowest));
  return done();
}

}  // namespace kernelift::sandbox
