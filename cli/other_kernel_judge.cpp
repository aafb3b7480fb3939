// Each kernel is extracted once and judged with all distinct sets of new values in one call of `kernelift evaluate`.
#include "cli/other_kernel_judge.h"

#include <algorithm>

#include "core/base/executable.h"
#include "core/model/verdict/verdict.h"
#include "reintegrate/interruption.h"
#include "tuner/space/mep_space.h"
#include "tuner/tuner.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

/// Time limit for extracting a kernel, and for judging it.
constexpr std::chrono::seconds kLongestStep{90};
/// The speedup, or 1 if the interval contains 1; 0: not known.
double beyond_noise(const Verdict& verdict) {
  return verdict.ok() && verdict.speedup_low() <= 1 && 1 <= verdict.speedup_high() ? 1 : verdict.speedup();
}

using Found = reintegrate::OtherKernel::Found;

/// What is only not measured well is right.
Found found_by(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::Ok:
    case Outcome::Unstable:
    case Outcome::Suspect: return Found::Right;
    case Outcome::Refused: return Found::NotKnown;
    default: return Found::Wrong;
  }
}

}  // namespace

std::vector<std::vector<reintegrate::OtherKernel>> OtherKernelJudge::operator()(
    const std::vector<reintegrate::SharedKnobs>& changes) {
  std::vector<const ScannedKernel*> kernels;
  for (auto& change : changes)
    for (auto* other : change.others)
      if (std::ranges::find(kernels, other) == kernels.end()) kernels.push_back(other);
  // Those that were not recorded, of which nothing can be known, are found out soonest.
  std::ranges::sort(kernels, {}, [&](auto* kernel) { return share_of(kernel->key, shares_); });
  std::vector<std::vector<reintegrate::OtherKernel>> all(changes.size());
  for (auto* kernel : kernels) {
    const bool decided = std::ranges::all_of(all, [](auto& others) {
      return std::ranges::any_of(others, [](auto& other) { return other.found != Found::Right; });
    });
    if (decided) break;
    std::vector<Bindings> distinct;
    auto find = [&](const Bindings& knobs) { return std::find(distinct.begin(), distinct.end(), knobs); };
    for (auto& change : changes)
      if (auto knobs = used_knobs(*kernel, change); !knobs.empty() && find(knobs) == distinct.end())
        distinct.push_back(knobs);
    context_.note("apply: " + kernel->name + " uses knobs that the candidates change: judging it with " +
                  counted(distinct.size(), "set") + " of new values");
    auto judged = judge(*kernel, distinct);
    if (!judged.ok() && judged.error().exit == Exit::Interrupted) return all;  // The caller checks for this too.
    if (!judged.ok())
      context_.note("apply: the effect on " + kernel->name + " is not known: " + judged.error().message);
    for (size_t i = 0; i < changes.size(); ++i) {
      auto knobs = used_knobs(*kernel, changes[i]);
      if (knobs.empty()) continue;
      reintegrate::OtherKernel other;
      if (judged.ok()) other = (*judged)[static_cast<size_t>(find(knobs) - distinct.begin())];
      else other.why = judged.error().message;
      other.name = kernel->name, other.share = share_of(kernel->key, shares_);
      all[i].push_back(std::move(other));
    }
  }
  return all;
}

Bindings OtherKernelJudge::used_knobs(const ScannedKernel& kernel, const reintegrate::SharedKnobs& change) const {
  Bindings knobs;
  for (auto& knob : knobs_)
    if (auto changed = change.knobs.find(knob.name);
        changed != change.knobs.end() && reintegrate::is_used_by(knob, kernel))
      knobs.insert(*changed);
  return knobs;
}

Result<Json> OtherKernelJudge::run(std::vector<std::string> words) const {
  KERNELIFT_ASSIGN(fs::path kernelift, executable());
  words.insert(words.begin(), kernelift.string());
  words.insert(words.end(), {"--json", "--device", device_, "--state", context_.state_folder().string()});
  ProcessOptions process;
  process.output_limit = 256 << 20, process.timeout = kLongestStep;
  reintegrate::InterruptGuard guard;
  KERNELIFT_ASSIGN(ProcessOutcome outcome, run_interruptibly(words, process, reintegrate::Ending::HandedOn));
  if (guard.interrupted()) return Error{"interrupted; nothing was changed", Exit::Interrupted};
  if (outcome.timed_out) return environment_error(words[1] + " " + outcome.describe());
  KERNELIFT_ASSIGN(Json document, parse_json(outcome.out, words[1]));
  if (document.contains("error"))
    return environment_error(words[1] + ": " + document.value("error", outcome.describe()));
  return document;
}

Result<std::vector<reintegrate::OtherKernel>> OtherKernelJudge::judge(const ScannedKernel& kernel,
                                                                      const std::vector<Bindings>& changes) {
  if (!folder_) {
    KERNELIFT_ASSIGN(folder_, TemporaryFolder::create("neighbours", context_.state_folder()));
  }
  fs::path folder = folder_->path() / kernel.id, questions = folder_->path() / (kernel.id + ".jsonl");
  KERNELIFT_ASSIGN(Json extracted, run({"extract", kernel.id, "--out", folder.string()}));
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  KERNELIFT_ASSIGN(Candidate original, tuner::original_candidate(mep, folder));
  // A knob that only the kernel's launches use is not in the MEP. In the launch of a template it may be a template
  // argument, and another value would be another kernel.
  for (auto& knob : knobs_) {
    bool known = std::any_of(mep.knobs.begin(), mep.knobs.end(), [&](auto& one) { return one.name == knob.name; });
    if (known || kernel.is_template || !reintegrate::is_used_by(knob, kernel)) continue;
    mep.knobs.push_back(knob);
    mep.knobs.back().in_kernel = false;
  }
  tuner::MepSpace space = tuner::MepSpace::create(mep, original);
  std::vector<reintegrate::OtherKernel> all(changes.size());
  std::vector<size_t> submitted;
  std::string lines;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (auto point = space.point_at(changes[i])) {
      lines += compact(to_json(space.materialise(*point))) + "\n";
      submitted.push_back(i);
    } else {
      all[i].why = "it is not known how the kernel and its launch would follow the new values";
    }
  }
  if (submitted.empty()) return all;
  KERNELIFT_TRY(write_atomically(questions, lines));
  KERNELIFT_ASSIGN(Json answers, run({"evaluate", folder.string(), questions.string(), "--as-built"}));
  const Json verdicts = answers.value("verdicts", Json::array());
  if (verdicts.size() != submitted.size())
    return environment_error("evaluate gave " + std::to_string(verdicts.size()) + " verdicts for " +
                             std::to_string(submitted.size()) + " candidates");
  for (size_t n = 0; n < submitted.size(); ++n) {
    KERNELIFT_ASSIGN(Evaluation evaluation, evaluation_from_json(verdicts[n], "evaluate"));
    reintegrate::OtherKernel& other = all[submitted[n]];
    if (auto* none = std::get_if<NotJudged>(&evaluation)) {
      other.why = none->why;
      continue;
    }
    const Verdict& verdict = std::get<Verdict>(evaluation);
    other.speedup = beyond_noise(verdict);
    other.found = found_by(verdict);
    if (!verdict.ok()) other.why = verdict.text();
    // Its launches get no guard.
    auto& sizes = verdict.other_sizes;
    if (verdict.ok() && sizes && sizes->known == OtherSizes::Known::UnderPremise && sizes->wrong_elsewhere)
      other.found = Found::Wrong, other.why = "at sizes that were not recorded it is " + sizes->text();
  }
  return all;
}

}  // namespace kernelift::cli
