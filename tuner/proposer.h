// The seam of everything that has ideas: rewrite rules, a language model, the parameter searcher, the flag searcher and
// the pass-pipeline search. Given the history, propose candidates; learn from every verdict. A proposer never decides
// whether a candidate is right or fast, and never waits: slow ones (a model) work in the background.
#pragma once
#include <string>
#include <vector>

#include "tuner/history.h"

namespace kernelift {

struct Proposal {
  Candidate candidate;
  std::vector<int64_t> parents;  ///< Ids of the trials it was made from.
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string name() const = 0;
  virtual std::string tier() const = 0;  ///< source | params | compiler.
  /// At most `count` proposals; none when it has no idea now. What was tried before is not measured again.
  virtual std::vector<Proposal> propose(const History& history, size_t count) = 0;
  /// Every finished trial, in order, whoever proposed it; also an earlier trial again when a proposal equalled it.
  virtual void learn(const RunTrial& trial) {}
  /// Something is under way that may become a proposal later.
  virtual bool waiting() const { return false; }
  /// Sentences for the log since the last call ("the model's answer held no edit; asked again").
  virtual std::vector<std::string> take_notes() { return {}; }
  /// A sentence for the log when the search is over: what came of what it asked for; empty where there is nothing to
  /// say.
  virtual std::string closing_note() const { return {}; }
};

}  // namespace kernelift
