// Judging one candidate, stage by stage; see runner.h. The order is DESIGN §5's: verified, then timed, then verified
// again in the same image; whoever seems to win is measured once more in a fresh process with the images loaded the
// other way round, and the weaker of the two results counts.
#include "sandbox/evaluate/runner.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace kernelift {
namespace {

std::string describe(const Comparison& comparison, uint64_t elements) {
  char text[256];
  auto& first = *comparison.first;
  std::snprintf(text, sizeof text,
                "%llu of %llu elements differ; first [%llu] expected %s, got %s; worst [%llu] expected %s, got %s",
                (unsigned long long)comparison.mismatches, (unsigned long long)elements,
                (unsigned long long)first.index, first.expected.c_str(), first.got.c_str(),
                (unsigned long long)comparison.worst->index, comparison.worst->expected.c_str(),
                comparison.worst->got.c_str());
  return text;
}

/// All rounds, or as many as fit in the usual budget when a launch is long: a finalist is measured twice, on every
/// instance, and the time budget of a run has to hold that.
int confirmation_rounds(const RaceRules& rules, double seconds) {
  constexpr double kPatience = 1;
  constexpr int kFewest = 6;
  double pair = 2 * std::max(seconds, 1e-6);
  return std::clamp(static_cast<int>(kPatience * rules.most_seconds / pair), std::min(kFewest, rules.most_rounds),
                    rules.most_rounds);
}

Timing timing_of(const MepInstance& instance, const Race& race, bool cold) {
  Timing timing;
  timing.instance = instance.id, timing.weight = instance.weight, timing.cold = cold;
  timing.baseline_seconds = median(race.baseline()), timing.seconds = median(race.candidate());
  timing.speedup = race.speedup().value, timing.speedup_low = race.speedup().low,
  timing.speedup_high = race.speedup().high;
  timing.samples = static_cast<int>(race.baseline().size());
  return timing;
}

}  // namespace

bool BaselineReport::pass() const {
  return std::all_of(instances.begin(), instances.end(), [](auto& instance) { return instance.pass; });
}

std::string BaselineReport::complaint() const {
  for (auto& instance : instances) {
    if (instance.pass) continue;
    if (!instance.failure.empty()) return "instance " + instance.id + ": " + instance.failure;
    for (auto& buffer : instance.buffers)
      if (!buffer.pass) return "instance " + instance.id + ", " + buffer.name + ": " + buffer.detail;
  }
  return {};
}

Result<std::unique_ptr<Runner>> Runner::create(const Mep& mep, const std::filesystem::path& folder,
                                               const RunnerSettings& settings, std::function<void(bool)> quiet) {
  std::unique_ptr<Runner> runner(new Runner);
  runner->mep_ = mep;
  runner->settings_ = settings;
  runner->quiet_ = std::move(quiet);
  KERNELIFT_ASSIGN(runner->memory_, ReplayMemory::map(mep, folder));
  return runner;
}

std::vector<BufferReport> Runner::compare(size_t instance, Verdict* verdict) const {
  std::vector<BufferReport> buffers;
  auto judge = [&](const std::string& name, const ElementType& type, const FloatTolerance& tolerance,
                   const std::byte* answer, const std::byte* got, uint64_t size, bool changed) {
    BufferReport report{name, size, true, changed, {}, tolerance.text(type)};
    Comparison comparison = Comparator(type, tolerance).compare({answer, size}, {got, size});
    if (!comparison.ok()) {
      report.pass = false, report.detail = describe(comparison, size / type.width);
      if (verdict && verdict->buffer.empty()) {
        verdict->buffer = name, verdict->index = comparison.first->index;
        verdict->expected = comparison.first->expected, verdict->got = comparison.first->got;
        verdict->distance = comparison.first->distance;
        verdict->detail = std::to_string(comparison.mismatches) + " of " + std::to_string(size / type.width) +
                          " elements differ" +
                          (type.is_float() ? " by more than " + tolerance.text(type) : "") +
                          (changed ? "" : "; the original does not write this buffer");
      }
    }
    buffers.push_back(std::move(report));
  };
  const InstanceMemory& memory = memory_->instances()[instance];
  for (auto& region : memory.regions)
    judge(region.name, region.element, region.tolerance, region.answer, region.live(), region.size, region.changed());
  for (auto& variable : memory.variables)
    judge(variable.key, variable.element, variable.tolerance, variable.answer,
          &memory_->mirror()[variable.mirror_offset], variable.size, variable.changed());
  return buffers;
}

bool Runner::verify(Trial& trial, size_t instance, Stage stage, Verdict& verdict) {
  verdict.stage = stage;
  verdict.instance = mep_.instances[instance].id;
  memory_->restore(instance, true);
  if (auto failure = trial.run(Side::Candidate, instance)) {
    verdict.outcome = failure->outcome, verdict.detail = failure->detail;
    bool refused_to_launch = failure->outcome == Outcome::LaunchFailed || failure->outcome == Outcome::OverResources ||
                             failure->outcome == Outcome::Refused;
    if (refused_to_launch) verdict.stage = Stage::Launch;
    return false;
  }
  if (auto outside = memory_->broken_canary(instance)) {
    verdict.outcome = Outcome::WroteOutside, verdict.detail = *outside;
    return false;
  }
  compare(instance, &verdict);
  if (!verdict.buffer.empty()) {
    verdict.outcome = Outcome::Wrong;
    return false;
  }
  verdict.instance.clear();
  return true;
}

int Runner::batch_for(double seconds) const {
  // A sample much shorter than this is mostly the scheduler's noise.
  constexpr double kSampleSeconds = 200e-6;
  constexpr int kMostLaunches = 64;
  return seconds > 0 ? std::clamp(static_cast<int>(std::ceil(kSampleSeconds / seconds)), 1, kMostLaunches) : 1;
}

bool Runner::race(Trial& trial, size_t instance, Race& race, Verdict& verdict) {
  int batch = batch_for(report_.instances[instance].seconds);
  memory_->restore(instance, false);
  for (int rounds; (rounds = race.next_rounds()) > 0;) {
    TrialTimes times = trial.time(instance, rounds, batch);
    if (times.failure) {
      verdict.outcome = times.failure->outcome, verdict.detail = times.failure->detail;
      verdict.stage = Stage::Time, verdict.instance = mep_.instances[instance].id;
      return false;
    }
    race.add(times.baseline, times.candidate);
  }
  return true;
}

bool Runner::run_trial(const TrialCode& candidate, bool swapped, bool confirm, Verdict& verdict) {
  auto started = Trial::start(mep_, *memory_, baseline_, &candidate, settings_.trial, swapped);
  auto fail = [&](const TrialFailure& failure) {
    verdict.outcome = failure.outcome, verdict.detail = failure.detail;
    verdict.stage = failure.outcome == Outcome::OverResources ? Stage::Launch : Stage::Load;
    return false;
  };
  if (!started.ok()) return fail({Outcome::LaunchFailed, started.error().message});
  Trial& trial = **started;
  if (auto failure = trial.loaded()) return fail(*failure);
  size_t count = mep_.instances.size();
  for (size_t i = 0; i < count; ++i)
    if (!verify(trial, i, Stage::Verify, verdict)) return false;

  RaceRules rules = settings_.race;
  rules.smallest_gain = kSmallestGain;
  // A finalist's figures are reported: they are measured to the end, not until the winner is known.
  unsigned cores =
      settings_.trial.threads ? settings_.trial.threads : std::max(1u, std::thread::hardware_concurrency());
  quiet_(true);
  bool hopeless = false;
  for (size_t i = 0; i < count && !hopeless; ++i) {
    if (!timed(i, confirm)) continue;
    if (confirm) rules.first_rounds = confirmation_rounds(rules, report_.instances[i].seconds);
    Race race{rules};
    if (!this->race(trial, i, race, verdict)) {
      quiet_(false);
      return false;
    }
    verdict.timings.push_back(timing_of(mep_.instances[i], race, settings_.trial.cold));
    // Far slower where it was looked at first: the other instances would only tell by how much.
    hopeless = !confirm && race.stopped() == Race::Stop::CannotWin && race.speedup().value < rules.hopeless;
    double floor = physics_floor(report_.instances[i].fastest_write_seconds, cores);
    if (verdict.timings.back().seconds < floor && verdict.outcome == Outcome::Ok) {
      char text[160];
      std::snprintf(text, sizeof text, "%.3g us, but only writing what it leaves takes %.3g us on this machine",
                    verdict.timings.back().seconds * 1e6, floor * 1e6);
      verdict.outcome = Outcome::Suspect, verdict.detail = text, verdict.instance = mep_.instances[i].id;
    }
  }
  quiet_(false);
  if (verdict.outcome != Outcome::Ok) {
    verdict.stage = Stage::Time;
    return false;
  }
  for (size_t i = 0; i < count && !hopeless; ++i) {
    if (!timed(i, confirm) || verify(trial, i, Stage::Time, verdict)) continue;
    // It was right before: a result that depends on how often or when it is run is no result.
    if (verdict.outcome == Outcome::Wrong) {
      verdict.outcome = Outcome::Unstable;
      verdict.detail = "right before it was timed, wrong after: " + verdict.detail;
    }
    return false;
  }
  return true;
}

Verdict Runner::evaluate(const TrialCode& candidate, bool confirm) {
  Verdict verdict;
  if (!run_trial(candidate, false, confirm, verdict)) return verdict;
  if (!confirm && verdict.speedup_low() <= kSmallestGain) return verdict;
  Verdict second;
  if (!run_trial(candidate, true, confirm, second)) return second;
  for (size_t i = 0; i < verdict.timings.size(); ++i) {
    Timing& one = verdict.timings[i];
    const Timing& two = second.timings[i];
    bool weaker = two.speedup < one.speedup;
    double low = std::min(one.speedup_low, two.speedup_low), high = std::max(one.speedup_high, two.speedup_high);
    int samples = one.samples + two.samples;
    if (weaker) one = two;
    one.speedup_low = low, one.speedup_high = high, one.samples = samples;
  }
  return verdict;
}

Json to_json(const BaselineReport& report) {
  Json instances = Json::array();
  for (auto& instance : report.instances) {
    Json buffers = Json::array();
    for (auto& buffer : instance.buffers)
      buffers.push_back({{"name", buffer.name},
                         {"bytes", buffer.bytes},
                         {"pass", buffer.pass},
                         {"changed", buffer.changed},
                         {"tolerance", buffer.tolerance},
                         {"detail", buffer.detail}});
    instances.push_back({{"id", instance.id},
                         {"held_out", instance.held_out},
                         {"pass", instance.pass},
                         {"weight", instance.weight},
                         {"recorded_seconds", instance.recorded_seconds},
                         {"seconds", instance.seconds},
                         {"spread", instance.spread},
                         {"fastest_write_seconds", instance.fastest_write_seconds},
                         {"failure", instance.failure},
                         {"buffers", buffers}});
  }
  return {{"instances", instances}};
}

Result<BaselineReport> baseline_report_from_json(const Json& from, const std::string& where) {
  return reading(where, [&] {
    BaselineReport report;
    for (auto& entry : from.at("instances")) {
      InstanceReport instance;
      instance.id = entry.at("id"), instance.held_out = entry.at("held_out"), instance.pass = entry.at("pass");
      instance.weight = entry.at("weight"), instance.recorded_seconds = entry.at("recorded_seconds");
      instance.seconds = entry.at("seconds"), instance.spread = entry.at("spread");
      instance.fastest_write_seconds = entry.at("fastest_write_seconds"), instance.failure = entry.at("failure");
      for (auto& buffer : entry.at("buffers"))
        instance.buffers.push_back(
            {buffer.at("name"), buffer.at("bytes"), buffer.at("pass"), buffer.at("changed"), buffer.at("detail"),
             buffer.at("tolerance")});
      report.instances.push_back(std::move(instance));
    }
    return report;
  });
}

}  // namespace kernelift
