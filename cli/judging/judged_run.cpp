// See judged_run.h.
#include "cli/judging/judged_run.h"

#include "core/base/file.h"
#include "extractor/record/cuda/cupti/find_cupti.h"
#include "tuner/tuner.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

constexpr int kAttempts = 8;  ///< To begin a run, where others begin some at the same time.

std::string judged_name(const fs::path& folder) { return folder.filename().string() + "-judged"; }

}  // namespace

Result<JudgedRun> JudgedRun::of(const Mep& mep, const fs::path& folder, double tolerance, Evaluator& evaluator,
                                const Context& context) {
  tuner::RunMeta meta;
  meta.mep = folder.string(), meta.kernel = mep.kernel_name, meta.device = context.device, meta.tolerance = tolerance;
  if (record::is_processor(meta.device)) meta.device = "cpu";
  meta.tiers = {"source"};
  KERNELIFT_ASSIGN(meta.mep_hash, tuner::hash_mep(folder, mep));
  KERNELIFT_ASSIGN(Candidate original, tuner::original_candidate(mep, folder));
  return JudgedRun(mep, folder, context.state_folder(), std::move(meta), std::move(original), evaluator);
}

std::optional<tuner::Run> JudgedRun::last() const {
  for (auto& file : tuner::Run::paths(state_, judged_name(folder_))) {
    auto seen = tuner::Run::open(file);
    if (!seen.ok()) continue;
    const tuner::RunMeta& meta = seen->meta();
    if (meta.mep_hash != meta_.mep_hash || meta.device != meta_.device || meta.tolerance != meta_.tolerance) continue;
    if (auto run = tuner::Run::resume(file); run.ok()) return *std::move(run);
  }
  return std::nullopt;
}

Result<tuner::Run> JudgedRun::begin() const {
  KERNELIFT_TRY(create_state_folder(state_));
  for (int attempt = 1;; ++attempt) {
    const fs::path file = tuner::Run::next_path(state_, judged_name(folder_));
    auto run = tuner::Run::create(file, meta_);
    std::error_code code;
    if (run.ok() || attempt == kAttempts || !fs::exists(file, code)) return run;
  }
}

Status JudgedRun::hold() {
  if (run_) return done();
  if (!file_.empty())
    if (auto again = tuner::Run::resume(file_); again.ok()) run_ = *std::move(again);
  if (!run_) run_ = last();
  if (!run_) {
    KERNELIFT_ASSIGN(run_, begin());
  }
  if (run_->file() == file_) return done();
  file_ = run_->file(), spent_ = run_->meta().seconds_spent;
  KERNELIFT_TRY(run_->record_kernel(tuner::kernel_of(mep_, original_.source)));
  KERNELIFT_ASSIGN(auto trials, run_->history());
  known_.clear();
  for (auto& trial : trials)
    known_[trial.candidate.key().hex()] = {trial.id, trial.figures().ok(), trial.figures().gains(),
                                           trial.confirmed.has_value(), trial.figures().speedup_low()};
  if (!trials.empty()) return done();
  const Evaluation measured = evaluator_->submit(original_).get();
  auto* verdict = std::get_if<Verdict>(&measured);
  if (!verdict) return environment_error("the original cannot be measured: " + std::get<NotJudged>(measured).why);
  KERNELIFT_TRY(add(original_, *verdict));
  return done();
}

Result<int64_t> JudgedRun::add(const Candidate& candidate, const Verdict& verdict) {
  spent_ += verdict.compile_seconds + verdict.evaluate_seconds;
  Known& known = known_[candidate.key().hex()];
  // What was confirmed, or refused then, is known better than what is screened now.
  const bool alike = known.right == verdict.ok() && known.gains == verdict.gains();
  if (known.id > 0 && (alike || (known.confirmed && (verdict.ok() || !known.right)))) return known.id;
  // What was confirmed and is refused now counts no more.
  if (known.id > 0 && known.confirmed && !verdict.ok()) KERNELIFT_TRY(run_->record_confirmation(known.id, verdict));
  KERNELIFT_ASSIGN(known.id, run_->record(candidate, verdict, {}, spent_));
  known.right = verdict.ok(), known.gains = verdict.gains(), known.low = 0;
  known.confirmed = known.confirmed && !verdict.ok();  // One that was refused stays so.
  return known.id;
}

Result<int64_t> JudgedRun::keep(const Candidate& candidate, const Evaluation& screened,
                                const std::optional<Evaluation>& confirmed) {
  auto* verdict = std::get_if<Verdict>(&screened);
  if (!verdict) return 0;
  KERNELIFT_TRY(hold());
  KERNELIFT_ASSIGN(const int64_t id, add(candidate, *verdict));
  if (auto* again = confirmed ? std::get_if<Verdict>(&*confirmed) : nullptr) {
    Known& known = known_[candidate.key().hex()];
    // Of several confirmations the weakest counts: who asks until one gains would get a gain at last.
    if (!known.confirmed || !again->ok() || (known.right && again->speedup_low() < known.low)) {
      KERNELIFT_TRY(run_->record_confirmation(id, *again));
      known = {id, again->ok(), again->gains(), true, again->speedup_low()};
    }
    spent_ += again->compile_seconds + again->evaluate_seconds;
  }
  KERNELIFT_TRY(run_->record_time(spent_));
  return id;
}

}  // namespace kernelift::cli
