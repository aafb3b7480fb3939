// The interface of everything that proposes candidates: rewrite rules, a language model, and the searches over
// parameters, compiler flags and pass pipelines. A proposer reads the history and learns from every verdict. It never
// decides whether a candidate is right or fast, and it never blocks: a model is called in the background.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tuner/history.h"

namespace kernelift::tuner {

struct Proposal {
  Candidate candidate;
  std::vector<int64_t> parents;  ///< Ids of the trials it was made from.
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string name() const = 0;
  virtual std::string tier() const = 0;  ///< source | params | compiler.
  /// Its ideas are made elsewhere and take long: it is asked before all others, so that they come while these are
  /// tried.
  virtual bool in_background() const { return false; }
  /// At most `count` proposals; none if there is nothing to propose now. Candidates that were tried before are not
  /// measured again.
  virtual std::vector<Proposal> propose(const History& history, size_t count) = 0;
  /// The logarithm of the gain that its next proposal is expected to have, where it can tell.
  virtual std::optional<double> expected_gain(const History& history) { return std::nullopt; }
  /// Makes the change of a step, which this kind of proposer made to another candidate, to `base`; nullopt if it cannot
  /// be made there, or is of another kind.
  virtual std::optional<Candidate> repeat(const Candidate& base, const Step& step) { return std::nullopt; }
  /// Called for every finished trial, in order, of all proposers; also for an earlier trial that a proposal equals.
  virtual void learn(const RunTrial& trial) {}
  /// A background task is running whose result may become a proposal.
  virtual bool waiting() const { return false; }
  /// Nobody had anything to propose and nothing is in flight: what was put off costs the search nothing now.
  virtual void when_idle() {}
  /// Sentences for the log since the last call.
  virtual std::vector<std::string> take_notes() { return {}; }
  /// What it has used so far that somebody pays for, in a few words; or empty.
  virtual std::string spending() const { return {}; }
  /// A sentence for the report when the search is over; may be empty.
  virtual std::string closing_note() const { return {}; }
};

}  // namespace kernelift::tuner
