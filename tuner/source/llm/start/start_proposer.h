// Asks a model once, in the background, for starting configurations of the original's parameters. It proposes nothing
// itself: what the model answers is handed to the parameter tier, whose searcher tries the first of them and takes all
// as a prior that measurements must bear out (search/starting_points.h). The search never waits for the answer, and an
// answer of which nothing fits the space leaves the search as it is.
#pragma once
#include <set>

#include "tuner/search/starting_points.h"
#include "tuner/source/llm/llm_proposer.h"
#include "tuner/space/mep_space.h"

namespace kernelift::tuner {

/// What a model proposed to begin with, by names and values; best first.
struct ProposedStart {
  std::string model;
  std::vector<Bindings> configurations;
  EarlierRun run;  ///< The same as something to inherit.
};

/// Key of the run's state: the model, its configurations, what was rejected and why, and what came of them.
inline constexpr const char* kStartState = "llm/start";

class StartProposer : public Proposer {
 public:
  using Take = std::function<void(const ProposedStart&)>;
  /// `take` is called once, from propose(), if there is something. A run that goes on takes what an earlier sitting was
  /// answered, and does not ask again.
  StartProposer(const Mep& mep, LlmOptions options, std::shared_ptr<ModelCalls> calls, Take take);
  ~StartProposer() override;
  std::string name() const override { return "llm-start"; }
  std::string tier() const override { return "params"; }
  bool in_background() const override { return true; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;
  std::vector<std::string> take_notes() override { return std::exchange(notes_, {}); }
  std::string closing_note() const override;

 private:
  void begin(const History& history);
  void take_answer(const AnsweredCall& answered);
  void hand_over(const StartingPoints& points);
  void keep() const;

  const Mep& mep_;
  LlmOptions options_;
  std::shared_ptr<ModelCalls> calls_;
  Take take_;
  bool begun_ = false;
  std::optional<int64_t> call_;     ///< Under way.
  std::optional<MepSpace> space_;   ///< The original's.
  std::string model_;               ///< That was asked; empty: none.
  std::vector<Bindings> proposed_;  ///< In the order of the answer.
  std::vector<std::string> rejected_;
  std::set<Hash> waiting_;  ///< Keys of what was proposed and is not judged yet.
  size_t tried_ = 0, right_ = 0, faster_ = 0;
  double best_ = 0;  ///< Lower end of the fastest one's speedup.
  std::vector<std::string> notes_;
};

}  // namespace kernelift::tuner
