// The rewrite rules as a proposer: every opportunity on the best sources, one edit at a time, stacked on what proved
// fast. Which rule is tried next follows what its earlier edits brought; texts are parsed once and kept for as long as
// they are among the best.
#pragma once
#include <deque>
#include <map>
#include <memory>

#include "tuner/proposer.h"
#include "tuner/source/rules/rule.h"

namespace kernelift {

class RuleProposer : public Proposer {
 public:
  /// `clang_arguments`: frontend_arguments() of the MEP's language, architecture and flags.
  RuleProposer(RuleContext facts, std::vector<std::string> clang_arguments);
  std::string name() const override { return "rules"; }
  std::string tier() const override { return "source"; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;
  std::vector<std::string> take_notes() override;

 private:
  /// Of the parent's text, or of the same in other lines.
  struct Idea {
    const Rule* rule;
    Opportunity opportunity;
    std::shared_ptr<const std::string> text;
  };
  struct Record {
    double gained = 0;
    int tried = 0;
  };  ///< Sum of log speedup over the parent.

  std::deque<Idea>& ideas_of(const RunTrial& trial);
  double promise(const Rule* rule) const;

  RuleContext facts_;
  std::vector<std::string> arguments_;
  std::map<std::string, std::deque<Idea>> ideas_;  ///< Untried, by the parent's source text.
  std::map<const Rule*, Record> records_;
  std::map<Hash, std::pair<const Rule*, double>> asked_;  ///< By candidate key: rule and the parent's speedup.
  std::vector<std::string> notes_;
};

/// `candidate` with the opportunity applied: text, launches, steps. nullopt if its edits overlap.
std::optional<Candidate> apply(const Candidate& candidate, const Rule& rule, const Opportunity& opportunity,
                               const std::string& kernel);

}  // namespace kernelift
