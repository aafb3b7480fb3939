// Templates written by hand as a proposer: each is tried at its first setting and, while none is right, at a few
// others. Once one is right, the parameter tier searches its parameters; a template none of whose first settings is
// right costs no further time, and the closing note says so.
#pragma once
#include <map>

#include "core/model/mep.h"
#include "tuner/proposer.h"

namespace kernelift::tuner {

class TemplateProposer : public Proposer {
 public:
  /// `templates`: each as candidate_of_template() makes it, with a step of Step::Origin::Template.
  TemplateProposer(const Mep& mep, std::vector<Candidate> templates, bool searched, uint64_t seed);
  std::string name() const override { return "template"; }
  std::string tier() const override { return "source"; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;
  std::vector<std::string> take_notes() override;
  std::string closing_note() const override;

 private:
  struct Tried {
    Candidate first;
    std::vector<Candidate> settings;  ///< That were not proposed yet, the first one in front.
    size_t proposed = 0, answered = 0, right = 0;
    int64_t first_trial = 0;
    std::string failure;  ///< Of the first setting.
    bool failed() const { return right == 0 && answered > 0 && answered == proposed && settings.empty(); }
  };
  /// Adds the settings that are tried if the first is not right.
  void add_settings(Tried& tried) const;

  const Mep& mep_;
  bool searched_;
  uint64_t seed_;
  std::vector<Tried> templates_;
  std::map<Hash, size_t> asked_;  ///< Which template a candidate is of, by its key.
  std::vector<std::string> notes_;
};

}  // namespace kernelift::tuner
