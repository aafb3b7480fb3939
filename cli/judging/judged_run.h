// The run in which `kernelift evaluate --keep` keeps what it judges, of a person with an editor as of a coding agent:
// `apply`, `report` and further tuning go on from it as from a search's. Candidates of one state of a MEP are kept in
// one run, which the next `evaluate --keep` continues.
#pragma once
#include <map>
#include <optional>

#include "cli/verb.h"
#include "core/model/evaluator.h"
#include "core/model/mep.h"
#include "tuner/store/run.h"

namespace kernelift::cli {

class JudgedRun {
 public:
  /// Continues the MEP's last run of this kind, if it is of the same text, inputs, device and tolerance and nobody
  /// writes to it; else begins one with the original's verdict.
  static Result<JudgedRun> open(const Mep& mep, const std::filesystem::path& folder, double tolerance,
                                Evaluator& evaluator, const Context& context);

  /// Returns the trial's number, of a candidate that was kept before the number it has; 0 if it was not judged.
  /// `confirmed`: in a fresh process, of one that was screened as `screened` says.
  Result<int64_t> keep(const Candidate& candidate, const Evaluation& screened,
                       const std::optional<Evaluation>& confirmed = {});
  const std::filesystem::path& file() const { return run_.file(); }

 private:
  JudgedRun(tuner::Run run, std::map<std::string, int64_t> known)
      : run_(std::move(run)), known_(std::move(known)), before_(run_.meta().seconds_spent) {}
  double spent() const;

  tuner::Run run_;
  std::map<std::string, int64_t> known_;  ///< Trials by their candidates' keys.
  double before_ = 0;                     ///< Seconds of earlier sittings.
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace kernelift::cli
