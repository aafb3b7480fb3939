// The compiler tier, second half: a steady-state genetic search over pass pipelines on the best candidate. LLVM's own
// pipelines come first as controls. When a pipeline has led for a while it is reduced: each pass is left out in turn,
// and stays out where that costs nothing, so that what is reported holds only passes that matter. A pipeline that
// brought the compiler down is blamed on the pass that was at work, which is not used again.
#pragma once
#include <map>
#include <set>

#include "tuner/compiler/pass_pipeline.h"
#include "tuner/proposer.h"

namespace kernelift {

class PassProposer : public Proposer {
 public:
  explicit PassProposer(uint64_t seed) : random_(seed) {}
  std::string name() const override { return "passes"; }
  std::string tier() const override { return "compiler"; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;

 private:
  struct Member {
    PassPipeline pipeline;
    double speedup = 0;
  };

  PassPipeline next();
  const Member& pick();
  std::optional<PassPipeline> next_reduction();

  Random random_;
  int64_t base_ = 0;                 ///< RunTrial whose candidate the population was measured on.
  std::vector<PassPipeline> first_;  ///< To be tried before anything is bred; last first.
  std::vector<Member> population_;   ///< Best first.
  std::map<Hash, PassPipeline> asked_;
  std::set<std::string> tried_;   ///< Texts, for this base.
  std::set<std::string> banned_;  ///< Passes that crashed the compiler.
  size_t since_improvement_ = 0, reduced_ = 0;
  double best_ = 0;
};

}  // namespace kernelift
