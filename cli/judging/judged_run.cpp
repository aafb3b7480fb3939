// See judged_run.h.
#include "cli/judging/judged_run.h"

#include "core/base/file.h"
#include "extractor/record/cuda/cupti/find_cupti.h"
#include "tuner/tuner.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

constexpr const char* kState = "judged";  ///< Present in runs of this kind.

/// What the MEP's last run knows, if it can be continued.
std::optional<tuner::Run> last_run(const fs::path& state, const std::string& name, const tuner::RunMeta& wanted) {
  const fs::path file = tuner::Run::latest_path(state, name);
  if (file.empty()) return std::nullopt;
  auto seen = tuner::Run::open(file);
  if (!seen.ok()) return std::nullopt;
  auto kind = seen->get_state(kState);
  const tuner::RunMeta& meta = seen->meta();
  if (!kind.ok() || kind->empty() || meta.mep_hash != wanted.mep_hash || meta.device != wanted.device ||
      meta.tolerance != wanted.tolerance)
    return std::nullopt;
  auto run = tuner::Run::resume(file);
  return run.ok() ? std::optional(*std::move(run)) : std::nullopt;
}

}  // namespace

Result<JudgedRun> JudgedRun::open(const Mep& mep, const fs::path& folder, double tolerance, Evaluator& evaluator,
                                  const Context& context) {
  tuner::RunMeta meta;
  meta.mep = folder.string(), meta.kernel = mep.kernel_name, meta.device = context.device, meta.tolerance = tolerance;
  if (meta.device == "auto" && !record::has_nvidia_driver()) meta.device = "cpu";
  meta.tiers = {"source"};
  KERNELIFT_ASSIGN(meta.mep_hash, tuner::hash_mep(folder, mep));
  const fs::path state = context.state_folder();
  const std::string name = folder.filename().string();
  std::optional<tuner::Run> run = last_run(state, name, meta);
  if (!run) {
    KERNELIFT_TRY(create_state_folder(state));
    KERNELIFT_ASSIGN(run, tuner::Run::create(tuner::Run::next_path(state, name), meta));
    KERNELIFT_TRY(run->put_state(kState, "evaluate"));
  }
  KERNELIFT_ASSIGN(const Candidate original, tuner::original_candidate(mep, folder));
  KERNELIFT_TRY(run->record_kernel(tuner::kernel_of(mep, original.source)));
  KERNELIFT_ASSIGN(auto trials, run->history());
  std::map<std::string, int64_t> known;
  for (auto& trial : trials) known.emplace(trial.candidate.key().hex(), trial.id);
  JudgedRun judged(*std::move(run), std::move(known));
  if (trials.empty()) {
    const Evaluation measured = evaluator.submit(original).get();
    if (auto* none = std::get_if<NotJudged>(&measured))
      return environment_error("the original cannot be measured: " + none->why);
    KERNELIFT_TRY(judged.keep(original, measured));
  }
  return judged;
}

double JudgedRun::spent() const {
  return before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
}

Result<int64_t> JudgedRun::keep(const Candidate& candidate, const Evaluation& screened,
                                const std::optional<Evaluation>& confirmed) {
  auto* verdict = std::get_if<Verdict>(&screened);
  if (!verdict) return 0;
  int64_t& id = known_[candidate.key().hex()];
  if (id == 0) {
    KERNELIFT_ASSIGN(id, run_.record(candidate, *verdict, {}, spent()));
  }
  if (auto* again = confirmed ? std::get_if<Verdict>(&*confirmed) : nullptr)
    KERNELIFT_TRY(run_.record_confirmation(id, *again));
  KERNELIFT_TRY(run_.record_time(spent()));
  return id;
}

}  // namespace kernelift::cli
