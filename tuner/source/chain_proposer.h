// What helped other kernels of the application, tried first on this one: the same rewrites with the same parameters,
// where the text offers them, and the same values of knobs and block sizes of the same name.
#pragma once
#include <vector>

#include "tuner/proposer.h"
#include "tuner/source/chain.h"
#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {

class ChainProposer : public Proposer {
 public:
  /// `mep` outlives it. Of a MEP that is a whole unit only knobs are changed: a rewrite might be of another kernel.
  ChainProposer(const Mep& mep, RuleContext facts, std::vector<std::string> clang_arguments, std::vector<Chain> chains)
      : mep_(mep), facts_(std::move(facts)), arguments_(std::move(clang_arguments)), chains_(std::move(chains)) {}
  std::string name() const override { return "chains"; }
  std::string tier() const override { return "source"; }
  bool in_background() const override { return true; }  // Few, and made already: asked before all others.
  std::vector<Proposal> propose(const History& history, size_t count) override;
  std::vector<std::string> take_notes() override { return std::exchange(notes_, {}); }

  /// `original` after the steps of the chain that apply to it; the original itself if none does.
  Candidate follow(const Chain& chain, const Candidate& original) const;

 private:
  const Mep& mep_;
  RuleContext facts_;
  std::vector<std::string> arguments_;
  std::vector<Chain> chains_;
  size_t next_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace kernelift::tuner
