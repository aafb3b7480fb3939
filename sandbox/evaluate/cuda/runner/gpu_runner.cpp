// Judging one candidate on a GPU; see gpu_runner.h. It is verified, timed against the original in turns, and verified
// again in the same image. A whole verification (restore, launch, canaries, comparison) is one program and one wait.
#include "sandbox/evaluate/cuda/runner/gpu_runner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>

#include "core/model/evaluator.h"

namespace kernelift {
namespace {

using namespace std::chrono_literals;

/// A finalist is measured for so long on an instance; never with so few samples that they give no interval.
constexpr double kConfirmSeconds = 0.5;
constexpr int kFewestRounds = 6;
/// Who stays below this share of the best so far will not be a finalist.
constexpr double kNearBest = 0.95;
/// A sample much shorter than this is mostly the clock's grain.
constexpr double kSampleSeconds = 50e-6;
constexpr int kMostLaunches = 16;
/// Longest list of launches that is queued at once: a full queue would block the host, which then cannot watch the
/// clock.
constexpr int kMostQueued = 64;

int confirmation_rounds(const RaceRules& rules, double seconds) {
  double pair = 2 * std::max(seconds, 1e-6);
  return std::clamp(static_cast<int>(kConfirmSeconds / pair), std::min(kFewestRounds, rules.most_rounds),
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

Result<std::unique_ptr<GpuRunner>> GpuRunner::create(Device& device, const Mep& mep,
                                                     const std::filesystem::path& folder,
                                                     const GpuRunnerSettings& settings,
                                                     std::function<void(const std::string&)> announce) {
  std::unique_ptr<GpuRunner> runner(new GpuRunner(device, mep, settings));
  runner->announce_ = std::move(announce);
  KERNELIFT_ASSIGN(runner->support_, Support::load(device));
  KERNELIFT_ASSIGN(runner->memory_, GpuMemory::place(device, mep, folder));
  return runner;
}

bool GpuRunner::ended() const { return inquiry_.deadline && Deadline::clock::now() >= *inquiry_.deadline; }

int GpuRunner::batch_for(double seconds) const {
  return seconds > 0 ? std::clamp(static_cast<int>(std::ceil(kSampleSeconds / seconds)), 1, kMostLaunches) : 1;
}

TrialFailure GpuRunner::failure_of(const DeviceOutcome& outcome) {
  usable_ = usable_ && outcome.usable();
  // What was queued before the fault may or may not have happened.
  for (size_t i = 0; i < memory_->instances().size(); ++i) memory_->launched(i, true);
  switch (outcome.fault) {
    case DeviceFault::LaunchRefused: return {Outcome::LaunchFailed, outcome.detail};
    case DeviceFault::OverResources: return {Outcome::OverResources, outcome.detail};
    case DeviceFault::TimedOut: return {Outcome::TimedOut, outcome.detail};
    case DeviceFault::Lost: lost_ = true; return {Outcome::LaunchFailed, "the GPU itself failed: " + outcome.detail};
    default: return {Outcome::Crashed, outcome.detail};
  }
}

GpuRunner::Judged GpuRunner::run(const GpuCode& code, Place place, Before before, bool detailed) {
  Judged judged;
  const GpuInstance& instance = memory_->instances()[place.memory];
  Steps steps(*support_);
  memory_->restore(steps, place.memory, before == Before::Poisoned);
  if (before == Before::Stale) memory_->make_stale(steps, place.memory, place.instance);
  code.set_up(steps, instance, place.instance, false);
  steps.begin();
  code.launch(steps, place.instance);
  steps.end();
  code.take_down(steps, place.instance);
  size_t rows = 1;
  for (auto* buffers : {&instance.regions, &instance.variables})
    for (auto& buffer : *buffers) rows += buffer.rows.size();
  if (rows > Support::kFindings) {
    judged.failure = TrialFailure{Outcome::Refused, "its buffers have " + std::to_string(rows) + " fields; at most " +
                                                        std::to_string(Support::kFindings) + " can be compared"};
    return judged;
  }
  steps.clear_findings(rows);
  size_t at = memory_->compare(steps, place.memory);
  code.check_scratch(steps, place.instance);
  for (size_t v = 0; v < instance.variables.size(); ++v) {
    const GpuBuffer& variable = instance.variables[v];
    for (size_t row = 0; row < variable.rows.size(); ++row, ++at)
      // A variable that the image does not have is as it was given.
      steps.compare(variable.rows[row], variable.tolerance(row), variable.answer,
                    code.variable(place.instance, v) ? code.variable(place.instance, v) : variable.given, at);
  }
  DeviceOutcome outcome = steps.run(settings_.launch_limit);
  if (!outcome.ok()) {
    judged.failure = failure_of(outcome);
    return judged;
  }
  memory_->launched(place.memory, false);
  judged.seconds = support_->net(outcome.seconds[0]);
  auto found = support_->read_findings(rows);
  if (!found.ok()) {
    judged.failure = TrialFailure{Outcome::Crashed, found.error().message}, usable_ = false;
    return judged;
  }
  if (found->front().address != judging::kNone) {
    memory_->launched(place.memory, true);
    std::string where = code.near_scratch(place.instance, found->front().address);
    judged.failure = TrialFailure{Outcome::WroteOutside,
                                  where.empty() ? memory_->neighbourhood(place.memory, found->front().address) : where};
    return judged;
  }
  for (auto& finding : *found)
    judged.largest_ulps = std::max(judged.largest_ulps, judging::from_bits(finding.largest_ulps));
  bool clean = std::all_of(found->begin(), found->end(), [](auto& finding) { return finding.mismatches == 0; });
  if (!clean) memory_->launched(place.memory, true);
  size_t next = 1;
  for (size_t i = 0; i < instance.regions.size(); ++i)
    for (size_t row = 0; row < instance.regions[i].rows.size(); ++row)
      if ((*found)[next++].largest_ulps != 0) memory_->altered(place.memory, i), judged.altered.insert(i);
  if (clean && !detailed) return judged;
  if (auto described = describe(code, place, *found, judged); !described.ok())
    judged.failure = TrialFailure{Outcome::Crashed, described.error().message}, usable_ = false;
  return judged;
}

std::optional<Mismatch> GpuRunner::first_mismatch(const GpuBuffer& buffer, size_t row_index, uint64_t live,
                                                  uint64_t index) {
  const Row& row = buffer.rows[row_index];
  uint64_t each = judging::kNeighbourhoodBytes / row.type.width, begin = index / each * each;
  uint64_t count = std::min(each, row.count - begin), bytes = (count - 1) * row.stride + row.type.width;
  std::vector<std::byte> expected(bytes), got(bytes), left(count * row.type.width), right(left.size());
  uint64_t offset = row.offset + begin * row.stride;
  if (!device_.read(buffer.answer + offset, expected).ok() || !device_.read(live + offset, got).ok())
    return std::nullopt;
  for (uint64_t i = 0; i < count; ++i) {
    std::copy_n(&expected[i * row.stride], row.type.width, &left[i * row.type.width]);
    std::copy_n(&got[i * row.stride], row.type.width, &right[i * row.type.width]);
  }
  Comparison comparison = Comparator(row.type, buffer.tolerance(row_index)).compare(left, right);
  if (!comparison.first) return std::nullopt;
  Mismatch first = *comparison.first;
  first.index += begin, first.offset = row.offset + first.index * row.stride;
  return first;
}

bool GpuRunner::is_nearer(const GpuBuffer& buffer, uint64_t live) {
  if (buffer.yardstick.nearer.empty()) return false;
  std::vector<std::byte> answer(buffer.size), got(buffer.size);
  if (!device_.read(buffer.answer, answer).ok() || !device_.read(live, got).ok()) return false;
  return buffer.yardstick.compare(answer, got).ok();
}

Status GpuRunner::describe(const GpuCode& code, Place place, const std::vector<judging::Finding>& found,
                           Judged& judged) {
  const GpuInstance& instance = memory_->instances()[place.memory];
  size_t at = 1;
  auto report = [&](const GpuBuffer& buffer, uint64_t live) {
    BufferReport made;
    made.name = buffer.name, made.bytes = buffer.size, made.changed = buffer.changed(),
    made.tolerance = buffer.yardstick.text();
    made.written = made.changed;
    uint64_t mismatches = 0, elements = 0;
    std::optional<Mismatch> first;
    double worst = 0;
    for (size_t row = 0; row < buffer.rows.size(); ++row, ++at) {
      elements += buffer.rows[row].count;
      const judging::Finding& finding = found[at];
      made.exact &= finding.mismatches == 0 && finding.largest_ulps == 0;
      if (finding.mismatches == 0) continue;
      mismatches += finding.mismatches;
      worst = std::max<double>(worst, judging::float_from_bits(static_cast<uint32_t>(finding.worst >> 32) - 1));
      auto mismatch = first_mismatch(buffer, row, live, finding.first);
      if (mismatch && (!first || mismatch->offset < first->offset)) first = mismatch;
    }
    if (mismatches > 0 && !is_nearer(buffer, live)) {
      char text[256];
      std::snprintf(
          text, sizeof text, "%llu of %llu elements differ; first [%llu] expected %s, got %s; furthest by %.4g",
          (unsigned long long)mismatches, (unsigned long long)elements, first ? (unsigned long long)first->index : 0,
          first ? first->expected.c_str() : "?", first ? first->got.c_str() : "?", worst);
      made.pass = false, made.detail = text;
      if (!judged.first) judged.first = first.value_or(Mismatch{}), judged.bad_buffer = judged.buffers.size();
    }
    judged.buffers.push_back(std::move(made));
  };
  for (auto& region : instance.regions) report(region, region.live);
  for (size_t v = 0; v < instance.variables.size(); ++v) {
    uint64_t own = code.variable(place.instance, v);
    report(instance.variables[v], own ? own : instance.variables[v].given);
  }
  return done();
}

bool GpuRunner::verify(const GpuCode& code, Place place, Stage stage, Verdict& verdict, Before before) {
  Judged judged = run(code, place, before, false);
  verdict.largest_ulps = std::max(verdict.largest_ulps.value_or(0), judged.largest_ulps);
  if (!judged.failure && !judged.first) return true;
  verdict.stage = stage, verdict.instance = mep_.instances[place.instance].id;
  if (judged.failure) {
    verdict.outcome = judged.failure->outcome, verdict.detail = judged.failure->detail;
    if (verdict.outcome == Outcome::LaunchFailed || verdict.outcome == Outcome::OverResources)
      verdict.stage = Stage::Launch;
    return false;
  }
  const BufferReport& buffer = judged.buffers[judged.bad_buffer];
  verdict.outcome = Outcome::Wrong, verdict.buffer = buffer.name;
  verdict.index = judged.first->index, verdict.expected = judged.first->expected, verdict.got = judged.first->got;
  verdict.distance = judged.first->distance;
  auto& regions = memory_->instances()[place.memory].regions;
  bool written = judged.bad_buffer < regions.size() ? regions[judged.bad_buffer].output() : buffer.changed;
  verdict.detail = buffer.detail.substr(0, buffer.detail.find(';')) +
                   (buffer.tolerance != "exact" ? " by more than " + buffer.tolerance : "") +
                   (written ? "" : "; the original does not write this buffer");
  return false;
}

void GpuRunner::wait_until_calm() {
  constexpr auto kPause = 100ms;
  if (Deadline::clock::now() < clocks_checked_) return;
  look_at_clocks();
  for (int i = 0; i < patience_ && !calm_; ++i) std::this_thread::sleep_for(kPause), look_at_clocks();
  // What did not pass while it was waited for will hardly pass for the next candidate.
  patience_ = calm_ ? kPatience : patience_ / 2;
}

void GpuRunner::look_at_clocks() {
  constexpr auto kBetweenChecks = 50ms;
  calm_ = !device_.clocks().throttled;
  clocks_checked_ = after(kBetweenChecks);
}

GpuRunner::Samples GpuRunner::time(const GpuCode& baseline, const GpuCode& candidate, size_t instance, int rounds,
                                   int batch) {
  constexpr auto kLead = 25us, kGap = 8us;  // What the host needs to queue a first launch, and a further one.
  constexpr int kLaunchesWorth = 8;
  Samples samples;
  const GpuInstance& memory = memory_->instances()[instance];
  wait_until_calm();
  // A search looks at the clocks now and then; figures that are reported or held against others rest on samples after
  // which, too, nothing held the clock down.
  const bool to_the_end = inquiry_.confirm || &baseline == &candidate;
  for (int taken = 0, sure = 0; taken < rounds;) {
    int now = std::clamp(kMostQueued / (2 * batch), 1, rounds - taken);
    Steps steps(*support_);
    memory_->restore(steps, instance, false);
    baseline.set_up(steps, memory, instance, false), candidate.set_up(steps, memory, instance, false);
    steps.hold(kLead);
    for (int round = 0; round < now; ++round)
      for (int turn = 0; turn < 2; ++turn) {
        // Who goes first changes, so that neither always follows the other.
        const GpuCode& code = (taken + round) % 2 == turn ? baseline : candidate;
        for (int i = 0; i < batch; ++i) {
          memory_->put_back(steps, instance);
          code.set_up(steps, memory, instance, true);
          if (settings_.cold) steps.flush_cache();
          steps.hold(kGap);
          steps.begin();
          code.launch(steps, instance);
          steps.end();
        }
      }
    DeviceOutcome outcome = steps.run(settings_.launch_limit * std::min(kLaunchesWorth, 2 * now * batch));
    memory_->launched(instance, true);
    if (!outcome.ok()) {
      samples.failure = failure_of(outcome);
      return samples;
    }
    const double* next = outcome.seconds.data();
    for (int round = 0; round < now; ++round, ++taken)
      for (int turn = 0; turn < 2; ++turn, next += batch)
        (taken % 2 == turn ? samples.baseline : samples.candidate)
            .push_back(support_->net(median({next, static_cast<size_t>(batch)})));
    const bool last = taken >= rounds;
    if (Deadline::clock::now() >= clocks_checked_ || (last && to_the_end)) look_at_clocks();
    else if (calm_ && !last) continue;
    // What was taken since the clock was last seen to be free is discarded and taken again; where that does not help (a
    // limit of power that the kernel itself meets), it is kept and marked.
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

bool GpuRunner::race(const GpuCode& candidate, size_t instance, Race& race, std::optional<Deadline> until,
                     Verdict& verdict) {
  int batch = batch_for(report_.instances[instance].seconds);
  for (int rounds; (rounds = race.next_rounds()) > 0;) {
    if (until && Deadline::clock::now() >= *until && static_cast<int>(race.baseline().size()) >= kFewestRounds) break;
    Samples samples = time(rival(), candidate, instance, rounds, batch);
    if (samples.failure) {
      verdict.outcome = samples.failure->outcome, verdict.detail = samples.failure->detail;
      verdict.stage = Stage::Time, verdict.instance = mep_.instances[instance].id;
      return false;
    }
    race.add(samples.baseline, samples.candidate);
    // On a quiet GPU a speedup is soon known better than any later choice asks for, above the bar or below it.
    constexpr double kKnown = 0.004;
    bool enough = static_cast<int>(race.baseline().size()) >= settings_.race.first_rounds;
    if (!inquiry_.confirm && enough && race.speedup().relative_width() < kKnown) break;
  }
  return true;
}

bool GpuRunner::time_all(const GpuCode& candidate, const std::vector<size_t>& instances, Verdict& verdict) {
  RaceRules rules = settings_.race;
  rules.smallest_gain = std::max(kSmallestGain, kNearBest * inquiry_.rival);
  double whole = 0, lost = 0;
  for (size_t i : instances) whole += mep_.instances[i].weight;
  for (size_t at = 0; at < instances.size(); ++at) {
    size_t i = instances[at];
    std::optional<Deadline> until;
    if (inquiry_.confirm) {
      // A finalist's figures are reported: it is measured to the end, not until the winner is known.
      rules.smallest_gain = kSmallestGain;
      rules.first_rounds = rules.most_rounds = confirmation_rounds(settings_.race, report_.instances[i].seconds);
      rules.glance_rounds = rules.first_rounds;
      if (auto now = Deadline::clock::now(); inquiry_.deadline)
        until = now + (*inquiry_.deadline - now) / static_cast<int64_t>(instances.size() - at + 1);
    }
    Race race{rules};
    if (!this->race(candidate, i, race, until, verdict)) return false;
    verdict.timings.push_back(timing_of(mep_.instances[i], race, settings_.cold));
    double floor = physics_floor(report_.instances[i].fastest_write_seconds, 1);
    if (verdict.timings.back().seconds < floor && verdict.outcome == Outcome::Ok) {
      char text[160];
      std::snprintf(text, sizeof text, "%.3g us, but only writing what it leaves takes %.3g us on this GPU",
                    verdict.timings.back().seconds * 1e6, floor * 1e6);
      verdict.outcome = Outcome::Suspect, verdict.detail = text;
      verdict.instance = mep_.instances[i].id, verdict.stage = Stage::Time;
    }
    if (inquiry_.confirm || race.stopped() != Race::Stop::CannotWin) continue;
    lost += mep_.instances[i].weight;
    if (race.speedup().value < rules.hopeless || 2 * lost >= whole) break;
  }
  return true;
}

bool GpuRunner::knows_perturbed(Verdict& verdict) {
  ask_perturbed();
  if (usable_) return true;
  verdict = {};
  verdict.outcome = Outcome::Crashed, verdict.stage = Stage::Verify;
  verdict.detail = "the original itself ended on perturbed inputs";
  return false;
}

bool GpuRunner::verify_perturbed(const GpuCode& code, Verdict& verdict, size_t& tried) {
  if (!knows_perturbed(verdict)) return false;
  for (Place place : perturbed_) {
    for (Before before : {Before::Poisoned, Before::Stale}) {
      Verdict seen;
      if (verify(code, place, Stage::Verify, seen, before)) continue;
      seen.detail = "on perturbed inputs" +
                    std::string(before == Before::Stale ? ", with an old answer in place: " : ": ") + seen.detail;
      verdict = seen;
      return false;
    }
    ++tried;
  }
  return true;
}

bool GpuRunner::judge(const GpuCode& candidate, Verdict& verdict) {
  for (size_t i = 0; i < mep_.instances.size(); ++i)
    if (!verify(candidate, {i, i}, Stage::Verify, verdict)) return false;
  size_t perturbed = 0;
  if (inquiry_.confirm && !verify_perturbed(candidate, verdict, perturbed)) return false;
  if (ended()) return false;
  std::vector<size_t> timed;
  for (size_t i = 0; i < mep_.instances.size(); ++i)
    if (inquiry_.confirm || !mep_.instances[i].held_out) timed.push_back(i);
  std::sort(timed.begin(), timed.end(), [&](size_t a, size_t b) { return heavier(mep_, a, b); });
  if (!time_all(candidate, timed, verdict)) return false;
  if (verdict.outcome == Outcome::Suspect) {
    if (!knows_perturbed(verdict)) return false;
    Verdict again;
    if (!verify_perturbed(candidate, again, perturbed)) {
      std::string faster = verdict.detail;
      verdict = again;
      verdict.outcome = Outcome::Cheated;
      verdict.detail = faster + "; and it is " + name(again.outcome) + " " + again.detail;
    } else {
      verdict.detail += perturbed ? "; it was right on " + std::to_string(perturbed) + " perturbed inputs"
                                  : "; no input could be perturbed, so nothing clears it";
    }
    return false;
  }
  // Nobody will ever look at a loser's results again.
  if (!inquiry_.confirm && verdict.speedup_low() <= kSmallestGain) return true;
  for (size_t i : timed) {
    if (verify(candidate, {i, i}, Stage::Time, verdict)) continue;
    // It was right before: a result that depends on how often or when it is run is no result.
    if (verdict.outcome == Outcome::Wrong) {
      verdict.outcome = Outcome::Unstable;
      verdict.detail = "right before it was timed, wrong after: " + verdict.detail;
    }
    return false;
  }
  return true;
}

std::optional<Evaluation> GpuRunner::evaluate(const TrialCode& candidate, const Inquiry& inquiry) {
  inquiry_ = inquiry, throttled_ = 0, retakes_ = kRetakes;
  Verdict verdict;
  verdict.stage = Stage::Time;
  if (ended()) return std::nullopt;
  if (inquiry.against_application && !application_) {
    // Raced against our build instead, the figure would be taken for one against the application.
    verdict.outcome = Outcome::Unstable, verdict.detail = "the application's code is not known in this process";
    return verdict;
  }
  GpuCode code;
  if (auto failure = code.load(device_, *memory_, mep_, candidate)) {
    verdict.outcome = failure->outcome, verdict.detail = failure->detail;
    verdict.stage = failure->outcome == Outcome::OverResources ? Stage::Launch : Stage::Load;
    return verdict;
  }
  judge(code, verdict);
  // Any candidate might have met it.
  if (lost_) return NotJudged{verdict.detail.empty() ? "the GPU itself failed" : verdict.detail};
  if (throttled_ > 0) {
    verdict.throttled_samples = throttled_;
    verdict.detail += (verdict.detail.empty() ? "" : "; ") + std::to_string(throttled_) +
                      " of its samples were taken while the GPU's clock was held down, which did not pass";
  }
  if (verdict.ok() && verdict.timings.empty()) return std::nullopt;
  verdict.resources = code.resources();
  return verdict;
}

}  // namespace kernelift
