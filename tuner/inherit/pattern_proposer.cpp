// See pattern_proposer.h.
#include "tuner/inherit/pattern_proposer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kernelift::tuner {
namespace {

constexpr size_t kMost = 6;
constexpr int64_t kShareOfCandidates = 10;
constexpr size_t kPatience = 3;  ///< Patterns without a gain after which no further one is tried.

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

}  // namespace

size_t most_patterns(int64_t evaluations) {
  if (evaluations <= 0) return kMost;
  return std::min(kMost, static_cast<size_t>(std::max<int64_t>(1, evaluations / kShareOfCandidates)));
}

std::vector<PatternOutcome> InheritedPatterns::outcomes() const {
  std::vector<PatternOutcome> all;
  for (auto& one : tried)
    if (one.whole && !one.pattern.context.is_kernel_of(context)) all.push_back({one.pattern, one.held, one.gain});
  return all;
}

Json to_json(const InheritedPatterns::Tried& tried) {
  return {{"kernel", tried.pattern.context.kernel},
          {"architecture", tried.pattern.context.architecture},
          {"chain", tried.pattern.text()},
          {"whole", tried.whole},
          {"similarity", rounded(tried.similarity)},
          {"gain_there", rounded(tried.pattern.gain())},
          {"candidate", tried.candidate},
          {"outcome", tried.outcome},
          {"gain_here", rounded(tried.gain)},
          {"held", tried.held}};
}

PatternProposer::PatternProposer(const Mep& mep, std::shared_ptr<InheritedPatterns> inherited,
                                 std::vector<std::string> tiers, ChainProposer repeat)
    : mep_(mep), inherited_(std::move(inherited)), tiers_(std::move(tiers)), repeat_(std::move(repeat)) {}

std::optional<Candidate> PatternProposer::follow(const Pattern& pattern, const Candidate& original) const {
  auto wanted = [&](const char* tier) { return std::ranges::find(tiers_, tier) != tiers_.end(); };
  for (auto& step : pattern.chain)
    if (!wanted(step.origin == Step::Origin::Rule ? "source" : "params")) return std::nullopt;
  if (!pattern.recipe.is_default() && !wanted("compiler")) return std::nullopt;
  Candidate made = repeat_.follow({pattern.context.kernel, pattern.steps_for(mep_)}, original);
  const bool rewritten = made.source != original.source;
  // What is left of a chain of rewrites none of which applies is not what helped.
  const bool rewrites =
      std::ranges::any_of(pattern.chain, [](auto& step) { return step.origin == Step::Origin::Rule; });
  if (rewrites && !rewritten) return std::nullopt;
  made.tier = rewritten ? "source" : "params";
  if (!pattern.recipe.is_default()) {
    made.recipe = pattern.recipe, made.tier = "compiler";
    made.add_step({.origin = Step::Origin::Recipe, .rule = name(), .summary = pattern.recipe.text()});
  }
  made.proposer = name();
  if (made.key() == original.key()) return std::nullopt;
  return made;
}

std::vector<Proposal> PatternProposer::propose(const History& history, size_t count) {
  std::vector<Proposal> made;
  const RunTrial* original = history.baseline();
  while (original && made.size() < count && next_ < inherited_->offers.size()) {
    // Not all at once: what comes of the first ones says whether the others are worth a candidate.
    if (held_ == 0 && judged_ + flying_.size() >= kPatience) break;
    const Pattern& pattern = inherited_->offers[next_++];
    auto candidate = follow(pattern, original->candidate);
    if (!candidate || flying_.contains(candidate->key())) continue;
    InheritedPatterns::Tried tried{pattern, pattern.context.features.similarity(inherited_->context.features)};
    const size_t steps = candidate->steps.size() - original->candidate.steps.size();
    tried.whole = steps == pattern.chain.size() + !pattern.recipe.is_default();
    char there[96];
    std::snprintf(there, sizeof there, ", which gained %.3fx on '", pattern.gain());
    notes_.push_back("first " + candidate->note() + there + pattern.context.kernel + "' (" +
                     pattern.context.architecture + ", " +
                     std::to_string(static_cast<int>(std::lround(100 * tried.similarity))) + " % alike)");
    flying_.emplace(candidate->key(), std::move(tried));
    made.push_back({std::move(*candidate), {original->id}});
  }
  return made;
}

std::optional<double> PatternProposer::expected_gain(const History&) {
  if (next_ == inherited_->offers.size()) return std::nullopt;
  const Pattern& pattern = inherited_->offers[next_];
  const double similarity = pattern.context.features.similarity(inherited_->context.features);
  return similarity * similarity * std::log(std::max(1.0, pattern.gain()));
}

void PatternProposer::learn(const RunTrial& trial) {
  auto found = flying_.find(trial.candidate.key());
  if (found == flying_.end()) return;
  InheritedPatterns::Tried tried = std::move(found->second);
  flying_.erase(found);
  tried.candidate = trial.id, tried.outcome = kernelift::name(trial.verdict.outcome);
  tried.held = trial.verdict.gains();
  if (trial.verdict.ok()) tried.gain = trial.verdict.speedup_low();
  ++judged_, held_ += tried.held;
  inherited_->tried.push_back(std::move(tried));
}

}  // namespace kernelift::tuner
