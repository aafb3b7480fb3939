// Takes changes from a leader again: one without which it is as fast only makes the patch longer.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/proposer.h"

namespace kernelift::tuner {

/// How often a change can be taken from it: once for each step, and for each value of a step that sets several knobs.
/// 0 where there is only one.
size_t count_changes(const Candidate& candidate);

/// Makes the change of a step to another candidate; nullopt if it cannot be made there.
using RepeatStep = std::function<std::optional<Candidate>(const Candidate& base, const Step& step)>;

struct OneChangeLess {
  Candidate candidate;
  std::string without;  ///< The change that it lacks, in words.
};

/// `leader` with one change less, for each change without which the others can be repeated from the original on.
std::vector<OneChangeLess> with_one_change_less(const Candidate& original, const Candidate& leader,
                                                const RepeatStep& repeat);

class Reduction {
 public:
  /// Measures candidates that were made from `parent`, as far as there is time; then they are in the history.
  using Measure = std::function<Status(std::vector<Candidate> candidates, const RunTrial& parent)>;

  Reduction(const History& history, const std::vector<std::unique_ptr<Proposer>>& proposers, Measure measure)
      : history_(history), proposers_(proposers), measure_(std::move(measure)) {}

  /// What was taken from the leader, a sentence for each change.
  Result<std::vector<std::string>> reduce(const RunTrial* leader);
  /// What is left of the trial.
  const RunTrial* shortest(const RunTrial* trial) const;

 private:
  const History& history_;
  const std::vector<std::unique_ptr<Proposer>>& proposers_;
  Measure measure_;
  std::map<const RunTrial*, const RunTrial*> shorter_;
};

}  // namespace kernelift::tuner
