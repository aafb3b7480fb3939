// See calibration.h.
#include "sandbox/evaluate/runner/calibration.h"

#include <algorithm>

namespace kernelift {
namespace {

constexpr int kMostRounds = 11, kLeastRounds = 3, kLongRounds = 1;
constexpr double kTimingSeconds = 0.25;  ///< Of one instance, where that is enough for kLeastRounds.
constexpr int kRunsIfVarying = 16;       ///< Of the original, beside the first, where its runs differ by rounding.

double seconds_since(Deadline begin) { return std::chrono::duration<double>(Deadline::clock::now() - begin).count(); }

}  // namespace

int Calibration::rounds(double seconds) {
  if (seconds > kLongSeconds) return kLongRounds;
  return static_cast<int>(
      std::clamp<double>(kTimingSeconds / (2 * std::max(seconds, 1e-6)), kLeastRounds, kMostRounds));  // Two sides.
}

std::string Calibration::left_out(const TrialFailure& failure, size_t instance) const {
  // Nothing but recorded memory is mapped: memory that was there besides may be what the kernel accessed.
  std::string text = unreached_text(bench_.mep.instances[instance].unreached);
  return failure.outcome == Outcome::Crashed && !text.empty() ? "; " + text : "";
}

Status Calibration::calibrate_instance(size_t instance, InstanceReport& report) {
  const Place place{instance, instance};
  const bool once_is_enough = bench_.once_is_enough(instance);
  auto begin = Deadline::clock::now();
  auto judged = verification_.run(bench_.baseline, place, {.detailed = true});
  std::vector<DeviceMemory> once;
  if (!judged.failure) KERNELIFT_TRY(writes_.keep(instance, judged.altered, once));
  costs_[instance].check = seconds_since(begin);
  // A race may be won the same way twice, and two sums by atomics say little of how far a third may be off; nor do
  // three that agree with each other and not with the recorded one.
  bool varies = false;
  auto learn = [&](bool reordered) -> Status {
    judged = verification_.run(bench_.baseline, place, {.detailed = true, .reordered = reordered});
    if (judged.failure) return done();
    KERNELIFT_ASSIGN(report.failure, tolerances_.widen_by_run(instance, once, varies));
    return done();
  };
  if (bench_.device.facts().processor && !judged.failure && !once_is_enough && judged.seconds <= kSlowSeconds)
    KERNELIFT_TRY(learn(true));
  const int runs = once_is_enough ? 0 : bench_.rules.runs;
  for (int run = 0; !judged.failure && report.failure.empty() && run < (varies ? kRunsIfVarying : runs); ++run) {
    KERNELIFT_TRY(learn(false));
    varies = (varies || (judged.first && run + 1 >= runs)) && judged.seconds <= kSlowSeconds;
  }
  if (judged.failure) {
    report.pass = false;
    report.failure =
        (judged.failure->outcome == Outcome::WroteOutside ? "the original itself writes outside its buffers: " : "") +
        judged.failure->detail + left_out(*judged.failure, instance);
    return done();
  }
  report.buffers = judged.buffers;
  report.pass = report.failure.empty();
  for (auto& buffer : report.buffers) report.pass &= buffer.pass;
  report.seconds = judged.seconds;
  if (!report.pass || once_is_enough) return done();
  std::vector<DeviceMemory> results;
  KERNELIFT_TRY(writes_.keep(instance, judged.altered, results));
  once.clear();
  KERNELIFT_TRY(writes_.learn(instance, results));
  auto& regions = bench_.memory->instances()[instance].regions;
  for (size_t i = 0; i < regions.size(); ++i) report.buffers[i].written |= regions[i].written_bytes > 0;
  report.fastest_write_seconds = writes_.fastest_write(instance);
  bench_.settings.quiet(true);
  begin = Deadline::clock::now();
  const int pairs = rounds(judged.seconds);
  Samples samples = racing_.time(bench_.baseline, bench_.baseline, instance, pairs, bench_.batch_for(judged.seconds));
  costs_[instance].pair = seconds_since(begin) / pairs;
  bench_.settings.quiet(false);
  if (samples.failure) {
    report.pass = false, report.failure = "while timed: " + samples.failure->detail;
    return done();
  }
  // Both sides are the original here: twice the samples.
  samples.baseline.insert(samples.baseline.end(), samples.candidate.begin(), samples.candidate.end());
  report.seconds = median(samples.baseline), report.spread = relative_spread(samples.baseline);
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
  TrialCode wanted;
  wanted.image = image;
  if (auto failure = bench_.application.emplace().load(bench_.device, *bench_.memory, bench_.mep, wanted))
    return bench_.announce(""), trouble("the application's own machine code cannot be run here: " + failure->detail);
  for (size_t i = 0; i < bench_.mep.instances.size(); ++i) {
    InstanceReport& report = bench_.report.instances[i];
    auto judged = verification_.run(*bench_.application, {i, i}, {});
    // Whatever it did, the next process must not ask again.
    if (!bench_.usable) return environment_error(judged.failure->detail);
    if (judged.failure)
      return bench_.announce(""), trouble("the application's own machine code, replayed: " + judged.failure->detail);
    if (judged.first)
      return bench_.announce(""), trouble("the application's own machine code does not reproduce the capture in " +
                                          judged.buffers[judged.bad_buffer].name);
    if (!right) continue;
    Samples samples =
        racing_.time(bench_.baseline, *bench_.application, i, rounds(judged.seconds), bench_.batch_for(judged.seconds));
    if (!bench_.usable) return environment_error(samples.failure->detail);
    if (samples.failure)
      return bench_.announce(""),
             trouble("the application's own machine code, while timed: " + samples.failure->detail);
    report.application_seconds = median(samples.candidate);
  }
  // What is wrong otherwise is neither the capture nor the kernel.
  bench_.report.application_alone = !right;
  bench_.announce("");
  return done();
}

InstanceReport Calibration::begin_report(size_t instance) const {
  const MepInstance& recorded = bench_.mep.instances[instance];
  InstanceReport report;
  report.id = recorded.id, report.held_out = recorded.held_out, report.weight = recorded.weight;
  // A duration on another device says nothing about this one.
  const DeviceFacts& device = bench_.device.facts();
  const std::string& there = bench_.mep.captured_on;
  if (device.processor ? there.empty() || there.starts_with("cpu") : there.find(":" + device.name + ":") != there.npos)
    report.recorded_seconds = recorded.microseconds * 1e-6;
  return report;
}

void Calibration::limit_launches(double slowest) {
  constexpr std::chrono::milliseconds kLeastLimit{1000};
  auto times = [&](double factor) { return std::chrono::milliseconds(static_cast<int64_t>(slowest * factor * 1e3)); };
  // A candidate that is many times slower than the original need not be waited for; one like it must not be ended.
  bench_.settings.launch_limit =
      std::min(std::max(asked_limit_, times(2)), std::max(kLeastLimit, times(bench_.rules.patience)));
}

Result<bool> Calibration::runs_at_all() {
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
    auto judged = verification_.run(bench_.baseline, {i, i}, {});
    slowest = std::max(slowest, judged.seconds), bench_.run_seconds[i] = judged.seconds;
    if (bench_.is_long(i)) bench_.settings.tell(takes_long(report.id, judged.seconds));
    // Run thrice more, on buffers full of poison, and in turns with itself and with the application's code.
    const size_t runs = static_cast<size_t>(bench_.rules.runs + 1 + kLongRoundings +
                                            WriteSet::kPatterns * writes_.poisoned(i).size() + 4 * kLongRounds);
    if (bench_.is_long(i) && bench_.settings.for_candidates)
      KERNELIFT_TRY(enough_time(report.id, judged.seconds, runs, bench_.settings.deadline));
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
  limit_launches(slowest);
  return true;
}

Status Calibration::calibrate(const Original& original) {
  bench_.report = {};
  // Calibration belongs to no era: only its own deadline ends it.
  bench_.inquiry = {}, bench_.inquiry.era = ~uint64_t(0), bench_.inquiry.deadline = bench_.settings.deadline;
  costs_.assign(bench_.mep.instances.size(), {});
  // To replay, what is written beside what changed says nothing.
  writes_.set_unchanged_too(bench_.settings.for_candidates || !changes_anything(bench_.mep));
  if (asked_limit_.count() == 0) asked_limit_ = bench_.settings.launch_limit;
  // The original is waited for longer than a candidate would be.
  constexpr std::chrono::milliseconds kOriginalLimit{60'000};
  bench_.settings.launch_limit = std::max(asked_limit_, kOriginalLimit);
  if (auto failure = bench_.baseline.load(bench_.device, *bench_.memory, bench_.mep, original.code))
    return environment_error("the original cannot be run on " + bench_.device.facts().name + ": " + failure->detail);
  // A GPU that slept is slow at first.
  constexpr auto kWarmUp = std::chrono::milliseconds(150);
  Steps warm_up(*bench_.kernels);
  for (int i = 0; i < 3; ++i) warm_up.hold(kWarmUp / 3);
  if (auto outcome = warm_up.run(bench_.settings.launch_limit); !outcome.ok())
    return environment_error("the GPU does not answer: " + outcome.detail);
  // One that does not even run is no error here: that is the answer.
  tolerances_.take_user_tolerance();
  bench_.run_seconds.assign(bench_.mep.instances.size(), 0);
  KERNELIFT_ASSIGN(bool runs, runs_at_all());
  KERNELIFT_TRY(calibration_in_time(bench_));
  if (!runs) return done();
  KERNELIFT_TRY(tolerances_.add_envelopes(original.roundings));
  double slowest = 0;
  for (size_t i = 0; i < bench_.mep.instances.size(); ++i) {
    KERNELIFT_TRY(calibration_in_time(bench_));
    InstanceReport instance = begin_report(i);
    if (!bench_.usable) instance.pass = false, instance.failure = "not tried: the GPU was lost to an earlier instance";
    else KERNELIFT_TRY(calibrate_instance(i, instance));
    // What a deadline cut short says nothing of the original.
    KERNELIFT_TRY(calibration_in_time(bench_));
    slowest = std::max(slowest, instance.seconds);
    bench_.report.instances.push_back(std::move(instance));
  }
  KERNELIFT_TRY(calibrate_application(original.application));
  // Last: what was learned of the original is learned by its own answers.
  if (bench_.report.pass()) KERNELIFT_TRY(tolerances_.add_nearer_references(original.at_random));
  if (bench_.report.pass()) bench_.report.unverifiable = unverifiable(bench_.mep, bench_.report);
  limit_launches(slowest);
  return done();
}

}  // namespace kernelift
