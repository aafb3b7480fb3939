// Judging one candidate, stage by stage; see runner.h. It is verified, then timed, then verified again in the same
// image; whoever seems to win is measured once more in a fresh process with the images loaded the other way round, and
// the weaker of the two results counts.
#include "sandbox/evaluate/cpu/runner.h"

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

/// A finalist is measured for so long on an instance, each time it is measured; a kernel of milliseconds gets fewer
/// samples than a short one, but never so few that they give no interval.
constexpr double kConfirmSeconds = 0.5;
constexpr int kFewestRounds = 6;

int confirmation_rounds(const RaceRules& rules, double seconds) {
  double pair = 2 * std::max(seconds, 1e-6);
  return std::clamp(static_cast<int>(kConfirmSeconds / pair), std::min(kFewestRounds, rules.most_rounds),
                    rules.most_rounds);
}

double seconds_since(Deadline begin) { return std::chrono::duration<double>(Deadline::clock::now() - begin).count(); }

/// Who stays below this share of the best so far will not be a finalist.
constexpr double kNearBest = 0.95;

Timing timing_of(const MepInstance& instance, double weight, const Race& race, bool cold) {
  Timing timing;
  timing.instance = instance.id, timing.weight = weight, timing.cold = cold;
  timing.baseline_seconds = median(race.baseline()), timing.seconds = median(race.candidate());
  timing.speedup = race.speedup().value, timing.speedup_low = race.speedup().low,
  timing.speedup_high = race.speedup().high;
  timing.samples = static_cast<int>(race.baseline().size());
  return timing;
}

}  // namespace

Result<std::unique_ptr<Runner>> Runner::create(const Mep& mep, const std::filesystem::path& folder,
                                               const RunnerSettings& settings, RunnerVoice voice) {
  std::unique_ptr<Runner> runner(new Runner);
  runner->mep_ = mep;
  runner->settings_ = settings;
  runner->voice_ = std::move(voice);
  KERNELIFT_ASSIGN(runner->memory_, ReplayMemory::map(mep, folder));
  return runner;
}

std::vector<BufferReport> Runner::compare(size_t instance, Verdict* verdict) const {
  std::vector<BufferReport> buffers;
  auto judge = [&](const std::string& name, const Yardstick& yardstick, const std::byte* answer, const std::byte* got,
                   uint64_t size, bool changed, bool output) {
    BufferReport report{name, size, true, changed, {}, yardstick.text(), changed};
    Comparison comparison = yardstick.compare({answer, size}, {got, size});
    uint64_t elements = size / yardstick.layout.stride * yardstick.layout.lanes.size();
    report.exact = comparison.ok() && comparison.largest_ulps == 0;
    if (verdict) verdict->largest_ulps = std::max(verdict->largest_ulps.value_or(0), comparison.largest_ulps);
    if (!comparison.ok()) {
      report.pass = false, report.detail = describe(comparison, elements);
      if (verdict && verdict->buffer.empty()) {
        verdict->buffer = name, verdict->index = comparison.first->index;
        verdict->expected = comparison.first->expected, verdict->got = comparison.first->got;
        verdict->distance = comparison.first->distance;
        verdict->detail = std::to_string(comparison.mismatches) + " of " + std::to_string(elements) +
                          " elements differ" +
                          (yardstick.layout.has_floats() ? " by more than " + yardstick.text() : "") +
                          (output ? "" : "; the original does not write this buffer");
      }
    }
    buffers.push_back(std::move(report));
  };
  const InstanceMemory& memory = memory_->instances()[instance];
  for (auto& region : memory.regions)
    judge(region.name, region.yardstick, region.answer, region.live(), region.size, region.changed(), region.output());
  for (auto& variable : memory.variables)
    judge(variable.key, variable.yardstick, variable.answer, &memory_->mirror()[variable.mirror_offset], variable.size,
          variable.changed(), variable.changed());
  return buffers;
}

bool Runner::ended() const {
  return (inquiry_.deadline && Deadline::clock::now() >= *inquiry_.deadline) ||
         (settings_.era && settings_.era->load() > inquiry_.era);
}

Result<std::unique_ptr<Trial>> Runner::start_trial(const TrialCode* candidate, bool swapped,
                                                   std::optional<std::chrono::milliseconds> launch_limit) {
  TrialSettings settings = settings_.trial;
  if (launch_limit) settings.launch_limit = *launch_limit;
  KERNELIFT_ASSIGN(auto trial, Trial::start(mep_, *memory_, baseline_, candidate, settings, swapped));
  trial->end_when([this] { return ended(); });
  return trial;
}

bool Runner::ran(const std::optional<TrialFailure>& failure, size_t instance, Verdict& verdict) const {
  if (failure) {
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
  return true;
}

bool Runner::verify(Trial& trial, size_t instance, Stage stage, Verdict& verdict) {
  verdict.stage = stage;
  verdict.instance = mep_.instances[instance].id;
  memory_->restore(instance, true);
  auto failure = trial.run(Side::Candidate, instance);
  if (failure && ended()) cut_ = true;
  if (!ran(failure, instance, verdict)) return false;
  if (!std::ranges::all_of(compare(instance, &verdict), &BufferReport::pass)) {
    verdict.outcome = Outcome::Wrong;
    return false;
  }
  verdict.instance.clear();
  return true;
}

std::vector<size_t> Runner::perturbed_instances() const {
  std::vector<size_t> instances{screened_.front().instance};
  for (size_t i = 0; i < mep_.instances.size(); ++i)
    if (mep_.instances[i].held_out) instances.push_back(i);
  instances.resize(std::min(instances.size(), PerturbedOracle::kMostInstances));
  return instances;
}

Roundings Runner::perturbed_roundings() const {
  Roundings some = roundings_;
  if (std::ranges::any_of(perturbed_instances(), [&](size_t i) { return is_long(i); }))
    some.ways.resize(std::min(some.ways.size(), kLongRoundings)), some.at_random.clear();
  return some;
}

void Runner::estimate_confirmation() {
  constexpr double kPerturbing = 2;  // Of a check, what it takes on perturbed memory, each time in two ways.
  constexpr double kStarting = 0.2;  // For processes to start and load their images.
  if (!settings_.for_candidates || screened_.empty()) return;
  report_.confirmation_seconds = kStarting;
  for (size_t i = 0; i < costs_.size(); ++i) {
    report_.confirmation_seconds += costs_[i].check;
    int rounds = confirmation_rounds(settings_.race, report_.instances[i].seconds);
    report_.confirmation_seconds += 3 * costs_[i].check + 2 * rounds * costs_[i].pair;
  }
  double once = 0;
  for (size_t i : perturbed_instances()) once += PerturbedOracle::kKinds * kPerturbing * costs_[i].check;
  report_.confirmation_seconds += 2 * once;
  Roundings roundings = perturbed_roundings();
  report_.perturbing_seconds = once * static_cast<double>(2 + roundings.ways.size() + roundings.at_random.size());
}

bool Runner::verify_perturbed(Trial& trial, Verdict& verdict) {
  if (!oracle_) {
    oracle_ = PerturbedOracle::ask(
        *memory_, perturbed_instances(), baseline_, perturbed_roundings(),
        [this](const TrialCode* other) { return start_trial(other); }, [this] { return ended(); });
    if (!oracle_) return !(cut_ = true);
  }
  for (auto& wanted : oracle_->cases())
    for (bool stale : {false, true}) {
      verdict.stage = Stage::Verify, verdict.instance = mep_.instances[wanted.instance].id;
      std::string where = std::string("right on what was recorded, but with inputs perturbed (") + name(wanted.kind) +
                          (stale ? ", over an older answer): " : "): ");
      oracle_->begin(wanted, stale);
      auto failure = trial.run(Side::Candidate, wanted.instance, wanted.variables);
      if (failure && ended()) cut_ = true;
      if (!ran(failure, wanted.instance, verdict)) {
        verdict.detail = where + verdict.detail;
        return false;
      }
      if (auto complaint = oracle_->compare(wanted)) {
        verdict.outcome = Outcome::Wrong, verdict.detail = where + complaint->detail,
        verdict.buffer = complaint->buffer;
        verdict.index = complaint->first.index, verdict.distance = complaint->first.distance;
        verdict.expected = complaint->first.expected, verdict.got = complaint->first.got;
        return false;
      }
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

bool Runner::race(Trial& trial, size_t instance, Race& race, std::optional<Deadline> until, Verdict& verdict) {
  // Samples are asked for in pieces, so that time cannot run out far from anyone who looks at the clock.
  constexpr double kPieceSeconds = 0.25;
  double seconds = report_.instances[instance].seconds;
  int batch = batch_for(seconds), taken = 0;
  double pair = 2 * batch * seconds;
  memory_->restore(instance, false);
  for (int rounds; (rounds = race.next_rounds()) > 0;) {
    std::vector<double> baseline, candidate;
    while (rounds > 0 && !(until && taken >= kFewestRounds && Deadline::clock::now() >= *until)) {
      int piece = pair > 0 ? std::clamp(static_cast<int>(kPieceSeconds / pair), 1, rounds) : 1;
      auto begin = Deadline::clock::now();
      TrialTimes times = trial.time(instance, piece, batch);
      pair = seconds_since(begin) / piece;
      if (times.failure) {
        cut_ |= ended();
        verdict.outcome = times.failure->outcome, verdict.detail = times.failure->detail;
        verdict.stage = Stage::Time, verdict.instance = mep_.instances[instance].id;
        return false;
      }
      baseline.insert(baseline.end(), times.baseline.begin(), times.baseline.end());
      candidate.insert(candidate.end(), times.candidate.begin(), times.candidate.end());
      rounds -= piece, taken += piece;
    }
    race.add(baseline, candidate);
    if (rounds > 0) break;
  }
  return true;
}

std::vector<Runner::Timed> Runner::timed() const {
  if (!inquiry_.confirm) return screened_;
  // A finalist's figures are reported: what behaves alike in the original need not do so in it.
  std::vector<Timed> all;
  for (bool held_out : {false, true})
    for (size_t i = 0; i < mep_.instances.size(); ++i)
      if (mep_.instances[i].held_out == held_out) all.push_back({i, mep_.instances[i].weight});
  return all;
}

bool Runner::time(Trial& trial, const std::vector<Timed>& instances, int races_after, int checks_after,
                  Verdict& verdict) {
  RaceRules rules = settings_.race;
  rules.smallest_gain = std::max(kSmallestGain, kNearBest * inquiry_.rival);
  double whole = 0, lost = 0;
  for (auto& timed : instances) whole += timed.weight;
  unsigned cores =
      settings_.trial.threads ? settings_.trial.threads : std::max(1u, std::thread::hardware_concurrency());
  for (size_t at = 0; at < instances.size(); ++at) {
    size_t i = instances[at].instance;
    std::optional<Deadline> until;
    if (inquiry_.confirm) {
      // A finalist's figures are reported: it is measured to the end, not until the winner is known.
      rules.smallest_gain = kSmallestGain;
      rules.first_rounds = rules.most_rounds = confirmation_rounds(settings_.race, report_.instances[i].seconds);
      rules.glance_rounds = rules.first_rounds;
      if (inquiry_.deadline) {
        auto now = Deadline::clock::now();
        auto checks = std::chrono::duration_cast<Deadline::duration>(
            std::chrono::duration<double>(checks_after * check_seconds_));
        auto races = static_cast<int64_t>(instances.size() - at) + races_after;
        until = now + std::max(Deadline::duration::zero(), *inquiry_.deadline - now - checks) / races;
      }
    }
    Race race{rules};
    if (!this->race(trial, i, race, until, verdict)) return false;
    verdict.timings.push_back(timing_of(mep_.instances[i], instances[at].weight, race, settings_.trial.cold));
    double floor = physics_floor(report_.instances[i].fastest_write_seconds, cores);
    // Its fastest launch: a busy machine hides in a median what nothing can do.
    double fastest = race.candidate().empty() ? floor : *std::ranges::min_element(race.candidate());
    if (fastest < floor && verdict.outcome == Outcome::Ok) {
      char text[160];
      std::snprintf(text, sizeof text, "%.3g us, but only writing what it leaves takes %.3g us on this machine",
                    fastest * 1e6, floor * 1e6);
      verdict.outcome = Outcome::Suspect, verdict.detail = text, verdict.instance = mep_.instances[i].id;
      verdict.stage = Stage::Time;
    }
    // Far slower where it was looked at first, or no faster on most of the kernel's time: the rest would only tell by
    // how much.
    if (inquiry_.confirm || race.stopped() != Race::Stop::CannotWin) continue;
    lost += instances[at].weight;
    if (race.speedup().value < rules.hopeless || 2 * lost >= whole) break;
  }
  return verdict.outcome == Outcome::Ok;
}

bool Runner::worth_a_second_look(const Verdict& verdict) const {
  return verdict.speedup_low() > std::max(kSmallestGain, inquiry_.rival);
}

bool Runner::run_trial(const TrialCode& candidate, bool second, Verdict& verdict) {
  auto fail = [&](const TrialFailure& failure) {
    verdict.outcome = failure.outcome, verdict.detail = failure.detail;
    verdict.stage = failure.outcome == Outcome::OverResources ? Stage::Launch : Stage::Load;
    return false;
  };
  auto started = start_trial(&candidate, second);
  if (!started.ok()) return fail({Outcome::LaunchFailed, started.error().message});
  Trial& trial = **started;
  if (auto failure = trial.loaded()) {
    cut_ |= ended();
    return fail(*failure);
  }
  std::vector<Timed> instances = timed();
  // A candidate is verified on everything once; a second look in the search is at what is timed.
  std::vector<size_t> checked;
  if (second)
    for (auto& timed : instances) checked.push_back(timed.instance);
  else
    for (size_t i = 0; i < mep_.instances.size(); ++i) checked.push_back(i);
  auto begin = Deadline::clock::now();
  for (size_t i : checked)
    if (!verify(trial, i, Stage::Verify, verdict)) return false;
  check_seconds_ = seconds_since(begin);
  if (inquiry_.confirm && !second && !verify_perturbed(trial, verdict)) return false;

  voice_.quiet(true);
  int races_after = second ? 0 : static_cast<int>(instances.size()), checks_after = second ? 1 : 3;
  bool good = time(trial, instances, races_after, checks_after, verdict);
  voice_.quiet(false);
  if (!good) return false;
  // Nobody will ever look at a loser's results again.
  if (!inquiry_.confirm && verdict.speedup_low() <= kSmallestGain) return true;
  for (auto& timing : instances) {
    if (verify(trial, timing.instance, Stage::Time, verdict)) continue;
    // It was right before: a result that depends on how often or when it is run is no result.
    if (verdict.outcome == Outcome::Wrong) {
      verdict.outcome = Outcome::Unstable;
      verdict.detail = "right before it was timed, wrong after: " + verdict.detail;
    }
    return false;
  }
  return true;
}

void Runner::look_again(const TrialCode& candidate, Verdict& verdict) {
  auto trial = start_trial(&candidate);
  auto failure =
      trial.ok() ? (*trial)->loaded() : std::optional(TrialFailure{Outcome::LaunchFailed, trial.error().message});
  if (failure) {
    verdict.detail += "; a fresh process, to look again, could not be started: " + failure->detail;
    return;
  }
  Verdict again;
  bool right = true;
  for (size_t i = 0; i < mep_.instances.size() && right; ++i) right = verify(**trial, i, Stage::Verify, again);
  right = right && verify_perturbed(**trial, again);
  if (cut_) return;
  if (!right) {
    verdict.outcome = Outcome::Cheated, verdict.stage = again.stage, verdict.instance = again.instance;
    verdict.detail += "; in a fresh process it is " + std::string(kernelift::name(again.outcome)) + ": " + again.detail;
    verdict.buffer = again.buffer, verdict.index = again.index, verdict.distance = again.distance;
    verdict.expected = again.expected, verdict.got = again.got;
    return;
  }
  verdict.detail += oracle_->cases().empty() ? "; no input could be perturbed, so nothing clears it"
                                             : "; it was right on " + std::to_string(oracle_->cases().size()) +
                                                   " perturbed inputs in a fresh process";
}

std::optional<Verdict> Runner::evaluate(const TrialCode& candidate, const Inquiry& inquiry) {
  inquiry_ = inquiry, cut_ = false;
  Verdict verdict;
  bool good = !ended() && run_trial(candidate, false, verdict);
  if (verdict.outcome == Outcome::Suspect && !cut_) look_again(candidate, verdict);
  if (cut_ || (!good && verdict.outcome == Outcome::Ok)) return std::nullopt;
  if (!good || (!inquiry.confirm && !worth_a_second_look(verdict))) return verdict;
  Verdict second;
  good = run_trial(candidate, true, second);
  if (second.outcome == Outcome::Suspect && !cut_) look_again(candidate, second);
  if (cut_) return std::nullopt;
  if (!good) return second;
  for (size_t i = 0; i < std::min(verdict.timings.size(), second.timings.size()); ++i) {
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

}  // namespace kernelift
