// Tries first what won in earlier runs of the kernel: their fastest candidates as they are if the kernel's text is
// still the same, else their knobs and compiler recipes, which do not depend on it. A few candidates, so that runs
// which mislead cost little.
#pragma once
#include <deque>
#include <memory>
#include <set>

#include "core/model/mep.h"
#include "tuner/inherit/earlier_search.h"
#include "tuner/proposer.h"

namespace kernelift::tuner {

class InheritedProposer : public Proposer {
 public:
  /// `tiers`: candidates of others are left out. EXPECTS: not empty.
  InheritedProposer(const Mep& mep, std::shared_ptr<const std::vector<EarlierSearch>> earlier,
                    std::vector<std::string> tiers);
  std::string name() const override { return "inherited"; }
  std::string tier() const override { return tiers_.front(); }
  /// Asked before all others: what was learnt before is the cheapest idea.
  bool in_background() const override { return true; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;
  std::string closing_note() const override;

 private:
  void collect(const RunTrial& original);

  const Mep& mep_;
  std::shared_ptr<const std::vector<EarlierSearch>> earlier_;
  std::vector<std::string> tiers_;
  bool collected_ = false;
  std::deque<Proposal> waiting_;
  std::set<Hash> proposed_;
  size_t judged_ = 0, right_ = 0, gained_ = 0;
  double best_ = 0;  ///< Lower end of the fastest one's speedup.
};

}  // namespace kernelift::tuner
