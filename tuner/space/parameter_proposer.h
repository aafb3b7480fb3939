// The parameter tier: knob values and block sizes of the best sources, chosen by a searcher. Each source text has a
// space of its own. Before its searcher starts, every parameter is probed one step up and down alone; if all of its
// steps give wrong results, it is not a tuning parameter (a stencil's radius, an iteration count) and is not changed
// again.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/model/mep.h"
#include "tuner/proposer.h"
#include "tuner/search/prior.h"
#include "tuner/search/searcher.h"
#include "tuner/space/mep_space.h"

namespace kernelift::tuner {

class ParameterProposer : public Proposer {
 public:
  /// `earlier`: what the searchers inherit.
  ParameterProposer(const Mep& mep, std::string strategy, uint64_t seed, std::vector<EarlierRun> earlier = {});
  std::string name() const override { return "params:" + strategy_; }
  std::string tier() const override { return "params"; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  std::optional<Candidate> repeat(const Candidate& base, const Step& step) override;
  void learn(const RunTrial& trial) override;
  /// What somebody proposes to begin with, which may come at any time: searchers try the first configurations, and
  /// take the run as what an earlier run found if these are fast. Candidates of these configurations name who proposed
  /// them.
  void begin_with(EarlierRun run, const std::vector<Bindings>& configurations, const std::string& by);
  std::vector<std::string> take_notes() override;

 private:
  /// One source text being tuned.
  struct Base {
    int64_t id = 0;  ///< Id of the trial with this source.
    std::unique_ptr<MepSpace> space;
    std::unique_ptr<Searcher> searcher;  ///< Over *space; null until the probes are answered.
    std::deque<Point> probes;            ///< Probes that are not proposed yet.
    size_t unanswered = 0;
    std::map<Point, Verdict> probed;
    std::map<Hash, Point> asked;  ///< By candidate key.
    size_t proposed = 0;
    double best = 0;            ///< Highest speedup of those.
    std::set<Point> by_others;  ///< That were proposed to begin with.
  };

  /// The sources that are tuned now, in turn.
  std::vector<const RunTrial*> sources(const History& history);
  /// The highest speedup that is known of the trial and of those that were tuned in the same space.
  double best_beside(const RunTrial& trial, const History& history) const;
  Base* base_for(const RunTrial& trial, const History& history);
  bool moves_dead_parameter(const Base& base, const Point& point) const;
  void start_searcher(Base& base);
  std::shared_ptr<const Prior> prior_of(const Space& space, const std::vector<EarlierRun>& runs,
                                        std::vector<std::string>& remarks) const;
  /// Gives its searcher the configurations to begin with that its space has.
  void begin(Base& base) const;

  const Mep& mep_;
  std::string strategy_;
  uint64_t seed_;
  std::vector<EarlierRun> earlier_;
  std::vector<Bindings> beginnings_;  ///< Proposed to begin with, best first; of `beginnings_by_`.
  EarlierRun beginnings_run_;
  std::string beginnings_by_;
  std::map<std::string, std::unique_ptr<Base>> bases_;  ///< By source text.
  Base* probing_ = nullptr;                             ///< The only source whose parameters are probed at present.
  std::set<std::string> dead_;  ///< Parameters that change the results, found by probing; they count for all sources.
  size_t next_source_ = 0;      ///< For taking the sources in turn.
  /// Right settings of templates, by hand or a model's: one of each.
  std::vector<int64_t> templates_;
  std::set<std::string> templates_by_hand_;  ///< Names.
  std::vector<std::string> notes_;
};

/// Reasons why the original's block size is not tuned, one per line, with the change that would permit it; empty if the
/// parameter tier is not among `tiers`.
std::vector<std::string> blocks_not_tried(const Mep& mep, const Candidate& original,
                                          const std::vector<std::string>& tiers);

}  // namespace kernelift::tuner
