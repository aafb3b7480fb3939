// See size_runs.h.
#include "sandbox/evaluate/runner/sizes/size_runs.h"

#include <algorithm>
#include <utility>

#include "core/base/words.h"

namespace kernelift::sandbox {
namespace {

// Of a finalist; the original's answers once take as long again, and so does asking what differences mean.
constexpr double kMostSecondsOfSizes = 2;
constexpr uint64_t kMostBytes = 512ull << 20;  // Of answers that are kept for later finalists.
constexpr int kMostLost = 2;                   // Processes that the original may end at sizes, before no more is tried.
constexpr const char* kSizeExperiment = "size ";

/// Of all instances: what ends the original's process on one would end it on another.
std::string experiment(const SizedInstance& sized) { return kSizeExperiment + sized.size.text(); }

/// As a verdict may name it: proposers read what is dropped, too.
OtherSize named(const SizedInstance& sized) {
  return sized.shown ? sized.size : OtherSize{sized.size.instance, {}, {}};
}

}  // namespace

double SizeRuns::most_seconds(double check) {
  return std::min(kMostSecondsOfSizes, static_cast<double>(kMostSizes * kMostSizedInstances) * check);
}

double SizeRuns::expected_seconds(const SizedInstance& sized) const {
  const double before = static_cast<double>(bench_.mep.instances[sized.instance].geometry.threads());
  return bench_.run_seconds[sized.instance] * static_cast<double>(sized.geometry.threads()) / std::max(before, 1.0);
}

void SizeRuns::forget() { known_.clear(), bytes_ = 0; }

void SizeRuns::answer(const SizedInstance& sized, Answered& into) {
  auto memory = memory_of(bench_, sized);
  if (!memory.ok()) {
    into.why_not = "there is not enough memory for it";
    return;
  }
  into.memory = std::move(memory->instance), into.placed = std::move(memory->placed);
  auto failed = launch_as(bench_, sized, into.memory, {}, bench_.baseline, [&](MemoryEntry entry) {
    Verification::Manner manner{Verification::Before::Poisoned};
    auto first = verification_.run(bench_.baseline, entry, manner);
    auto no_reference = [&](const Verification::Judged& judged) {
      const bool outside = judged.failure && judged.failure->outcome == Outcome::WroteOutside;
      into.why_not = outside          ? "the original writes outside its memory there"
                     : judged.failure ? "the original fails there"
                     : judged.first   ? "the original does not repeat its result there"
                                      : "";
      return !into.why_not.empty();
    };
    if (first.failure) return (void)no_reference(first);
    WriteSet writes(bench_);
    if (!writes.keep(entry.memory, first.altered, into.answers, true).ok()) {
      into.why_not = "there is not enough memory for its results";
      return;
    }
    auto& memory = bench_.memory->instances()[entry.memory];
    for (size_t i = 0; i < memory.regions.size(); ++i)
      if (into.answers[i].size > 0) {
        memory.regions[i].answer = into.answers[i].address, into.bytes += into.answers[i].size;
        memory.regions[i].veiled = JudgingKernels::veil_of(bench_.device.facts()).on;
      }
    if (!writes.keep_variables(bench_.baseline, entry, into.answers).ok()) {
      into.why_not = "there is not enough memory for its results";
      return;
    }
    manner.reordered = true;
    if (!no_reference(verification_.run(bench_.baseline, entry, manner))) into.memory = memory;
  });
  if (failed) into.why_not = "the original cannot be launched there: " + failed->detail;
  if (!into.why_not.empty()) into.answers.clear(), into.placed.clear(), into.bytes = 0;
}

bool SizeRuns::fails_alike(const SizedInstance& sized, const Answered& known) {
  LoadedCode original;
  if (!bench_.usable || original.load(bench_.device, *bench_.memory, bench_.mep, bench_.original)) return false;
  Verification::Judged judged;
  auto failure = launch_as(bench_, sized, known.memory, {}, original, [&](MemoryEntry entry) {
    judged = verification_.run(original, entry, {Verification::Before::Poisoned});
  });
  return !failure && judged.failure && judged.failure->outcome == Outcome::Crashed;
}

void SizeRuns::widen(const SizedInstance& sized, Answered& known) {
  length_bounds_.find(sized, known.memory);
  if (std::exchange(known.widened, true) || bench_.user_tolerance()) return;
  std::vector<LoadedCode*> others;
  for (auto& code : bench_.rounded) others.push_back(&code);
  if (bench_.application) others.push_back(&*bench_.application);
  for (auto* code : others)
    (void)launch_as(bench_, sized, known.memory, {}, *code, [&](MemoryEntry entry) {
      if (tolerances_.widen_by(*code, entry, true).ok()) known.memory = bench_.memory->instances()[entry.memory];
    });
}

void SizeRuns::tell(const SizedInstance& sized, const Answered& known, const Verification::Judged& judged,
                    const std::optional<RunFailure>& failure, Verdict& verdict) const {
  verdict.stage = Stage::Verify, verdict.instance = sized.size.instance;
  SizesRun::Wrong wrong{sized.size, sized.shown, {}};
  if (failure) {
    verdict.outcome = failure->outcome, wrong.found = failure->detail;
  } else {
    const BufferReport& buffer = judged.buffers[judged.bad_buffer];
    verdict.outcome = Outcome::Wrong;
    wrong.found = buffer.name + "[" + std::to_string(judged.first->index) + "] expected " + judged.first->expected +
                  ", got " + judged.first->got;
    if (sized.shown) {
      verdict.buffer = buffer.name, verdict.index = judged.first->index, verdict.distance = judged.first->distance;
      verdict.expected = judged.first->expected, verdict.got = judged.first->got;
    }
    verdict.detail = buffer.detail.substr(0, buffer.detail.find(';'));
  }
  if (failure) verdict.detail = failure->detail;
  if (!sized.shown) verdict.detail = kAtUnshownSize;
  verdict.sizes_run->wrong = std::move(wrong);
}

bool SizeRuns::verify(const RunnableCode& candidate, LoadedCode& code, const SizePlan& plan, Verdict& verdict) {
  SizesRun& run = verdict.sizes_run.emplace();
  run.seed = plan.seed, run.beyond_premise = plan.beyond_premise, run.left_out = plan.left_out;
  double original = 0, own = 0, asked = 0;
  size_t cut = 0;
  const auto lost =
      std::ranges::count_if(bench_.settings.fatal, [](auto& one) { return one.starts_with(kSizeExperiment); });
  for (auto& sized : plan.launches) {
    if (bench_.ended()) return !(bench_.cut = true);
    if (std::max({own, original, asked, expected_seconds(sized)}) > kMostSecondsOfSizes || lost >= kMostLost) {
      ++cut;
      continue;
    }
    const std::string name = experiment(sized);
    if (bench_.settings.fatal.contains(name)) {
      run.dropped.push_back({named(sized), "the original fails there"});
      continue;
    }
    auto [at, added] = known_.try_emplace(Key{sized.instance, sized.size});
    Answered& known = at->second;
    auto begin = Deadline::clock::now();
    if (added) {
      bench_.announce(name);
      answer(sized, known);
      original += seconds_since(begin);
      // Check mode has a time of its own.
      if (bench_.usable && known.why_not.empty() && !(known.why_not = check_mode_.why_no_reference(sized)).empty())
        known.answers.clear(), known.placed.clear(), known.bytes = 0;
      if (!bench_.usable) {
        verdict.outcome = Outcome::Crashed, verdict.stage = Stage::Verify;
        verdict.detail = "the original itself ended at " + sized.size.text();
        return false;
      }
      bench_.announce("");
      bytes_ += known.bytes;
      if (bench_.cut) return false;
    }
    // That there is no room for moved pointers is no property of the original's.
    auto count_dropped = [&] {
      if (sized.moved.empty()) run.dropped.push_back({named(sized), known.why_not});
    };
    if (!known.why_not.empty()) {
      count_dropped();
      continue;
    }
    auto drop = [&](std::string why_not) {
      known.why_not = std::move(why_not);
      count_dropped();
      bytes_ -= known.bytes, known.bytes = 0, known.answers.clear(), known.placed.clear();
    };
    begin = Deadline::clock::now();
    Verification::Judged judged;
    auto launch = [&] {
      return launch_as(bench_, sized, known.memory, candidate, code, [&](MemoryEntry entry) {
        judged = verification_.run(code, entry, {Verification::Before::Poisoned});
      });
    };
    auto failure = launch();
    own += seconds_since(begin), begin = Deadline::clock::now();
    // Tolerances of the recorded size may be too narrow.
    if (!failure && !judged.failure && judged.first && bench_.usable) widen(sized, known), failure = launch();
    if (!failure) failure = judged.failure;
    if (judged.failure && judged.failure->outcome == Outcome::Crashed && fails_alike(sized, known)) {
      drop("the original fails there");
      continue;
    }
    if ((failure || judged.first) && bench_.usable && bench_.settings.why_no_reference && !bench_.ended()) {
      if (std::string why_not = bench_.settings.why_no_reference(sized); !why_not.empty()) {
        drop(std::move(why_not));
        asked += seconds_since(begin);
        continue;
      }
    }
    if (failure || judged.first) {
      tell(sized, known, judged, failure, verdict);
      return false;
    }
    asked += seconds_since(begin);
    (sized.shown ? run.right : run.unshown).push_back(sized.size);
    if (bytes_ > kMostBytes) bytes_ -= known.bytes, known_.erase(at);
  }
  if (cut > 0)
    run.left_out += (run.left_out.empty() ? "" : "; ") + counted(cut, "more size") + " left out " +
                    (lost >= kMostLost ? "since the original ends the process at such sizes" : "for lack of time");
  return true;
}

}  // namespace kernelift::sandbox
