// See reduction.h.
#include "tuner/reduction.h"

namespace kernelift::tuner {
namespace {

constexpr double kKeepsGain = 0.99;  ///< Share of the first leader's speedup that is as fast.

bool sets_several(const Step& step) { return step.origin == Step::Origin::Knob && step.parameters.size() > 1; }

/// The same step, which leaves one knob as it was.
Step without_knob(Step step, const std::string& knob) {
  step.parameters.erase(knob), step.replaced.erase(knob);
  step.summary.clear();
  return step;
}

std::optional<Candidate> repeat_all(const Candidate& original, const std::vector<Step>& steps, const Candidate& leader,
                                    const RepeatStep& repeat) {
  std::optional<Candidate> made = original;
  for (auto& step : steps) {
    if (step.origin == Step::Origin::Recipe) {
      made->recipe = leader.recipe, made->tier = "compiler", made->proposer = leader.proposer;
      made->add_step(step);
    } else if (made = repeat(*made, step); !made) {
      break;
    }
  }
  return made;
}

}  // namespace

size_t count_changes(const Candidate& candidate) {
  size_t count = 0;
  for (auto& step : candidate.steps) count += sets_several(step) ? step.parameters.size() : 1;
  return count > 1 ? count : 0;
}

std::vector<OneChangeLess> with_one_change_less(const Candidate& original, const Candidate& leader,
                                                const RepeatStep& repeat) {
  std::vector<OneChangeLess> found;
  if (count_changes(leader) < 2) return found;
  auto add = [&](const std::vector<Step>& steps, std::string without) {
    auto made = repeat_all(original, steps, leader, repeat);
    if (made && made->key() != leader.key()) found.push_back({std::move(*made), std::move(without)});
  };
  for (size_t i = leader.steps.size(); i-- > 0;) {
    std::vector<Step> others = leader.steps;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    add(others, leader.steps[i].text());
    if (!sets_several(leader.steps[i])) continue;
    for (auto& [knob, value] : leader.steps[i].parameters) {
      others = leader.steps;
      others[i] = without_knob(others[i], knob);
      add(others, knob + " = " + std::to_string(value));
    }
  }
  return found;
}

Result<std::vector<std::string>> Reduction::reduce(const RunTrial* leader) {
  auto repeat = [&](const Candidate& base, const Step& step) {
    std::optional<Candidate> made;
    for (auto& proposer : proposers_)
      if (!made) made = proposer->repeat(base, step);
    return made;
  };
  std::vector<std::string> said;
  const double wanted = leader ? kKeepsGain * leader->verdict.speedup() : 0;
  while (leader) {
    std::map<Hash, std::string> lacks;
    std::vector<Candidate> unknown;
    for (auto& one : with_one_change_less(history_.baseline()->candidate, leader->candidate, repeat)) {
      const Hash key = one.candidate.key();
      if (lacks.emplace(key, one.without).second && !history_.by_key(key)) unknown.push_back(std::move(one.candidate));
    }
    KERNELIFT_TRY(measure_(std::move(unknown), *leader));
    const RunTrial* best = nullptr;
    for (auto& [key, without] : lacks) {
      const RunTrial* trial = history_.by_key(key);
      // The same code may have been found by more changes (a knob that was turned and turned back): going on from there
      // could lead back here, for ever.
      const bool shorter = trial && count_changes(trial->candidate) < count_changes(leader->candidate);
      const bool keeps =
          shorter && trial != history_.baseline() && trial->verdict.ok() && trial->verdict.speedup() >= wanted;
      if (keeps && (!best || trial->verdict.speedup() > best->verdict.speedup())) best = trial;
    }
    if (best) {
      said.push_back("#" + std::to_string(leader->id) + " is as fast without this change: " +
                     lacks[best->candidate.key()] + " (#" + std::to_string(best->id) + ")");
      shorter_[leader] = best;
    }
    leader = best;
  }
  return said;
}

const RunTrial* Reduction::shortest(const RunTrial* trial) const {
  for (auto at = shorter_.find(trial); at != shorter_.end(); at = shorter_.find(trial)) trial = at->second;
  return trial;
}

}  // namespace kernelift::tuner
