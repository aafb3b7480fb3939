// What the original teaches about itself, before any candidate is judged. For every instance it is run
//   twice as recorded     does it reproduce the capture, and how far apart are two runs of it? Quick ones once more on
//                         another number of cores, where blocks come in another order: a race may be won the same way
//                         twice; and some times more where only rounding differs
//   compiled otherwise    how far does rounding alone move its results (judge/rounding_envelope.h)? Where are its
//                         exact sums, if what it leaves is far from them (judge/nearer_reference.h)?
//   with outputs poisoned which bytes does it write whatever was there? Those are poisoned before every
//                         verification, so
//                         that a candidate which does not write them cannot pass on what an earlier run left behind
//   a few times timed     how long is a launch, how long may a candidate take?
// "Changed" is not "written": a byte that the capture shows unchanged may still be an output. Poisoning a whole buffer
// with two different patterns tells: an element that ends as the recorded answer under both was written without being
// read, one that keeps each pattern was not touched, and anything else means that the buffer's old content matters. So
// whatever may be written is tried, though it never changed (written_regions.h); where nothing of it was, it is an
// input.
#include <algorithm>
#include <cstring>
#include <limits>

#include "sandbox/evaluate/cpu/runner.h"
#include "sandbox/judge/rounding_envelope.h"

namespace kernelift {
namespace {

constexpr std::byte kPatterns[] = {std::byte{0xc5}, std::byte{0x3a}};
constexpr size_t kMostRanges =
    1 << 20;  // Scattered writes beyond this are left unpoisoned: the list would outgrow the buffer.
constexpr uint64_t kBlock = 256;  // Grain of what is put back between timed launches.
constexpr int kCalibrationRounds = 7, kSlowRounds = 3, kLongRounds = 1;
constexpr int kRuns = 1, kRunsIfVarying = 15;  // Of the original beside the first, and one on other cores.
constexpr double kPatience = 20;               // What is many times slower than the original need not be waited for.
constexpr std::chrono::milliseconds kLeastLimit{1000};
constexpr std::chrono::milliseconds kLeastOnPoison{10'000};  // Which may lead the original astray for ever.

std::chrono::milliseconds times(double factor, double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * factor * 1e3));
}

enum : uint8_t { kWritten = 1, kUntouched = 2 };

std::span<const std::byte> live(const MemoryRegion& region) { return {region.live(), region.size}; }

std::vector<ByteRange> ranges_of(const std::vector<uint8_t>& states, uint32_t width, uint64_t size) {
  std::vector<ByteRange> ranges;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i] != kWritten) continue;
    uint64_t begin = i * width, end = std::min<uint64_t>(begin + width, size);
    if (!ranges.empty() && ranges.back().end == begin) ranges.back().end = end;
    else ranges.push_back({begin, end});
    if (ranges.size() > kMostRanges) return {};
  }
  return ranges;
}

/// Blocks in which the original's result differs from what was given, neighbours joined.
std::vector<ByteRange> changed_blocks(const MemoryRegion& region, std::span<const std::byte> result) {
  std::vector<ByteRange> ranges;
  for (uint64_t begin = 0; begin < region.size; begin += kBlock) {
    uint64_t end = std::min(region.size, begin + kBlock);
    if (std::memcmp(region.given + begin, &result[begin], end - begin) == 0) continue;
    if (!ranges.empty() && ranges.back().end + kBlock >= begin) ranges.back().end = end;
    else ranges.push_back({begin, end});
  }
  return ranges;
}

uint64_t bytes_of(const std::vector<ByteRange>& ranges) {
  uint64_t all = 0;
  for (auto& range : ranges) all += range.size();
  return all;
}

/// True if every byte that changed is in `written` (sorted).
bool covered(const MemoryRegion& region, std::span<const std::byte> result) {
  size_t next = 0;
  for (uint64_t at = 0; at < region.size; ++at) {
    if (region.given[at] == result[at]) continue;
    while (next < region.written.size() && region.written[next].end <= at) ++next;
    if (next == region.written.size() || region.written[next].begin > at) return false;
  }
  return true;
}

/// After a run on `region` full of `pattern`: `states` keeps what still holds of each element. False: of one nothing
/// does.
bool classify(const MemoryRegion& region, std::span<const std::byte> result, std::byte pattern,
              std::vector<uint8_t>& states) {
  // Of a large buffer a launch may write a few elements only: whole blocks are told at once.
  const size_t width = region.yardstick.layout.stride, each = std::max<size_t>(1, kNeighbourhood / width);
  auto holds_pattern = [&](const std::byte* at, size_t bytes) {
    return *at == pattern && std::memcmp(at, at + 1, bytes - 1) == 0;
  };
  for (size_t begin = 0; begin < states.size(); begin += each) {
    size_t end = std::min(states.size(), begin + each), bytes = (end - begin) * width;
    const std::byte *now = region.live() + begin * width, *expected = &result[begin * width];
    bool same = std::memcmp(expected, now, bytes) == 0, untouched = holds_pattern(now, bytes);
    if (same != untouched && !std::memchr(expected, static_cast<int>(pattern), bytes)) {
      for (size_t i = begin; i < end; ++i)
        if ((states[i] &= same ? kWritten : kUntouched) == 0) return false;
      continue;
    }
    for (size_t i = begin; i < end; ++i, now += width, expected += width) {
      bool kept = holds_pattern(now, width);
      // What kept the pattern is not looked at within a tolerance: an answer so near to it is none.
      bool written = std::memcmp(expected, now, width) == 0 ||
                     (!kept && region.yardstick.compare({expected, width}, {now, width}).ok());
      if ((states[i] &= (written ? kWritten : 0) | (kept ? kUntouched : 0)) == 0) return false;
    }
  }
  return true;
}

double seconds_since(Deadline begin) { return std::chrono::duration<double>(Deadline::clock::now() - begin).count(); }

double fastest_write(uint64_t bytes) {
  if (bytes == 0) return 0;
  std::vector<std::byte> buffer(bytes);
  double best = 1e9;
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; ++i) {
    auto begin = std::chrono::steady_clock::now();
    std::memset(buffer.data(), i + 1, bytes);
    asm volatile("" ::"r"(buffer.data()) : "memory");
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace

void Runner::group_instances() {
  // Launches of one geometry that take about as long behave alike: one of them tells whether a candidate is worth more.
  constexpr double kAlike = 1.5;
  screened_.clear();
  for (size_t i = 0; i < mep_.instances.size(); ++i) {
    if (mep_.instances[i].held_out) continue;
    double weight = mep_.instances[i].weight, seconds = report_.instances[i].seconds;
    auto alike = [&](const Timed& known) {
      double other = report_.instances[known.instance].seconds;
      return mep_.instances[known.instance].geometry == mep_.instances[i].geometry && other < kAlike * seconds &&
             seconds < kAlike * other;
    };
    auto group = std::find_if(screened_.begin(), screened_.end(), alike);
    if (group == screened_.end()) screened_.push_back({i, weight});
    else {
      if (weight > mep_.instances[group->instance].weight) group->instance = i;
      group->weight += weight;
    }
  }
  std::sort(screened_.begin(), screened_.end(),
            [](auto& a, auto& b) { return a.weight != b.weight ? a.weight > b.weight : a.instance < b.instance; });
}

Runner::Results Runner::snapshot(size_t instance) const {
  Results copies;
  for (auto& region : memory_->instances()[instance].regions) {
    copies.emplace_back();
    if (std::memcmp(region.live(), region.given, region.size) != 0)
      copies.back().assign(region.live(), region.live() + region.size);
  }
  for (auto& variable : memory_->instances()[instance].variables) {
    auto value = memory_->mirror().subspan(variable.mirror_offset, variable.size);
    copies.emplace_back(value.begin(), value.end());
  }
  return copies;
}

std::span<const std::byte> Runner::result(size_t instance, size_t index, const Results& results) const {
  if (!results[index].empty()) return results[index];
  auto& memory = memory_->instances()[instance];
  if (index < memory.regions.size()) return {memory.regions[index].given, memory.regions[index].size};
  return {};  // A variable of no size.
}

std::optional<FloatTolerance> Runner::user_tolerance() const {
  Tolerance wanted = settings_.tolerance.value_or(mep_.tolerance);
  if (wanted.relative <= 0 && wanted.absolute <= 0) return std::nullopt;
  return FloatTolerance::given(wanted.relative, wanted.absolute);
}

std::string Runner::set_tolerances(size_t instance, const Results& first, const Results& other, bool& varies) {
  const std::optional<FloatTolerance> given = user_tolerance();
  std::string unsteady;
  std::vector<std::byte> left, right;
  auto derive = [&](Yardstick& yardstick, size_t index, const std::string& name) {
    const bool same = first[index].empty() && other[index].empty();
    const std::span<const std::byte> one = same ? std::span<const std::byte>() : result(instance, index, first),
                                     two = same ? std::span<const std::byte>() : result(instance, index, other);
    const ElementLayout& layout = yardstick.layout;
    uint64_t differing = 0;
    for (size_t lane = 0; lane < layout.lanes.size(); ++lane) {
      const ElementType& type = layout.lanes[lane].type;
      FloatTolerance& tolerance = yardstick.tolerances[lane];
      if (given) tolerance = *given;
      auto once = lane_bytes(layout, lane, one, left), again = lane_bytes(layout, lane, two, right);
      Comparison apart = Comparator(type, given ? tolerance : FloatTolerance::between_runs(type)).compare(once, again);
      differing = std::max(differing, apart.mismatches);
      if (!type.is_float()) continue;
      varies |= apart.largest_ulps > 0;
      if (given || apart.largest_ulps == 0) continue;
      RoundingEnvelope envelope(type);
      envelope.add(once, again);
      envelope.spread().grant_of_runs(tolerance);
    }
    if (differing > 0 && unsteady.empty()) unsteady = does_not_repeat(name, differing, one.size() / layout.stride);
  };
  InstanceMemory& memory = memory_->instances()[instance];
  size_t index = 0;
  for (auto& region : memory.regions) derive(region.yardstick, index++, region.name);
  for (auto& variable : memory.variables) derive(variable.yardstick, index++, variable.key);
  return unsteady;
}

Result<std::optional<Runner::Results>> Runner::run_on_other_cores(size_t instance) {
  TrialSettings otherwise = settings_.trial;
  otherwise.threads = otherwise.threads == 1 ? 2 : 1;
  KERNELIFT_ASSIGN(auto trial, Trial::start(mep_, *memory_, baseline_, nullptr, otherwise));
  trial->end_when([this] { return ended(); });
  memory_->restore(instance, false);
  if (trial->loaded() || trial->run(Side::Baseline, instance)) return std::optional<Results>();
  return std::optional(snapshot(instance));
}

Status Runner::took(size_t instance, double seconds) {
  bool known = run_seconds_[instance] > 0;
  run_seconds_[instance] = known ? std::min(run_seconds_[instance], seconds) : seconds;
  if (known || !is_long(instance)) return done();
  const std::string& id = mep_.instances[instance].id;
  voice_.tell(takes_long(id, seconds));
  size_t roundings = std::min(kLongRoundings, roundings_.ways.size()),
         patterns = std::size(kPatterns) * poisoned(instance).size();
  return enough_time(id, seconds, roundings + kRuns + 1 + patterns + 2 * kLongRounds,
                     settings_.for_candidates ? inquiry_.deadline : std::nullopt);
}

void Runner::each_answer(
    size_t instance,
    const std::function<void(size_t, Yardstick&, std::span<const std::byte>, std::span<const std::byte>)>& visit) {
  InstanceMemory& memory = memory_->instances()[instance];
  size_t index = 0;
  for (auto& region : memory.regions) visit(index++, region.yardstick, {region.answer, region.size}, live(region));
  for (auto& variable : memory.variables)
    visit(index++, variable.yardstick, {variable.answer, variable.size},
          memory_->mirror().subspan(variable.mirror_offset, variable.size));
}

Status Runner::run_rounded(const std::string& image, const std::function<bool(size_t)>& wanted,
                           const std::function<void(size_t)>& learn) {
  TrialCode code = baseline_;
  code.image = image;
  // A way of rounding that does not load or run says nothing; the others still do.
  auto trial = start_trial(&code);
  if (!trial.ok() || (*trial)->loaded()) return done();
  for (size_t i = 0; i < mep_.instances.size() && !ended(); ++i) {
    if (!wanted(i)) continue;
    memory_->restore(i, false);
    if ((*trial)->run(Side::Candidate, i)) break;
    KERNELIFT_TRY(took(i, (*trial)->last_seconds()));
    learn(i);
  }
  return done();
}

Status Runner::add_envelopes() {
  if (user_tolerance()) return done();
  std::vector<std::vector<LaneEnvelopes>> all(mep_.instances.size());
  for (size_t i = 0; i < all.size(); ++i)
    each_answer(i, [&](size_t, Yardstick& yardstick, auto, auto) { all[i].emplace_back(yardstick.layout); });
  const size_t most = roundings_of_long(settings_.for_candidates);
  for (size_t way = 0; way < roundings_.ways.size(); ++way) {
    if (way >= most && std::ranges::all_of(run_seconds_, [](double seconds) { return seconds > kLongSeconds; })) break;
    // All of it, also what holds the same before and after: a later launch on equal inputs writes what is there
    // already.
    auto learn = [&](size_t i) {
      each_answer(i, [&](size_t at, Yardstick&, auto answer, auto got) { all[i][at].add(answer, got); });
    };
    KERNELIFT_TRY(run_rounded(roundings_.ways[way], [&](size_t i) { return !is_long(i) || way < most; }, learn));
  }
  for (size_t i = 0; i < all.size(); ++i)
    each_answer(i, [&](size_t at, Yardstick& yardstick, auto, auto) { all[i][at].grant(yardstick); });
  return done();
}

Status Runner::add_nearer_references() {
  if (user_tolerance() || roundings_.at_random.empty()) return done();
  std::vector<std::vector<LaneReferences>> all(mep_.instances.size());
  for (size_t i = 0; i < all.size(); ++i)
    each_answer(i, [&](size_t, Yardstick& yardstick, auto, auto) { all[i].emplace_back(yardstick.layout); });
  auto learn = [&](size_t i) {
    each_answer(i, [&](size_t at, Yardstick&, auto answer, auto got) { all[i][at].add(answer, got); });
  };
  for (auto& image : roundings_.at_random)
    KERNELIFT_TRY(run_rounded(image, [&](size_t i) { return !is_long(i); }, learn));
  for (size_t i = 0; i < all.size(); ++i)
    each_answer(i, [&](size_t at, Yardstick& yardstick, auto answer, auto) { all[i][at].grant(answer, yardstick); });
  return done();
}

bool Runner::consistent_under_poison(size_t instance, size_t poisoned, const Results& results) {
  auto& regions = memory_->instances()[instance].regions;
  for (size_t i = 0; i < regions.size(); ++i) {
    if (i == poisoned) continue;
    if (!regions[i].yardstick.compare(result(instance, i, results), live(regions[i])).ok()) return false;
  }
  return true;
}

std::vector<size_t> Runner::poisoned(size_t instance) const {
  return to_poison(memory_->instances()[instance].regions, unchanged_too_, is_long(instance));
}

Status Runner::learn_region(size_t instance, size_t index, const Results& results, std::unique_ptr<Trial>& trial,
                            bool& hung) {
  MemoryRegion& region = memory_->instances()[instance].regions[index];
  uint32_t width = region.yardstick.layout.stride;
  if (region.size < width) return done();
  std::vector<uint8_t> states(region.size / width, kWritten | kUntouched);
  if (!trial) {
    KERNELIFT_ASSIGN(trial,
                     start_trial(nullptr, false, std::max(kLeastOnPoison, times(kPatience, run_seconds_[instance]))));
    if (trial->loaded()) return trial.reset(), done();
  }
  for (std::byte pattern : kPatterns) {
    memory_->restore(instance, false);
    ReplayMemory::fill(region, pattern);
    // An index buffer full of poison may well crash the original.
    if (auto failure = trial->run(Side::Baseline, instance)) {
      hung = failure->outcome == Outcome::TimedOut;
      return trial.reset(), done();
    }
    if (!consistent_under_poison(instance, index, results) ||
        !classify(region, result(instance, index, results), pattern, states))
      return done();
    // Most of what may be written is an input: once is enough to see that nothing of it was.
    if (std::ranges::all_of(states, [](uint8_t state) { return state == kUntouched; })) break;
  }
  region.written = ranges_of(states, width, region.size);
  return done();
}

Status Runner::learn_writes(size_t instance, const Results& results) {
  auto& regions = memory_->instances()[instance].regions;
  std::unique_ptr<Trial> trial;
  bool hung = false;
  for (size_t index : poisoned(instance)) {
    MemoryRegion& region = regions[index];
    if (!region.output() && hung) break;  // On another it may hang as well.
    KERNELIFT_TRY(learn_region(instance, index, results, trial, hung));
    if (!region.output()) region.writes = region.written.empty() ? Writes::No : Writes::Does;
  }
  for (size_t i = 0; i < regions.size(); ++i)
    if (!results[i].empty() && !covered(regions[i], results[i]))
      regions[i].restored = changed_blocks(regions[i], results[i]);
  return done();
}

Status Runner::calibrate_instance(std::unique_ptr<Trial>& trial, size_t instance, InstanceReport& report) {
  Results first, latest;
  bool varies = false;
  auto learn = [&](const Results& other) {
    if (report.failure.empty()) report.failure = set_tolerances(instance, first, other, varies);
  };
  double comparing = -1;
  auto look = [&] {
    auto begin = Deadline::clock::now();
    report.buffers = compare(instance, nullptr);
    comparing = seconds_since(begin);
  };
  auto reproduced = [&] { return std::ranges::all_of(report.buffers, &BufferReport::pass); };
  // Two sums by atomics say little of how far a third may be off; nor do some that agree with each other and not with
  // the recorded one.
  for (int run = 0; report.failure.empty() && run <= (varies ? kRunsIfVarying : kRuns); ++run) {
    bool quick = run > 0 && trial->last_seconds() <= kSlowSeconds;
    if ((run > kRuns && !quick) || (run > 0 && once_is_enough(instance))) break;
    // Between two as recorded: live memory is to hold what such a one leaves.
    if (run == 1 && quick) {
      KERNELIFT_ASSIGN(std::optional<Results> elsewhere, run_on_other_cores(instance));
      if (elsewhere) learn(*elsewhere);
    }
    auto begin = Deadline::clock::now();
    memory_->restore(instance, false);
    if (auto failure = trial->run(Side::Baseline, instance)) {
      report.pass = false, report.failure = failure->detail;
      // Nothing but recorded memory is mapped: what was there besides may be what it wanted.
      if (std::string left_out = unreached_text(mep_.instances[instance].unreached);
          failure->outcome == Outcome::Crashed && !left_out.empty())
        report.failure += "; " + left_out;
      return done();
    }
    if (auto outside = memory_->broken_canary(instance)) {
      report.pass = false, report.failure = "the original itself writes outside its buffers: " + *outside;
      return done();
    }
    double& least = costs_[instance].check;
    least = run == 0 ? seconds_since(begin) : std::min(least, seconds_since(begin));
    latest = snapshot(instance);
    if (run == 0) KERNELIFT_TRY(took(instance, trial->last_seconds()));
    if (run == 0) first = latest;
    if (run > 0 || once_is_enough(instance)) learn(latest);
    if (run == kRuns && quick && !varies) look(), varies = !reproduced();
  }
  if (varies || comparing < 0) look();
  costs_[instance].check += comparing;
  report.pass = report.failure.empty() && reproduced();
  report.seconds = trial->last_seconds();
  if (!report.pass || once_is_enough(instance)) return done();
  KERNELIFT_TRY(learn_writes(instance, latest));
  auto& regions = memory_->instances()[instance].regions;
  uint64_t left = 0;
  for (size_t i = 0; i < regions.size(); ++i) {
    report.buffers[i].written |= !regions[i].written.empty();
    left +=
        std::max(bytes_of(regions[i].written),
                 regions[i].changed() ? bytes_of(changed_blocks(regions[i], {regions[i].answer, regions[i].size})) : 0);
  }
  report.fastest_write_seconds = fastest_write(left);

  // One that was started earlier does not know what to put back between two launches.
  double seconds = trial->last_seconds();
  KERNELIFT_ASSIGN(trial, start_trial(nullptr));
  if (auto failure = trial->loaded()) {
    report.pass = false, report.failure = failure->detail;
    return done();
  }
  voice_.quiet(true);
  memory_->restore(instance, false);
  int rounds = seconds > kLongSeconds ? kLongRounds : seconds > kSlowSeconds ? kSlowRounds : kCalibrationRounds;
  auto begin = Deadline::clock::now();
  TrialTimes times = trial->time(instance, rounds, batch_for(seconds));
  costs_[instance].pair = seconds_since(begin) / rounds;
  voice_.quiet(false);
  if (times.failure) {
    report.pass = false, report.failure = "while timed: " + times.failure->detail;
    return done();
  }
  // Both sides are the original here: twice the samples.
  times.baseline.insert(times.baseline.end(), times.candidate.begin(), times.candidate.end());
  report.seconds = median(times.baseline);
  report.spread = relative_spread(times.baseline);
  return done();
}

Result<BaselineReport> Runner::calibrate(const TrialCode& baseline, const Roundings& roundings,
                                         std::optional<Deadline> deadline) {
  baseline_ = baseline, roundings_ = roundings;
  report_ = {};
  // To replay, what is written beside what changed says nothing.
  unchanged_too_ = settings_.for_candidates || !changes_anything(mep_);
  // Calibration belongs to no era: only its own deadline ends it.
  inquiry_ = {}, inquiry_.deadline = deadline, inquiry_.era = std::numeric_limits<uint64_t>::max();
  run_seconds_.assign(mep_.instances.size(), 0), costs_.assign(mep_.instances.size(), {});
  // The original is waited for longer than a candidate would be.
  constexpr std::chrono::milliseconds kOriginalLimit{60'000};
  const auto limit = settings_.trial.launch_limit;
  settings_.trial.launch_limit = std::max(limit, kOriginalLimit);
  KERNELIFT_TRY(add_envelopes());
  std::unique_ptr<Trial> trial;
  double slowest = 0;
  for (size_t i = 0; i < mep_.instances.size(); ++i) {
    const MepInstance& recorded = mep_.instances[i];
    InstanceReport instance;
    instance.id = recorded.id, instance.held_out = recorded.held_out, instance.weight = recorded.weight;
    instance.recorded_seconds = recorded.microseconds * 1e-6;
    std::optional<TrialFailure> failure;
    if (!trial) {
      KERNELIFT_ASSIGN(trial, start_trial(nullptr));
      failure = trial->loaded();
    }
    if (failure) instance.pass = false, instance.failure = failure->detail;
    else KERNELIFT_TRY(calibrate_instance(trial, i, instance));
    if (ended())
      return environment_error("the time was over before the original had been measured on all " +
                               std::to_string(mep_.instances.size()) + " recorded instances");
    if (!instance.pass) trial.reset();
    slowest = std::max(slowest, instance.seconds);
    report_.instances.push_back(std::move(instance));
  }
  // Last: what was learned of the original is learned by its own answers.
  if (report_.pass()) KERNELIFT_TRY(add_nearer_references());
  if (report_.pass()) report_.unverifiable = unverifiable(mep_, report_);
  settings_.trial.launch_limit =
      std::min(std::max(limit, times(2, slowest)), std::max(kLeastLimit, times(kPatience, slowest)));
  group_instances();
  estimate_confirmation();
  return report_;
}

}  // namespace kernelift
