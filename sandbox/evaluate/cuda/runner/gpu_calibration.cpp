// What the original teaches about itself on a GPU, before any candidate is judged; the questions are those of
// sandbox/evaluate/cpu/calibration.cpp, the answers stay on the device. Two of them are dangerous: a buffer full of
// poison or a perturbed input may lead the original astray, and a fault ends this process. They are announced, and what
// ended an earlier process is not asked again. What never changed is poisoned last, and costs two processes at most.
#include <algorithm>

#include "core/base/bytes.h"
#include "sandbox/evaluate/cuda/runner/gpu_runner.h"
#include "sandbox/judge/rounding_envelope.h"

namespace kernelift {
namespace {

constexpr std::byte kPatterns[] = {kGpuPoison, std::byte{0x3a}};
constexpr int kMostRounds = 11, kLeastRounds = 3, kLongRounds = 1;
constexpr double kTimingSeconds = 0.25;        // Of one instance, where that is enough for kLeastRounds.
constexpr int kRuns = 2, kRunsIfVarying = 16;  // Of the original beside the first.
constexpr uint64_t kLargestPerturbed = 256 << 20;
constexpr size_t kMostPerturbed = 2;  // Instances, the heaviest.

/// What an earlier run left of a region (GpuRunner::keep_results).
uint64_t result(const GpuInstance& memory, const std::vector<DeviceMemory>& copies, size_t region) {
  return copies[region].size > 0 ? copies[region].address : memory.regions[region].given;
}

/// As kl_spread leaves it.
Spread spread_in(const judging::Finding& found) {
  return {judging::from_bits(found.largest_absolute), judging::from_bits(found.largest_ulps), found.mismatches > 0};
}

}  // namespace

int GpuRunner::calibration_rounds(double seconds) const {
  if (seconds > kLongSeconds) return kLongRounds;
  return static_cast<int>(
      std::clamp<double>(kTimingSeconds / (2 * std::max(seconds, 1e-6)), kLeastRounds, kMostRounds));  // Two sides.
}

Status GpuRunner::in_time() const {
  if (!settings_.deadline || Deadline::clock::now() < *settings_.deadline) return done();
  return answer_is_no("the time was over before the original had been measured on all " +
                      std::to_string(mep_.instances.size()) +
                      " recorded instances, so nothing could be tried; give it more time (--time)");
}

bool GpuRunner::user_tolerance(FloatTolerance& tolerance) const {
  Tolerance wanted = settings_.tolerance.value_or(mep_.tolerance);
  if (wanted.relative <= 0 && wanted.absolute <= 0) return false;
  tolerance = FloatTolerance::given(wanted.relative, wanted.absolute);
  return true;
}

Status GpuRunner::keep_results(size_t instance, const std::set<size_t>& altered, std::vector<DeviceMemory>& copies) {
  Steps steps(*support_);
  for (auto& region : memory_->instances()[instance].regions) {
    copies.emplace_back();
    if (!region.output() && !altered.contains(copies.size() - 1)) continue;
    KERNELIFT_ASSIGN(copies.back(), device_.place(0, region.size));
    steps.copy(copies.back().address, region.live, region.size);
  }
  DeviceOutcome outcome = steps.run(settings_.launch_limit);
  return outcome.ok() ? done() : environment_error("copying on the GPU: " + outcome.detail);
}

void GpuRunner::take_user_tolerance() {
  FloatTolerance users;
  if (!user_tolerance(users)) return;
  for (auto& memory : memory_->instances())
    for (auto* buffers : {&memory.regions, &memory.variables})
      for (auto& buffer : *buffers)
        for (size_t row = 0; row < buffer.yardstick.tolerances.size(); ++row)
          if (buffer.rows[row].type.is_float()) buffer.yardstick.tolerances[row] = users;
}

Result<std::string> GpuRunner::set_tolerances(size_t instance, const std::vector<DeviceMemory>& once, bool& varies) {
  FloatTolerance users;
  bool given = user_tolerance(users);
  GpuInstance& memory = memory_->instances()[instance];
  Steps steps(*support_);
  size_t findings = 0;
  auto may_vary = [](const GpuBuffer& region) { return region.writes != Writes::No; };
  for (auto& region : memory.regions) findings += may_vary(region) ? region.rows.size() : 0;
  steps.clear_findings(findings);
  size_t at = 0;
  for (size_t i = 0; i < memory.regions.size(); ++i) {
    GpuBuffer& region = memory.regions[i];
    for (size_t row = 0; may_vary(region) && row < region.rows.size(); ++row)
      steps.compare(region.rows[row], given ? users : FloatTolerance::between_runs(region.rows[row].type),
                    result(memory, once, i), region.live, at++);
  }
  DeviceOutcome outcome = steps.run(settings_.launch_limit);
  if (!outcome.ok()) return environment_error("comparing on the GPU: " + outcome.detail);
  KERNELIFT_ASSIGN(auto found, support_->read_findings(findings));
  at = 0;
  std::string unsteady;
  struct Moved {
    GpuBuffer* buffer;
    size_t region, row;
  };
  std::vector<Moved> moved;
  for (auto* buffers : {&memory.regions, &memory.variables})
    for (auto& buffer : *buffers)
      for (size_t row = 0; row < buffer.rows.size(); ++row) {
        bool seen = buffers == &memory.regions && may_vary(buffer);
        judging::Finding finding = seen ? found[at++] : judging::Finding{};
        if (finding.mismatches > 0 && unsteady.empty())
          unsteady = does_not_repeat(buffer.name, finding.mismatches, buffer.rows[row].count);
        if (row >= buffer.yardstick.tolerances.size() || !buffer.rows[row].type.is_float()) continue;
        if (judging::from_bits(finding.largest_ulps) > 0)
          moved.push_back({&buffer, static_cast<size_t>(&buffer - buffers->data()), row});
      }
  varies |= !moved.empty();
  if (given || moved.empty()) return unsteady;
  Steps measure(*support_);
  measure.clear_findings(moved.size());
  for (size_t i = 0; i < moved.size(); ++i)
    measure.spread(moved[i].buffer->rows[moved[i].row], result(memory, once, moved[i].region), moved[i].buffer->live,
                   i);
  if (outcome = measure.run(settings_.launch_limit); !outcome.ok())
    return environment_error("comparing on the GPU: " + outcome.detail);
  KERNELIFT_ASSIGN(found, support_->read_findings(moved.size()));
  for (size_t i = 0; i < moved.size(); ++i)
    spread_in(found[i]).grant_of_runs(moved[i].buffer->yardstick.tolerances[moved[i].row]);
  return unsteady;
}

Result<bool> GpuRunner::widen_envelopes(const GpuCode& code, Place place) {
  GpuInstance& memory = memory_->instances()[place.memory];
  Steps steps(*support_);
  memory_->restore(steps, place.memory, false);
  code.set_up(steps, memory, place.instance, false);
  code.launch(steps, place.instance);
  std::vector<std::pair<GpuBuffer*, size_t>> asked;
  // Also of what holds the same before and after: a later launch on equal inputs writes what is there already.
  for (auto& region : memory.regions)
    for (size_t row = 0; row < region.yardstick.tolerances.size(); ++row)
      if (region.rows[row].type.is_float()) asked.push_back({&region, row});
  steps.clear_findings(asked.size());
  for (size_t at = 0; at < asked.size(); ++at)
    steps.spread(asked[at].first->rows[asked[at].second], asked[at].first->answer, asked[at].first->live, at);
  DeviceOutcome outcome = steps.run(settings_.launch_limit);
  memory_->launched(place.memory, true);
  if (!outcome.usable()) {
    usable_ = false;
    return environment_error("the original, rounded otherwise, ends with: " + outcome.detail);
  }
  if (!outcome.ok()) return false;
  KERNELIFT_ASSIGN(auto found, support_->read_findings(asked.size()));
  for (size_t at = 0; at < asked.size(); ++at) {
    auto [buffer, row] = asked[at];
    spread_in(found[at]).grant(buffer->rows[row].type, buffer->yardstick.tolerances[row]);
  }
  return true;
}

Status GpuRunner::add_envelopes(const std::vector<std::string>& roundings) {
  FloatTolerance users;
  otherwise_.clear();
  if (user_tolerance(users)) return done();
  // Built from the same source they end alike: where one ended a process, the others are not tried.
  constexpr const char* kExperiment = "rounding";
  if (roundings.empty() || settings_.fatal.contains(kExperiment)) return done();
  announce_(kExperiment);
  const size_t most = roundings_of_long(settings_.for_candidates);
  for (size_t way = 0; way < roundings.size(); ++way) {
    KERNELIFT_TRY(in_time());
    GpuCode code;
    TrialCode wanted;
    wanted.image = roundings[way];
    // A way of rounding that does not load or run says nothing; the others still do.
    if (code.load(device_, *memory_, mep_, wanted)) continue;
    bool ran = true;
    for (size_t i = 0; ran && i < mep_.instances.size(); ++i) {
      if (is_long(i) && way >= most) continue;
      KERNELIFT_ASSIGN(ran, widen_envelopes(code, {i, i}));
    }
    if (ran) otherwise_.push_back(std::move(code));
  }
  announce_("");
  return done();
}

Status GpuRunner::find_exact_sums(Place place) {
  constexpr uint64_t kLargest = 16 << 20;  // Sums leave less than they read.
  GpuInstance& memory = memory_->instances()[place.memory];
  struct Sums {
    GpuBuffer* buffer;
    std::vector<std::byte> answer, got;
    LaneReferences references;
  };
  std::vector<Sums> all;
  for (auto& region : memory.regions) {
    region.yardstick.nearer.clear();
    if (!region.output() || !region.yardstick.layout.has_floats() || region.size > kLargest) continue;
    Sums& sums = all.emplace_back(
        Sums{&region, {}, std::vector<std::byte>(region.size), LaneReferences(region.yardstick.layout)});
    sums.answer.resize(region.size);
    if (!device_.read(region.answer, sums.answer).ok()) return done();
  }
  for (auto& code : at_random_) {
    Steps steps(*support_);
    memory_->restore(steps, place.memory, false);
    code.set_up(steps, memory, place.instance, false);
    code.launch(steps, place.instance);
    DeviceOutcome outcome = steps.run(settings_.launch_limit);
    memory_->launched(place.memory, true);
    if (!outcome.usable()) {
      usable_ = false;
      return environment_error("the original, its sums rounded at random, ends with: " + outcome.detail);
    }
    for (auto& sums : all)
      if (outcome.ok() && device_.read(sums.buffer->live, sums.got).ok()) sums.references.add(sums.answer, sums.got);
  }
  for (auto& sums : all) sums.references.grant(sums.answer, sums.buffer->yardstick);
  return done();
}

Status GpuRunner::add_nearer_references(const std::vector<std::string>& images) {
  FloatTolerance users;
  at_random_.clear();
  constexpr const char* kExperiment = "sums";
  if (images.empty() || user_tolerance(users) || settings_.fatal.contains(kExperiment)) return done();
  announce_(kExperiment);
  for (auto& image : images) {
    GpuCode code;
    TrialCode wanted;
    wanted.image = image;
    if (!code.load(device_, *memory_, mep_, wanted)) at_random_.push_back(std::move(code));
  }
  for (size_t i = 0; i < mep_.instances.size(); ++i) {
    KERNELIFT_TRY(in_time());
    if (!is_long(i)) KERNELIFT_TRY(find_exact_sums({i, i}));
  }
  announce_("");
  return done();
}

bool GpuRunner::holds_addresses(const GpuInstance& memory, const GpuBuffer& region) {
  constexpr uint64_t kMost = 16 << 20;  // Of which so much is looked at.
  std::vector<std::byte> bytes(std::min(region.size, kMost));
  if (!device_.read(region.given, bytes).ok()) return false;
  for (size_t at = (8 - region.live % 8) % 8; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    const uint64_t word = word_at(bytes, at);
    auto after = std::upper_bound(memory.regions.begin(), memory.regions.end(), word,
                                  [](uint64_t value, auto& other) { return value < other.live; });
    if (after != memory.regions.begin() && word < std::prev(after)->live + std::prev(after)->size) return true;
  }
  return false;
}

Result<bool> GpuRunner::learn_region(size_t instance, size_t index, const std::vector<DeviceMemory>& results) {
  GpuInstance& memory = memory_->instances()[instance];
  GpuBuffer& region = memory.regions[index];
  std::vector<DeviceMemory> states;
  for (auto& row : region.rows) {
    KERNELIFT_ASSIGN(auto state, device_.place(0, row.count));
    states.push_back(std::move(state));
  }
  Steps begin(*support_);
  for (size_t row = 0; row < states.size(); ++row)
    begin.fill(states[row].address, std::byte{judging::kWritten | judging::kUntouched}, region.rows[row].count);
  if (auto outcome = begin.run(settings_.launch_limit); !outcome.ok())
    return environment_error("filling on the GPU: " + outcome.detail);
  for (std::byte pattern : kPatterns) {
    Steps steps(*support_);
    memory_->restore(steps, instance, false);
    steps.fill(region.live, pattern, region.size);
    baseline_.set_up(steps, memory, instance, false);
    baseline_.launch(steps, instance);
    baseline_.take_down(steps, instance);
    size_t rows = 0;
    for (auto& other : memory.regions) rows += other.rows.size();
    steps.clear_findings(rows);
    size_t at = 0;
    for (size_t i = 0; i < memory.regions.size(); ++i) {
      GpuBuffer& other = memory.regions[i];
      for (size_t row = 0; row < other.rows.size(); ++row, ++at) {
        if (i == index)
          steps.classify(other.rows[row], other.tolerance(row), result(memory, results, i), other.live,
                         states[row].address, pattern, at);
        // Its other results must not depend on what lay in this buffer.
        else steps.compare(other.rows[row], other.tolerance(row), result(memory, results, i), other.live, at);
      }
    }
    DeviceOutcome outcome = steps.run(settings_.launch_limit);
    memory_->launched(instance, true);
    if (!outcome.usable()) {
      usable_ = false;
      return environment_error(outcome.detail);
    }
    if (!outcome.ok()) return false;
    KERNELIFT_ASSIGN(auto found, support_->read_findings(rows));
    for (auto& finding : found)
      if (finding.mismatches > 0) return false;
  }
  Steps steps(*support_);
  steps.clear_findings(states.size());
  for (size_t row = 0; row < states.size(); ++row)
    steps.count_uncovered(region.rows[row], region.given, result(memory, results, index), states[row].address, row);
  if (auto outcome = steps.run(settings_.launch_limit); !outcome.ok())
    return environment_error("counting on the GPU: " + outcome.detail);
  KERNELIFT_ASSIGN(auto found, support_->read_findings(states.size()));
  bool covered = true, all = region.yardstick.layout.plain();
  region.written_bytes = 0;
  for (size_t row = 0; row < states.size(); ++row) {
    covered = covered && found[row].mismatches == 0;
    all = all && found[row].largest_ulps == region.rows[row].count;
    if (found[row].largest_ulps == 0) states[row] = {};
    region.written_bytes += found[row].largest_ulps * region.rows[row].type.width;
  }
  region.all_written = all;
  region.states = all || region.written_bytes == 0 ? std::vector<DeviceMemory>{} : std::move(states);
  region.put_back = !covered || region.rewritten;
  return true;
}

Status GpuRunner::learn_writes(size_t instance, const std::vector<DeviceMemory>& results) {
  const std::string kKnown = "poison ", kUnchanged = "poison unchanged ";
  constexpr auto kMostLost =
      2;  // Processes that either may cost; an original that two buffers lead astray has more of them.
  auto lost = [&](const std::string& kind) {
    return std::ranges::count_if(settings_.fatal, [&](auto& one) { return one.starts_with(kind); });
  };
  const auto lost_to_unchanged = lost(kUnchanged), lost_to_known = lost(kKnown) - lost_to_unchanged;
  GpuInstance& memory = memory_->instances()[instance];
  for (size_t index : poisoned(instance)) {
    GpuBuffer& region = memory.regions[index];
    const bool known = region.output();
    if ((known ? lost_to_known : lost_to_unchanged) >= kMostLost || holds_addresses(memory, region)) continue;
    // Where an unchanged one leads the original astray in one instance, it will in others.
    std::string experiment =
        known ? kKnown + std::to_string(instance) + " " + std::to_string(index) : kUnchanged + region.name;
    if (settings_.fatal.contains(experiment)) continue;
    KERNELIFT_TRY(in_time());
    announce_(experiment);
    auto learned = learn_region(instance, index, results);
    // An unchanged one is most often an input, and a large one may leave no room for the experiment.
    if (!learned.ok() && (known || !usable_)) return std::move(learned).error();
    announce_("");
    if (!known) region.writes = learned.ok() && *learned && region.written_bytes > 0 ? Writes::Does : Writes::No;
  }
  return done();
}

double GpuRunner::fastest_write(size_t instance) {
  uint64_t bytes = 0;
  for (auto& region : memory_->instances()[instance].regions)
    bytes += std::max(region.changed_bytes, region.written_bytes);
  constexpr int kTries = 9;
  auto buffer = device_.place(0, bytes);
  if (bytes == 0 || !buffer.ok()) return 0;
  Steps steps(*support_);
  for (int i = 0; i < kTries; ++i) {
    if (settings_.cold) steps.flush_cache();
    steps.hold(std::chrono::microseconds(10));
    steps.begin(), steps.write(buffer->address, bytes), steps.end();
  }
  DeviceOutcome outcome = steps.run(settings_.launch_limit);
  if (!outcome.ok()) return 0;
  return support_->net(*std::min_element(outcome.seconds.begin(), outcome.seconds.end()));
}

Status GpuRunner::calibrate_instance(size_t instance, InstanceReport& report) {
  std::vector<DeviceMemory> once;
  Judged judged = run(baseline_, {instance, instance}, Before::Recorded, true);
  if (!judged.failure) KERNELIFT_TRY(keep_results(instance, judged.altered, once));
  // A race may be won the same way twice, and two sums by atomics say little of how far a third may be off; nor do
  // three that agree with each other and not with the recorded one.
  bool varies = false;
  const int runs = once_is_enough(instance) ? 0 : kRuns;
  for (int run_again = 0; !judged.failure && report.failure.empty() && run_again < (varies ? kRunsIfVarying : runs);
       ++run_again) {
    judged = run(baseline_, {instance, instance}, Before::Recorded, true);
    if (judged.failure) break;
    KERNELIFT_ASSIGN(report.failure, set_tolerances(instance, once, varies));
    varies = (varies || (judged.first && run_again + 1 >= runs)) && judged.seconds <= kSlowSeconds;
  }
  if (judged.failure) {
    report.pass = false;
    report.failure =
        (judged.failure->outcome == Outcome::WroteOutside ? "the original itself writes outside its buffers: " : "") +
        judged.failure->detail;
    return done();
  }
  report.buffers = judged.buffers;
  report.pass = report.failure.empty();
  for (auto& buffer : report.buffers) report.pass &= buffer.pass;
  report.seconds = judged.seconds;
  if (!report.pass || once_is_enough(instance)) return done();
  std::vector<DeviceMemory> results;
  KERNELIFT_TRY(keep_results(instance, judged.altered, results));
  once.clear();
  KERNELIFT_TRY(learn_writes(instance, results));
  auto& regions = memory_->instances()[instance].regions;
  for (size_t i = 0; i < regions.size(); ++i) report.buffers[i].written |= regions[i].written_bytes > 0;
  report.fastest_write_seconds = fastest_write(instance);
  Samples samples = time(baseline_, baseline_, instance, calibration_rounds(judged.seconds), batch_for(judged.seconds));
  if (samples.failure) {
    report.pass = false, report.failure = "while timed: " + samples.failure->detail;
    return done();
  }
  // Both sides are the original here: twice the samples.
  samples.baseline.insert(samples.baseline.end(), samples.candidate.begin(), samples.candidate.end());
  report.seconds = median(samples.baseline), report.spread = relative_spread(samples.baseline);
  return done();
}

Status GpuRunner::calibrate_application(const std::string& image) {
  constexpr const char* kExperiment = "application";
  bool right = report_.pass();
  auto explained = [](const InstanceReport& instance) { return instance.pass || !instance.failure.empty(); };
  if (image.empty() || !usable_ ||
      (!right && std::all_of(report_.instances.begin(), report_.instances.end(), explained)))
    return done();
  auto trouble = [&](const std::string& what) {
    report_.application_trouble = what, application_.reset();
    return done();
  };
  if (settings_.fatal.contains(kExperiment))
    return trouble("the application's own machine code ends the process that replays it");
  announce_(kExperiment);
  TrialCode wanted;
  wanted.image = image;
  if (auto failure = application_.emplace().load(device_, *memory_, mep_, wanted))
    return announce_(""), trouble("the application's own machine code cannot be run here: " + failure->detail);
  for (size_t i = 0; i < mep_.instances.size(); ++i) {
    InstanceReport& report = report_.instances[i];
    Judged judged = run(*application_, {i, i}, Before::Recorded, false);
    // Whatever it did, the next process must not ask again.
    if (!usable_) return environment_error(judged.failure->detail);
    if (judged.failure)
      return announce_(""), trouble("the application's own machine code, replayed: " + judged.failure->detail);
    if (judged.first)
      return announce_(""), trouble("the application's own machine code does not reproduce the capture in " +
                                    judged.buffers[judged.bad_buffer].name);
    if (!right) continue;
    Samples samples = time(baseline_, *application_, i, calibration_rounds(judged.seconds), batch_for(judged.seconds));
    if (!usable_) return environment_error(samples.failure->detail);
    if (samples.failure)
      return announce_(""), trouble("the application's own machine code, while timed: " + samples.failure->detail);
    report.application_seconds = median(samples.candidate);
  }
  // What is wrong otherwise is neither the capture nor the kernel.
  report_.application_alone = !right;
  announce_("");
  return done();
}

InstanceReport GpuRunner::begin_report(size_t instance) const {
  const MepInstance& recorded = mep_.instances[instance];
  InstanceReport report;
  report.id = recorded.id, report.held_out = recorded.held_out, report.weight = recorded.weight;
  // A duration on another device says nothing about this one.
  if (mep_.captured_on.find(":" + device_.facts().name + ":") != std::string::npos)
    report.recorded_seconds = recorded.microseconds * 1e-6;
  return report;
}

void GpuRunner::limit_launches(double slowest) {
  // A candidate that is many times slower than the original need not be waited for.
  constexpr double kPatience = 100;
  constexpr std::chrono::milliseconds kLeastLimit{1000};
  auto patience = std::chrono::milliseconds(static_cast<int64_t>(slowest * kPatience * 1e3));
  settings_.launch_limit = std::min(settings_.launch_limit, std::max(kLeastLimit, patience));
}

Result<bool> GpuRunner::runs_at_all() {
  // An original that takes a thousand times what it took in the application will not end.
  constexpr double kSlower = 1000, kLeastSeconds = 10;
  double slowest = 0;
  for (size_t i = 0; i < mep_.instances.size(); ++i) {
    InstanceReport report = begin_report(i);
    if (report.recorded_seconds > 0) {
      double patience = std::max(kLeastSeconds, kSlower * report.recorded_seconds);
      settings_.launch_limit =
          std::min(settings_.launch_limit, std::chrono::milliseconds(static_cast<int64_t>(patience * 1e3)));
    }
    Judged judged = run(baseline_, {i, i}, Before::Recorded, false);
    slowest = std::max(slowest, judged.seconds), run_seconds_[i] = judged.seconds;
    if (is_long(i)) settings_.tell(takes_long(report.id, judged.seconds));
    // Run thrice more, on buffers full of poison, and in turns with itself and with the application's code.
    const size_t runs = kRuns + 1 + kLongRoundings + std::size(kPatterns) * poisoned(i).size() + 4 * kLongRounds;
    if (is_long(i) && settings_.for_candidates)
      KERNELIFT_TRY(enough_time(report.id, judged.seconds, runs, settings_.deadline));
    if (usable_) continue;
    for (size_t other = 0; other < mep_.instances.size(); ++other) {
      report = begin_report(other), report.pass = false;
      report.failure = other != i ? "not tried: the GPU was lost to instance " + mep_.instances[i].id
                                  : (judged.failure->outcome == Outcome::TimedOut ? "timed out: " : "crashed: ") +
                                        judged.failure->detail;
      // Nothing but recorded memory is mapped: what was there besides may be what it wanted.
      if (std::string left_out = unreached_text(mep_.instances[i].unreached);
          other == i && judged.failure->outcome == Outcome::Crashed && !left_out.empty())
        report.failure += "; " + left_out;
      report_.instances.push_back(std::move(report));
    }
    return false;
  }
  limit_launches(slowest);
  return true;
}

Result<BaselineReport> GpuRunner::calibrate(const GpuOriginal& original) {
  report_ = {};
  // To replay, what is written beside what changed says nothing.
  unchanged_too_ = settings_.for_candidates || !changes_anything(mep_);
  if (auto failure = baseline_.load(device_, *memory_, mep_, original.code))
    return environment_error("the original cannot be run on " + device_.facts().name + ": " + failure->detail);
  // A GPU that slept is slow at first.
  constexpr auto kWarmUp = std::chrono::milliseconds(150);
  Steps warm_up(*support_);
  for (int i = 0; i < 3; ++i) warm_up.hold(kWarmUp / 3);
  if (auto outcome = warm_up.run(settings_.launch_limit); !outcome.ok())
    return environment_error("the GPU does not answer: " + outcome.detail);
  // One that does not even run is no error here: that is the answer.
  take_user_tolerance();
  run_seconds_.assign(mep_.instances.size(), 0);
  KERNELIFT_ASSIGN(bool runs, runs_at_all());
  if (!runs) return report_;
  KERNELIFT_TRY(add_envelopes(original.roundings));
  double slowest = 0;
  for (size_t i = 0; i < mep_.instances.size(); ++i) {
    KERNELIFT_TRY(in_time());
    InstanceReport instance = begin_report(i);
    if (!usable_) instance.pass = false, instance.failure = "not tried: the GPU was lost to an earlier instance";
    else KERNELIFT_TRY(calibrate_instance(i, instance));
    slowest = std::max(slowest, instance.seconds);
    report_.instances.push_back(std::move(instance));
  }
  KERNELIFT_TRY(calibrate_application(original.application));
  // Last: what was learned of the original is learned by its own answers.
  if (report_.pass()) KERNELIFT_TRY(add_nearer_references(original.at_random));
  if (report_.pass()) report_.unverifiable = unverifiable(mep_, report_);
  limit_launches(slowest);
  return report_;
}

void GpuRunner::ask_perturbed() {
  if (asked_perturbed_) return;
  asked_perturbed_ = true;
  std::vector<size_t> heaviest(mep_.instances.size());
  for (size_t i = 0; i < heaviest.size(); ++i) heaviest[i] = i;
  std::sort(heaviest.begin(), heaviest.end(), [&](size_t a, size_t b) { return heavier(mep_, a, b); });
  heaviest.resize(std::min(heaviest.size(), kMostPerturbed));
  for (size_t instance : heaviest)
    for (Perturbation kind : {Perturbation::Jitter, Perturbation::Swap}) {
      std::string experiment = "perturb " + std::to_string(instance) + " " + name(kind);
      if (settings_.fatal.contains(experiment) || !usable_) continue;
      announce_(experiment);
      if (!ask_perturbed(instance, kind) && usable_) memory_->launched(instance, true);
      if (usable_) announce_("");
    }
}

bool GpuRunner::ask_perturbed(size_t instance, Perturbation kind) {
  GpuInstance made = memory_->instances()[instance];
  bool any = false;
  uint64_t seed = 1;
  for (auto& region : made.regions) {
    ++seed;
    region.yardstick.nearer.clear();  // Of other sums.
    bool only_read = !region.output();
    if (!region.yardstick.layout.has_floats() || region.size > kLargestPerturbed ||
        (kind == Perturbation::Swap && !only_read))
      continue;
    std::vector<std::byte> bytes(region.size);
    if (!device_.read(region.given, bytes).ok() || !perturb(region.yardstick.layout, bytes, kind, seed)) continue;
    auto placed = device_.place(0, region.size);
    if (!placed.ok() || !device_.write(placed->address, bytes).ok()) return false;
    if (only_read) region.answer = placed->address;
    region.given = placed->address;
    perturbed_memory_.push_back(std::move(*placed));
    any = true;
  }
  if (!any) return false;
  size_t memory_index = memory_->instances().size();
  memory_->instances().push_back(made);
  auto drop = [&] {
    memory_->instances().pop_back();
    return false;
  };
  // The original answers; what it leaves becomes the answer, and a second run must leave the same.
  std::vector<DeviceMemory> answers;
  Judged first = run(baseline_, {memory_index, instance}, Before::Recorded, false);
  if (first.failure || !keep_results(memory_index, {}, answers).ok()) return drop();
  GpuInstance& entry = memory_->instances()[memory_index];
  for (size_t i = 0; i < entry.regions.size(); ++i)
    if (answers[i].size > 0) {
      entry.regions[i].answer = answers[i].address;
      perturbed_memory_.push_back(answers[i]);
    }
  Judged second = run(baseline_, {memory_index, instance}, Before::Poisoned, false);
  if (second.failure || second.first) return drop();
  // Rounding moves the results of other inputs by more or less than those of the recorded ones.
  std::vector<const GpuCode*> others;
  for (auto& code : otherwise_) others.push_back(&code);
  if (FloatTolerance users; application_ && !user_tolerance(users)) others.push_back(&*application_);
  for (auto* code : others)
    if (!widen_envelopes(*code, {memory_index, instance}).ok()) return drop();
  if (!at_random_.empty() && !find_exact_sums({memory_index, instance}).ok()) return drop();
  perturbed_.push_back({memory_index, instance});
  return true;
}

}  // namespace kernelift
