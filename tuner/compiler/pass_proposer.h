// Pass pipelines of the compiler tier: a steady-state genetic search on the best candidate. LLVM's own pipelines come
// first as controls. A pipeline that has led for a while is reduced: its passes are removed one by one, and stay
// removed if that costs nothing, so that a reported pipeline contains only passes that matter. If a pipeline crashes
// the compiler, the pass that was running is not used again.
#pragma once
#include <map>
#include <set>

#include "tuner/compiler/pass_pipeline.h"
#include "tuner/proposer.h"

namespace kernelift::tuner {

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
  int64_t base_ = 0;                 ///< Id of the trial on whose candidate the population was measured.
  std::vector<PassPipeline> first_;  ///< Pipelines to try before breeding, in reverse order.
  std::vector<Member> population_;   ///< Best first.
  std::map<Hash, PassPipeline> asked_;
  std::set<std::string> tried_;   ///< Texts of pipelines tried on this base.
  std::set<std::string> banned_;  ///< Passes that crashed the compiler.
  size_t since_improvement_ = 0, reduced_ = 0;
  double best_ = 0;
};

}  // namespace kernelift::tuner
