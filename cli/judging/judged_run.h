// The run in which `kernelift evaluate --keep` keeps what it times, of a person with an editor as of a coding agent:
// `apply` and `report` take it as they take a search's, and later searches begin from it. Candidates of one state of a
// MEP are kept in one run, NAME-judged-N, beside those of searches, which are numbered apart. It is begun by the first
// candidate, and nobody is kept from it between two requests.
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
  static Result<JudgedRun> of(const Mep& mep, const std::filesystem::path& folder, double tolerance,
                              Evaluator& evaluator, const Context& context);

  /// Returns the trial's number: that of an earlier trial of the same candidate, if it came to the same; 0 if it was
  /// not judged. `confirmed`: in a fresh process, of one that was screened as `screened` says. Holds the run until
  /// release().
  Result<int64_t> keep(const Candidate& candidate, const Evaluation& screened,
                       const std::optional<Evaluation>& confirmed = {});
  /// Others may write to the run.
  void release() { run_.reset(); }
  /// Empty: nothing was kept.
  const std::filesystem::path& file() const { return file_; }

 private:
  struct Known {
    int64_t id = 0;
    bool right = false, gains = false, confirmed = false;
    double low = 0;  ///< Lower end of the confirmed speedup.
  };
  JudgedRun(Mep mep, std::filesystem::path folder, std::filesystem::path state, tuner::RunMeta meta, Candidate original,
            Evaluator& evaluator)
      : mep_(std::move(mep)),
        folder_(std::move(folder)),
        state_(std::move(state)),
        meta_(std::move(meta)),
        original_(std::move(original)),
        evaluator_(&evaluator) {}
  /// The last run of this text, inputs, device and tolerance that nobody writes to, or a new one with the original.
  Status hold();
  std::optional<tuner::Run> last() const;
  Result<tuner::Run> begin() const;
  Result<int64_t> add(const Candidate& candidate, const Verdict& verdict);

  Mep mep_;
  std::filesystem::path folder_, state_, file_;
  tuner::RunMeta meta_;
  Candidate original_;
  Evaluator* evaluator_;
  std::optional<tuner::Run> run_;       ///< While it is held.
  std::map<std::string, Known> known_;  ///< Its latest trials, by their candidates' keys.
  double spent_ = 0;                    ///< Seconds for which candidates were judged, over all sittings.
};

}  // namespace kernelift::cli
