// A rule's opportunity is the same as in the other kernel if rule and parameters are; of several places the one of the
// same name is taken ("the loop over k"), else the first.
#include "tuner/source/chain_proposer.h"

#include <algorithm>

#include "core/base/words.h"
#include "tuner/source/rule_proposer.h"
#include "tuner/space/mep_space.h"

namespace kernelift::tuner {
Candidate ChainProposer::follow(const Chain& chain, const Candidate& original) const {
  Candidate now = original;
  for (auto& step : chain.steps) {
    if (step.origin == Step::Origin::Knob) {
      const MepSpace space = MepSpace::create(mep_, now);
      if (auto point = space.point_at(space.known(step.parameters))) now = space.materialise(*point);
      continue;
    }
    const Rule* rule = step.origin == Step::Origin::Rule && facts_.own_lines.empty() ? find_rule(step.rule) : nullptr;
    if (!rule) continue;
    // A chain of before the rule had all of these parameters means the first value of the others.
    Bindings wanted = step.parameters;
    for (auto& parameter : rule->parameters) wanted.emplace(parameter.name, parameter.values.front());
    std::vector<Opportunity> found;
    for (auto templates : {KernelSource::Templates::AsSpelled, KernelSource::Templates::AsInstances}) {
      auto source = KernelSource::parse(now.source, arguments_, templates);
      if (!source.ok()) break;
      found = opportunities(*rule, *source, facts_.launched_as(now));
      std::erase_if(found, [&](auto& one) { return one.values != wanted; });
      if (!found.empty() || !source->has_templates() || !rule->any_type) break;
    }
    auto same = std::ranges::find(found, step.place, &Opportunity::place);
    if (same == found.end()) same = found.begin();
    if (same == found.end()) continue;
    if (auto next = apply(now, *rule, *same, facts_.kernel)) now = std::move(*next);
  }
  return now;
}

std::vector<Proposal> ChainProposer::propose(const History& history, size_t count) {
  std::vector<Proposal> proposals;
  const RunTrial* original = history.baseline();
  while (original && next_ < chains_.size() && proposals.size() < count) {
    const Chain& chain = chains_[next_++];
    Candidate candidate = follow(chain, original->candidate);
    if (candidate.key() == original->candidate.key()) continue;
    candidate.tier = candidate.source == original->candidate.source ? "params" : "source", candidate.proposer = name();
    notes_.push_back("first " + candidate.note() + ", which helped " + chain.kernel);
    proposals.push_back({std::move(candidate), {original->id}});
  }
  return proposals;
}

}  // namespace kernelift::tuner
