// Crosses what models wrote with what others found: a chain of rules on a model's text is the same as the model's
// change on the rules' text, namely both changes of the text that the two have in common. No model is asked for it.
#pragma once
#include <deque>
#include <optional>
#include <set>

#include "tuner/proposer.h"
#include "tuner/source/evolution/population.h"

namespace kernelift::tuner {

/// Both candidates' changes of `base`, from which both descend. nullopt: they contradict each other, in the text, the
/// launch or a value, or one has nothing that the other lacks.
std::optional<Candidate> crossed(const Candidate& base, const Candidate& one, const Candidate& other);

class Crossing {
 public:
  /// The next pair that was not crossed yet of a model's candidate that gains and a member of another cell that does,
  /// the fastest first.
  std::optional<Proposal> next(const Population& population, const History& history);

 private:
  void look_for_pairs(const Population& population, const History& history);

  size_t seen_ = 0;  ///< Trials of the history when pairs were last looked for.
  std::set<std::pair<int64_t, int64_t>> tried_;
  std::deque<std::pair<int64_t, int64_t>> pairs_;
};

}  // namespace kernelift::tuner
