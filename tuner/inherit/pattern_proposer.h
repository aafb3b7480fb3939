// Tries first what helped the most similar kernels of other applications: the same rewrites, block sizes and recipes,
// where they apply. A few candidates, and no more of them once the first ones gained nothing, so that a library that
// misleads costs little.
#pragma once
#include <deque>
#include <map>
#include <memory>

#include "tuner/inherit/pattern_library.h"
#include "tuner/proposer.h"
#include "tuner/source/chain_proposer.h"

namespace kernelift::tuner {

/// What a run takes from the library, and what came of it; shared by the proposer and by who keeps the run.
struct InheritedPatterns {
  struct Tried {
    Pattern pattern;
    double similarity = 0;
    bool whole = false;        ///< All of the chain applied.
    int64_t candidate = 0;     ///< Its trial.
    std::string outcome = {};  ///< As verdicts name it.
    double gain = 1;           ///< The lower end of its interval here.
    bool held = false;         ///< It gained.
  };
  PatternContext context;
  std::vector<Pattern> offers;  ///< The best first.
  std::vector<Tried> tried = {};

  /// Those that say something about their patterns. A kernel's own patterns do not.
  std::vector<PatternOutcome> outcomes() const;
};
Json to_json(const InheritedPatterns::Tried&);

/// How many patterns a search tries: a tenth of its candidates at most, where these are limited.
size_t most_patterns(int64_t evaluations);

class PatternProposer : public Proposer {
 public:
  /// `tiers`: a pattern that needs another one is left out. `repeat` makes the steps of a chain.
  PatternProposer(const Mep& mep, std::shared_ptr<InheritedPatterns> inherited, std::vector<std::string> tiers,
                  ChainProposer repeat);
  std::string name() const override { return "patterns"; }
  std::string tier() const override { return tiers_.front(); }
  bool in_background() const override { return true; }  // Made already: asked before all others.
  std::vector<Proposal> propose(const History& history, size_t count) override;
  std::optional<double> expected_gain(const History& history) override;
  void learn(const RunTrial& trial) override;
  std::vector<std::string> take_notes() override { return std::exchange(notes_, {}); }

 private:
  /// nullopt: nothing of the pattern applies, or it needs another tier.
  std::optional<Candidate> follow(const Pattern& pattern, const Candidate& original) const;

  const Mep& mep_;
  std::shared_ptr<InheritedPatterns> inherited_;
  std::vector<std::string> tiers_;
  ChainProposer repeat_;
  size_t next_ = 0, judged_ = 0, held_ = 0;
  std::map<Hash, InheritedPatterns::Tried> flying_;
  std::vector<std::string> notes_;
};

}  // namespace kernelift::tuner
