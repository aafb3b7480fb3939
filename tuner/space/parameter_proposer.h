// The parameter tier: knob values and block sizes of the best sources, chosen by a searcher. Each source text gets a
// space of its own. Before its searcher starts, every parameter is moved one step up and down alone; one whose every
// step gives a wrong answer is no tuning knob (a stencil's radius, an iteration count) and is left alone from then on.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/model/mep.h"
#include "tuner/proposer.h"
#include "tuner/search/searcher.h"
#include "tuner/space/mep_space.h"

namespace kernelift {

class ParameterProposer : public Proposer {
 public:
  ParameterProposer(const Mep& mep, std::string strategy, uint64_t seed);
  std::string name() const override { return "params:" + strategy_; }
  std::string tier() const override { return "params"; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;
  std::vector<std::string> take_notes() override;

 private:
  /// One source text being tuned.
  struct Base {
    int64_t id = 0;  ///< Of the trial whose source it is.
    std::unique_ptr<MepSpace> space;
    std::unique_ptr<Searcher> searcher;  ///< Over *space; null until the probes are answered.
    std::deque<Point> probes;            ///< Not proposed yet.
    size_t unanswered = 0;
    std::map<Point, Verdict> probed;
    std::map<Hash, Point> asked;  ///< By candidate key.
  };

  Base* base_for(const RunTrial& trial, const History& history);
  bool moves_dead_parameter(const Base& base, const Point& point) const;
  void start_searcher(Base& base);

  const Mep& mep_;
  std::string strategy_;
  uint64_t seed_;
  std::map<std::string, std::unique_ptr<Base>> bases_;  ///< By source text.
  Base* probing_ = nullptr;     ///< One source at a time finds out which parameters change what the kernel computes …
  std::set<std::string> dead_;  ///< … for all of them.
  size_t turn_ = 0;             ///< Whose turn it is among the sources.
  std::vector<std::string> notes_;
};

/// What of the block's size is left alone on the original, why, and what could be changed, a line each; nothing where
/// the parameter tier is not among `tiers`.
std::vector<std::string> blocks_not_tried(const Mep& mep, const Candidate& original,
                                          const std::vector<std::string>& tiers);

}  // namespace kernelift
