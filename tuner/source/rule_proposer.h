// The rewrite rules as a proposer: one opportunity at a time on one of the fastest sources, so that edits accumulate on
// fast candidates. The next rule is chosen by the gains of its earlier edits. Each text is parsed once.
#pragma once
#include <deque>
#include <map>
#include <memory>

#include "tuner/proposer.h"
#include "tuner/rule_outcomes.h"
#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {

class RuleProposer : public Proposer {
 public:
  /// `clang_arguments`: frontend_arguments() of the MEP's language, architecture and flags.
  /// `without`: names of rules that are not tried.
  RuleProposer(RuleContext facts, std::vector<std::string> clang_arguments, std::vector<std::string> without = {});
  std::string name() const override { return "rules"; }
  std::string tier() const override { return "source"; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  std::optional<double> expected_gain(const History& history) override;
  std::optional<Candidate> repeat(const Candidate& base, const Step& step) override;
  /// What there is to try of the original's text, the rules that promise most first. closing_note() then says which
  /// were expected to apply and do not.
  std::vector<RuleOffer> offers(const Candidate& original);
  void learn(const RunTrial& trial) override;
  std::vector<std::string> take_notes() override;
  std::string closing_note() const override;

 private:
  struct Idea {
    const Rule* rule;
    Opportunity opportunity;
    std::string name;  ///< Of rule, place, values and effects: unique among the ideas of a text.
    std::shared_ptr<const std::string>
        text;  ///< The parent's text in the usual form (for_loops.h), if the edits are for that; or null.
    /// Promotions of sums in memory to registers without which the rule does not apply, in order.
    std::shared_ptr<const std::vector<Opportunity>> promotions;
  };
  struct Record {
    double gained = 0;  ///< Sum of the logarithms of speedups over the parent.
    int tried = 0;
  };

  struct Choice {
    const RunTrial* parent;
    std::deque<Idea>* ideas;
    std::deque<Idea>::iterator idea;
    double promise;
  };
  /// The untried idea that promises most; nullopt: there is none.
  std::optional<Choice> choose(const History& history);
  /// What can be made of the trial, and was not made of its text before, with other blocks either.
  std::deque<Idea>& ideas_of(const RunTrial& trial);
  bool is_asked(const Rule& rule) const;
  /// The text with all sums of loops in registers, and the promotions that lead there.
  struct Promoted {
    KernelSource source;
    std::shared_ptr<const std::vector<Opportunity>> promotions;
  };
  /// nullopt: there is nothing to promote, or the rule is left out.
  std::optional<Promoted> promoted(const KernelSource& source, const RuleContext& facts) const;
  /// The text, without the functions that the kernel does not use.
  Result<KernelSource> parse(const std::string& text,
                             KernelSource::Templates templates = KernelSource::Templates::AsSpelled) const;
  /// What a rule finds only where it sees the types that a template has in its instance.
  std::optional<KernelSource> as_instance(const KernelSource& spelled) const;
  /// Finds them in the original.
  void find_foreign(const std::string& original);
  double promise(const Rule* rule) const;

  RuleContext facts_;
  std::vector<std::string> arguments_, without_;
  /// Names of functions of a whole unit that the kernel does not use: an edit of them would change other code only.
  std::optional<std::set<std::string>> foreign_;
  struct Ideas {
    std::map<std::string, std::deque<Idea>> untried;  ///< By the candidate's blocks, which rules look at.
    std::set<std::string> tried;                      ///< Names of ideas.
  };
  std::map<std::string, Ideas> ideas_;  ///< By the parent's source text.
  std::map<const Rule*, Record> records_;
  struct Asked {
    const Rule* rule;
    double before;         ///< The parent's speedup.
    bool shrinks = false;  ///< The grid becomes smaller.
  };
  std::map<Hash, Asked> asked_;  ///< By candidate key.
  std::vector<std::string> notes_;
  std::set<std::string> declined_;  ///< Rules that were expected to apply to the original and do not, and why.
};

/// `candidate` with the opportunity applied to its text, launches and steps. nullopt if the edits overlap.
std::optional<Candidate> apply(const Candidate& candidate, const Rule& rule, const Opportunity& opportunity,
                               const std::string& kernel);

}  // namespace kernelift::tuner
