// See neighbours.h.
#include "cli/neighbours.h"

#include <algorithm>

#include "core/base/executable.h"
#include "core/model/verdict.h"
#include "reintegrate/interruption.h"
#include "tuner/space/mep_space.h"
#include "tuner/tuner.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

/// Of extracting a kernel and of judging it: who takes longer is left to the application's own timing.
constexpr std::chrono::seconds kLongestStep{90};
/// With less of the run, not even half as fast would it outweigh a gain that can be proven.
constexpr double kShareWorthCounting = 0.01;

/// What noise does not tell from the original is as fast. 0: not known.
double beyond_noise(const Verdict& verdict) {
  return verdict.ok() && verdict.speedup_low() <= 1 && 1 <= verdict.speedup_high() ? 1 : verdict.speedup();
}

/// True where it was wrong or did not run; a refusal or figures that are too unsteady do not count.
bool fails(const Verdict& verdict) {
  return !verdict.ok() && verdict.outcome != Outcome::Refused && verdict.outcome != Outcome::Unstable &&
         verdict.outcome != Outcome::Suspect;
}

}  // namespace

std::vector<std::vector<OtherKernel>> Neighbours::operator()(const std::vector<KnobReach>& changes) {
  std::vector<const ScannedKernel*> kernels;
  for (auto& change : changes)
    for (auto* other : change.others)
      if (share_of(other->key, shares_) >= kShareWorthCounting &&
          std::find(kernels.begin(), kernels.end(), other) == kernels.end())
        kernels.push_back(other);
  std::vector<std::vector<OtherKernel>> all(changes.size());
  for (auto* kernel : kernels) {
    std::vector<Bindings> distinct;
    auto place = [&](const Bindings& knobs) { return std::find(distinct.begin(), distinct.end(), knobs); };
    for (auto& change : changes)
      if (auto knobs = fed(*kernel, change); !knobs.empty() && place(knobs) == distinct.end())
        distinct.push_back(knobs);
    context_.note("apply: " + kernel->name + " shares knobs that the candidates turn: trying " +
                  counted(distinct.size(), "change") + " of them on it");
    auto judged = judge(*kernel, distinct);
    if (!judged.ok() && judged.error().exit == Exit::Interrupted) return all;  // Whoever asks looks for it too.
    if (!judged.ok())
      context_.note("apply: what becomes of " + kernel->name + " is not known: " + judged.error().message);
    for (size_t i = 0; i < changes.size(); ++i) {
      auto knobs = fed(*kernel, changes[i]);
      if (knobs.empty()) continue;
      OtherKernel other;
      if (judged.ok()) other = (*judged)[static_cast<size_t>(place(knobs) - distinct.begin())];
      else other.why = judged.error().message;
      other.name = kernel->name, other.share = share_of(kernel->key, shares_);
      all[i].push_back(std::move(other));
    }
  }
  return all;
}

Bindings Neighbours::fed(const ScannedKernel& kernel, const KnobReach& change) const {
  Bindings knobs;
  for (auto& knob : knobs_)
    if (auto turned = change.knobs.find(knob.name); turned != change.knobs.end() && feeds(knob, kernel))
      knobs.insert(*turned);
  return knobs;
}

Result<Json> Neighbours::run(std::vector<std::string> words) const {
  KERNELIFT_ASSIGN(fs::path kernelift, executable());
  words.insert(words.begin(), kernelift.string());
  words.insert(words.end(), {"--json", "--device", device_, "--state", context_.state_folder().string()});
  ProcessOptions process;
  process.output_limit = 256 << 20, process.timeout = kLongestStep;
  InterruptGuard guard;
  KERNELIFT_ASSIGN(ProcessOutcome outcome, run_interruptibly(words, process, Ending::HandedOn));
  if (guard.interrupted()) return Error{"interrupted; nothing was changed", Exit::Interrupted};
  if (outcome.timed_out) return environment_error(words[1] + " " + outcome.describe());
  KERNELIFT_ASSIGN(Json document, parse_json(outcome.out, words[1]));
  if (document.contains("error"))
    return environment_error(words[1] + ": " + document.value("error", outcome.describe()));
  return document;
}

Result<std::vector<OtherKernel>> Neighbours::judge(const ScannedKernel& kernel, const std::vector<Bindings>& changes) {
  if (!folder_) {
    KERNELIFT_ASSIGN(folder_, TemporaryFolder::create("neighbours", context_.state_folder()));
  }
  fs::path folder = folder_->path() / kernel.id, questions = folder_->path() / (kernel.id + ".jsonl");
  KERNELIFT_ASSIGN(Json extracted, run({"extract", kernel.id, "--out", folder.string()}));
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  KERNELIFT_ASSIGN(Candidate original, original_candidate(mep, folder));
  // What only its launches name is not in its text. In a template's launch it may be an argument, and another value
  // another kernel.
  for (auto& knob : knobs_) {
    bool known = std::any_of(mep.knobs.begin(), mep.knobs.end(), [&](auto& one) { return one.name == knob.name; });
    if (known || kernel.is_template || !feeds(knob, kernel)) continue;
    mep.knobs.push_back(knob);
    mep.knobs.back().in_kernel = false;
  }
  MepSpace space = MepSpace::create(mep, original);
  std::vector<OtherKernel> all(changes.size());
  std::vector<size_t> asked;
  std::string lines;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (auto point = space.point_at(changes[i])) {
      lines += compact(to_json(space.materialise(*point))) + "\n";
      asked.push_back(i);
    } else {
      all[i].why = "how it and its launch would follow is not known";
    }
  }
  if (asked.empty()) return all;
  KERNELIFT_TRY(write_atomically(questions, lines));
  KERNELIFT_ASSIGN(Json answers, run({"evaluate", folder.string(), questions.string(), "--as-built"}));
  const Json verdicts = answers.value("verdicts", Json::array());
  if (verdicts.size() != asked.size())
    return environment_error("evaluate gave " + std::to_string(verdicts.size()) + " verdicts for " +
                             std::to_string(asked.size()) + " candidates");
  for (size_t n = 0; n < asked.size(); ++n) {
    KERNELIFT_ASSIGN(Evaluation evaluation, evaluation_from_json(verdicts[n], "evaluate"));
    OtherKernel& other = all[asked[n]];
    if (auto* none = std::get_if<NotJudged>(&evaluation)) {
      other.why = none->why;
      continue;
    }
    const Verdict& verdict = std::get<Verdict>(evaluation);
    other.speedup = beyond_noise(verdict);
    other.wrong = fails(verdict);
    if (!verdict.ok()) other.why = verdict.text();
  }
  return all;
}

}  // namespace kernelift::cli
