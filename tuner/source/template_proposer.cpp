// See template_proposer.h.
#include "tuner/source/template_proposer.h"

#include <set>

#include "core/base/words.h"
#include "tuner/space/mep_space.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kFirstSettings = 6;  ///< Of which one must be right.

}  // namespace

TemplateProposer::TemplateProposer(const Mep& mep, std::vector<Candidate> templates, bool searched, uint64_t seed)
    : mep_(mep), searched_(searched), seed_(seed) {
  for (auto& candidate : templates) {
    candidate.proposer = name();
    Tried& tried = templates_.emplace_back();
    tried.first = candidate, tried.settings = {candidate};
  }
}

void TemplateProposer::add_settings(Tried& tried) const {
  const MepSpace space = MepSpace::create(mep_, tried.first);
  if (space.space().parameters().empty()) return;
  Random random(seed_);
  std::set<Point> seen{space.space().start(random)};
  for (size_t draw = 0; draw < 8 * kFirstSettings && seen.size() < kFirstSettings; ++draw) {
    const Point point = space.space().sample(random);
    if (!seen.insert(point).second) continue;
    Candidate setting = space.materialise(point);
    setting.tier = tier(), setting.proposer = name();
    tried.settings.push_back(std::move(setting));
  }
}

std::vector<Proposal> TemplateProposer::propose(const History& history, size_t count) {
  std::vector<Proposal> proposals;
  if (!history.baseline()) return proposals;
  for (size_t t = 0; t < templates_.size(); ++t) {
    auto& tried = templates_[t];
    while (!tried.settings.empty() && proposals.size() < count && tried.right == 0) {
      Candidate next = std::move(tried.settings.front());
      tried.settings.erase(tried.settings.begin());
      ++tried.proposed;
      asked_.emplace(next.key(), t);
      proposals.push_back({std::move(next), {tried.first_trial ? tried.first_trial : history.baseline()->id}});
    }
  }
  return proposals;
}

void TemplateProposer::learn(const RunTrial& trial) {
  auto asked = asked_.find(trial.candidate.key());
  if (asked == asked_.end()) return;
  auto& tried = templates_[asked->second];
  asked_.erase(asked);
  ++tried.answered, tried.right += trial.verdict.ok();
  if (trial.verdict.ok()) tried.settings.clear();
  if (tried.answered > 1 || trial.verdict.ok()) return;
  tried.first_trial = trial.id;
  tried.failure = "#" + std::to_string(trial.id) + ": " + trial.verdict.text();
  notes_.push_back(tried.first.note() + " is not right (" + tried.failure + "); other settings are tried");
  add_settings(tried);
}

std::vector<std::string> TemplateProposer::take_notes() { return std::exchange(notes_, {}); }

std::string TemplateProposer::closing_note() const {
  std::string text;
  for (auto& tried : templates_) {
    if (!tried.failed() && searched_) continue;
    const std::string name = "template " + tried.first.steps.front().rule;
    text += text.empty() ? "" : "; ";
    if (tried.failed())
      text += name + ": " +
              (tried.proposed == 1 ? "its only setting is not right"
                                   : "none of its first " + counted(tried.proposed, "setting") + " is right") +
              ", so it was tried no further (" + tried.failure + ")";
    else text += name + ": only its first setting was tried, as --tiers leaves out params";
  }
  return text;
}

}  // namespace kernelift::tuner
