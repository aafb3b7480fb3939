// See racing.h.
#include "sandbox/evaluate/runner/timing/racing.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <numeric>
#include <random>
#include <thread>

#include "core/model/evaluator.h"

namespace kernelift::sandbox {
namespace {

using namespace std::chrono_literals;

/// Share of the best speedup so far below which a candidate will not become a finalist.
constexpr double kNearBest = 0.95;
/// Most launches that are queued at once: a full queue would block the host, which then cannot enforce time limits.
constexpr int kMostQueued = 64;
/// The same of all steps, of which a launch has one per buffer and some others.
constexpr int kMostSteps = 800, kOtherSteps = 5;

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

double Racing::rival_seconds(size_t instance) const {
  const InstanceReport& report = bench_.report.instances[instance];
  return bench_.inquiry.against_application ? report.application_seconds : report.seconds;
}

double Racing::expected_seconds(size_t instance) const {
  auto& known = bench_.report.instances;
  return instance < known.size() && known[instance].seconds > 0 ? known[instance].seconds
                                                                : bench_.run_seconds[instance];
}

void Racing::group_instances() {
  constexpr double kSimilar = 1.5;  // Largest ratio of durations within a group.
  const auto& instances = bench_.mep.instances;
  groups_.clear();
  for (size_t i = 0; i < instances.size(); ++i) {
    if (instances[i].held_out) continue;
    double weight = instances[i].weight, seconds = bench_.report.instances[i].seconds;
    auto is_like = [&](const TimedInstance& known) {
      double other = bench_.report.instances[known.instance].seconds;
      return instances[known.instance].geometry == instances[i].geometry && other < kSimilar * seconds &&
             seconds < kSimilar * other;
    };
    auto group = std::find_if(groups_.begin(), groups_.end(), is_like);
    if (group == groups_.end()) {
      groups_.push_back({i, weight});
      continue;
    }
    if (weight > instances[group->instance].weight) group->instance = i;
    group->weight += weight;
  }
  std::sort(groups_.begin(), groups_.end(),
            [](auto& a, auto& b) { return a.weight != b.weight ? a.weight > b.weight : a.instance < b.instance; });
}

std::vector<TimedInstance> Racing::timed() const {
  if (!bench_.inquiry.confirm) return groups_;
  // A finalist's figures are reported, and instances that take the original equally long may not take it equally long.
  std::vector<TimedInstance> all;
  for (bool held_out : {false, true})
    for (size_t i = 0; i < bench_.mep.instances.size(); ++i)
      if (bench_.mep.instances[i].held_out == held_out) all.push_back({i, bench_.mep.instances[i].weight});
  return all;
}

void Racing::wait_until_calm() {
  constexpr auto kPause = 100ms;
  if (Deadline::clock::now() < clocks_checked_) return;
  look_at_clocks();
  for (int i = 0; i < patience_ && !calm_; ++i) std::this_thread::sleep_for(kPause), look_at_clocks();
  // Throttling that outlasted the wait will probably persist for the next candidate: wait less.
  patience_ = calm_ ? kPatience : patience_ / 2;
}

void Racing::look_at_clocks() {
  constexpr auto kBetweenChecks = 50ms;
  calm_ = !bench_.device.clocks().throttled;
  clocks_checked_ = after(kBetweenChecks);
}

bool Racing::candidate_goes_first(unsigned round) const {
  // On a processor each side has a process, and a launch behind one of its own side finds it warmer: strictly in turn,
  // so that none is. Which side begins changes from program to program.
  if (bench_.device.facts().processor) return candidate_begins_;
  // On a GPU the middle of a queue of launches is slower than its ends by some 30 ns: by the parity of bits (the
  // Thue-Morse sequence) each side is as often inside as outside, in short queues and in long ones.
  return std::popcount(round) % 2 != 0;
}

Samples Racing::time(const LoadedCode& baseline, const LoadedCode& candidate, size_t instance, int rounds, int batch,
                     bool judged) {
  constexpr auto kLead = 25us, kGap = 8us;  // Time for the host to queue the first launch, and each further one.
  constexpr int kLaunchesWorth = 8, kLaunchesToSpare = 6;
  constexpr double kProgramSeconds = 0.25;
  const double pair = 2 * batch * expected_seconds(instance);
  Samples samples;
  launched_ = true;
  const ReplayInstance& memory = bench_.memory->instances()[instance];
  wait_until_calm();
  // While searching, the clock is checked now and then. For finalists and calibration, whose figures are reported or
  // compared with others, it is checked after the last samples as well.
  const bool to_the_end = bench_.inquiry.confirm || &baseline == &candidate;
  for (int taken = 0, sure = 0; taken < rounds;) {
    // Programs are kept short, so that deadlines and throttling are noticed soon.
    const int steps_each = static_cast<int>(memory.regions.size() + memory.variables.size()) + kOtherSteps;
    const int queued = std::min(kMostQueued, kMostSteps / steps_each);
    int most = std::min<int>(queued / (2 * batch), static_cast<int>(kProgramSeconds / std::max(pair, 1e-9)));
    int now = std::clamp(most, 1, rounds - taken);
    Steps steps(*bench_.kernels);
    // A replay runs nothing but the original, and leaves caches as the application's own process would.
    if (!bench_.settings.for_candidates) steps.set_together();
    bench_.memory->restore(steps, instance, false);
    if (judged) trials_.begin(steps, now * batch);
    else baseline.set_up_changed(steps, memory, instance), candidate.set_up_changed(steps, memory, instance);
    steps.hold(kLead);
    std::vector<bool> disturbed;  // By launch: its time does not count.
    for (int round = 0; round < now; ++round)
      for (unsigned side = 0; side < 2; ++side) {
        const bool candidates = candidate_goes_first(rounds_ + static_cast<unsigned>(round)) == (side == 0);
        const LoadedCode& code = candidates ? candidate : baseline;
        for (int i = 0; i < batch; ++i) {
          if (judged) trials_.before(steps, code, candidates);
          else bench_.memory->put_back(steps, instance), code.set_up_changed(steps, memory, instance);
          const bool compared = judged && trials_.compared();
          disturbed.push_back(compared && batch >= kLaunchesToSpare);
          if (bench_.settings.cold) steps.flush_cache();
          steps.hold(kGap);
          steps.begin(disturbed.back());
          code.launch(steps, instance);
          steps.end();
          if (compared) trials_.after(steps, code, candidates);
        }
      }
    if (judged) trials_.finish(steps, candidate);
    DeviceOutcome outcome = steps.run(bench_.settings.launch_limit * std::min(kLaunchesWorth, 2 * now * batch));
    bench_.memory->launched(instance, true);
    if (!outcome.ok()) {
      samples.failure = bench_.failure_of(outcome, instance);
      return samples;
    }
    if (Verdict verdict; judged && !trials_.judge(candidate, verdict)) {
      samples.wrong = std::move(verdict);
      return samples;
    }
    size_t next = 0;
    for (int round = 0; round < now; ++round, ++taken, ++rounds_)
      for (unsigned side = 0; side < 2; ++side) {
        std::vector<double> seconds;
        for (int i = 0; i < batch; ++i, ++next)
          if (!disturbed[next]) seconds.push_back(outcome.seconds[next]);
        (candidate_goes_first(rounds_) == (side == 0) ? samples.candidate : samples.baseline)
            .push_back(bench_.kernels->net(median(seconds)));
      }
    candidate_begins_ = !candidate_begins_;
    const bool last = taken >= rounds;
    if (Deadline::clock::now() >= clocks_checked_ || (last && to_the_end)) look_at_clocks();
    else if (calm_ && !last) continue;
    // Samples taken since the last check without throttling are discarded and retaken; if that does not help (the
    // kernel itself reaches the power limit), they are kept and counted in throttled_.
    if (!calm_ && retakes_ > 0 && patience_ > 0) {
      --retakes_, taken = sure, clocks_checked_ = {};
      samples.baseline.resize(static_cast<size_t>(sure)), samples.candidate.resize(static_cast<size_t>(sure));
      wait_until_calm();
      continue;
    }
    if (!calm_) throttled_ += taken - sure;
    sure = taken;
  }
  return samples;
}

std::optional<RunFailure> Racing::warm_up(std::initializer_list<const LoadedCode*> codes, size_t instance,
                                          int launches) {
  const ReplayInstance& memory = bench_.memory->instances()[instance];
  Steps steps(*bench_.kernels);
  bench_.memory->restore(steps, instance, false);
  for (int i = 0; i < launches; ++i)
    for (auto* code : codes) {
      bench_.memory->put_back(steps, instance);
      code->set_up(steps, memory, instance);
      steps.begin(), code->launch(steps, instance), steps.end();
    }
  DeviceOutcome outcome = steps.run(bench_.settings.launch_limit * launches);
  bench_.memory->launched(instance, true);
  return outcome.ok() ? std::nullopt : std::optional(bench_.failure_of(outcome, instance));
}

bool Racing::glance(const LoadedCode& candidate, size_t instance, double verified, Race& race, Verdict& verdict) {
  constexpr double kFar = 1.5;  // What is less slow may have been disturbed.
  if (verified < kFar * rival_seconds(instance)) return true;
  rounds_ = 0, candidate_begins_ = true;
  // A process is slow at first: this pair is the second launch of either, since the candidate has been verified.
  std::optional<RunFailure> failure = warm_up({&bench_.rival()}, instance, 1);
  Samples samples;
  if (!failure) samples = time(bench_.rival(), candidate, instance, 1, 1), failure = std::move(samples.failure);
  if (failure) return failed(*failure, instance, verdict);
  RaceRules rules;
  rules.early_rounds = 1, rules.hopeless = 1 / kFar, rules.smallest_gain = 1;
  Race look(rules);
  look.add(samples.baseline, samples.candidate);
  if (look.stopped() != Race::Stop::CannotWin) return true;
  race = std::move(look);
  verdict.detail = "given up after one pair of timed launches, since it is far slower than the original";
  return true;
}

bool Racing::failed(const RunFailure& failure, size_t instance, Verdict& verdict) const {
  verdict.outcome = failure.outcome, verdict.detail = failure.detail;
  verdict.stage = Stage::Time, verdict.instance = bench_.mep.instances[instance].id;
  return false;
}

bool Racing::race(const LoadedCode& candidate, size_t instance, Race& race, std::optional<Deadline> until,
                  Verdict& verdict) {
  const int batch = bench_.batch_for(bench_.report.instances[instance].seconds);
  rounds_ = 0, candidate_begins_ = true;
  trials_.begin_race(instance);
  if (const int launches = bench_.plan.of(instance).warm_up)
    if (auto failure = warm_up({&bench_.rival(), &candidate}, instance, launches))
      return failed(*failure, instance, verdict);
  for (int rounds; (rounds = race.next_rounds()) > 0;) {
    auto taken = static_cast<int>(race.baseline().size());
    if (until) {
      const int fewest = bench_.plan.of(instance).fewest_pairs;
      if (taken >= fewest && Deadline::clock::now() >= *until) break;
      // Short programs, since the deadline is checked only between them.
      rounds = std::min(rounds, fewest);
    }
    Samples samples = time(bench_.rival(), candidate, instance, rounds, batch, true);
    if (samples.wrong) {
      verdict = *samples.wrong;
      return false;
    }
    if (samples.failure) return failed(*samples.failure, instance, verdict);
    race.add(samples.baseline, samples.candidate);
    // On an undisturbed GPU the speedup is soon known more precisely than any later decision needs.
    constexpr double kKnown = 0.004;
    bool enough = static_cast<int>(race.baseline().size()) >= bench_.settings.race.first_rounds;
    if (!bench_.inquiry.confirm && enough && race.speedup().relative_width() < kKnown) break;
  }
  return true;
}

void Racing::suspect_below_floor(const Race& race, size_t instance, Verdict& verdict) const {
  const DeviceFacts& facts = bench_.device.facts();
  double floor = physics_floor(bench_.report.instances[instance].fastest_write_seconds, facts.cores);
  // On a processor other programs lengthen the median, which would hide an impossible duration.
  double seconds = median(race.candidate());
  if (facts.processor && !race.candidate().empty()) seconds = *std::ranges::min_element(race.candidate());
  if (seconds >= floor || verdict.outcome != Outcome::Ok) return;
  char text[160];
  std::snprintf(text, sizeof text, "%.3g us, but writing its results alone takes %.3g us on this %s", seconds * 1e6,
                floor * 1e6, facts.processor ? "machine" : "GPU");
  verdict.outcome = Outcome::Suspect, verdict.detail = text;
  verdict.instance = bench_.mep.instances[instance].id, verdict.stage = Stage::Time;
}

Timing Racing::not_timed(const TimedInstance& timed) const {
  Timing timing;
  timing.instance = bench_.mep.instances[timed.instance].id, timing.weight = timed.weight;
  timing.baseline_seconds = timing.seconds = rival_seconds(timed.instance);
  timing.speedup = timing.speedup_high = 1, timing.speedup_low = 1e-6;
  return timing;
}

bool Racing::time_all(const LoadedCode& candidate, const std::vector<TimedInstance>& instances, int races_after,
                      int checks_after, double check_seconds, const std::vector<double>& verified, Verdict& verdict) {
  const Inquiry& inquiry = bench_.inquiry;
  double whole = 0, lost = 0;
  launched_ = false;
  for (auto& timed : instances) whole += timed.weight;
  // A search begins with the heaviest, which may settle it.
  std::vector<size_t> order(instances.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::random_device source;
  if (inquiry.confirm) std::ranges::shuffle(order, source);
  std::vector<std::optional<Timing>> timings(instances.size());
  for (size_t at = 0; at < instances.size(); ++at) {
    const TimedInstance& timed = instances[order[at]];
    size_t i = timed.instance;
    const InstancePlan& plan = bench_.plan.of(i);
    // A finalist's figures are reported: it is measured to the end, not until the winner is known.
    RaceRules rules = inquiry.confirm ? plan.confirming : plan.screening;
    rules.smallest_gain = inquiry.confirm ? kSmallestGain : std::max(kSmallestGain, kNearBest * inquiry.rival);
    std::optional<Deadline> until;
    if (inquiry.confirm && inquiry.deadline) {
      auto now = Deadline::clock::now();
      auto checks =
          std::chrono::duration_cast<Deadline::duration>(std::chrono::duration<double>(checks_after * check_seconds));
      auto races = static_cast<int64_t>(instances.size() - at) + races_after;
      until = now + std::max(Deadline::duration::zero(), *inquiry.deadline - now - checks) / races;
    }
    Race race{rules};
    if (plan.verified_counts && !inquiry.confirm) race.add({rival_seconds(i)}, {verified[i]});
    const bool glances = plan.glances && !inquiry.confirm && i < verified.size();
    if (glances && !glance(candidate, i, verified[i], race, verdict)) return false;
    if (race.stopped() == Race::Stop::None && !this->race(candidate, i, race, until, verdict)) return false;
    timings[order[at]] = timing_of(bench_.mep.instances[i], timed.weight, race, bench_.settings.cold);
    suspect_below_floor(race, i, verdict);
    // Far slower on this instance, or not faster on instances that make up half of the weight: the other instances
    // would only show by how much it loses.
    if (inquiry.confirm || race.stopped() != Race::Stop::CannotWin) continue;
    lost += timed.weight;
    if (race.speedup().value < bench_.settings.race.hopeless || 2 * lost >= whole) break;
  }
  for (size_t at = 0; at < instances.size(); ++at)
    verdict.timings.push_back(timings[at] ? std::move(*timings[at]) : not_timed(instances[at]));
  return true;
}

}  // namespace kernelift::sandbox
