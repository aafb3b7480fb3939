// See pass_proposer.h.
#include "tuner/compiler/pass_proposer.h"

#include <algorithm>

namespace kernelift::tuner {
namespace {

constexpr size_t kPopulation = 16, kTournament = 3;
constexpr size_t kSettled = 12;      ///< Verdicts without improvement after which the leader is reduced.
constexpr double kPerPass = 0.0005;  ///< Relative speedup that a pass must give, or the shorter pipeline is better.
constexpr int kBreedingTries = 40;
constexpr size_t kInherited = 4;

std::string_view bare_name(std::string_view pass) { return pass.substr(0, pass.find('<')); }

/// The pass that a verdict names, "pass loop-unroll<O3> on k: …", without its parameters; empty if it names none.
std::string_view blamed_pass(std::string_view detail) {
  constexpr std::string_view kOpening = "pass ";
  if (!detail.starts_with(kOpening)) return {};
  detail.remove_prefix(kOpening.size());
  return bare_name(detail.substr(0, detail.find_first_of(" :")));
}

double merit(double speedup, const PassPipeline& pipeline) {
  return speedup * (1 - kPerPass * static_cast<double>(pipeline.size()));
}

}  // namespace

const PassProposer::Member& PassProposer::pick() {
  size_t winner = population_.size();
  for (size_t entry = 0; entry < kTournament; ++entry)
    winner = std::min<size_t>(winner, random_() % population_.size());
  return population_[winner];
}

std::optional<PassPipeline> PassProposer::next_reduction() {
  while (since_improvement_ >= kSettled && !population_.empty() && reduced_ < population_[0].pipeline.size()) {
    PassPipeline shorter = population_[0].pipeline;
    shorter.erase(shorter.begin() + static_cast<long>(reduced_++));
    if (!shorter.empty() && !tried_.contains(text(shorter))) return shorter;
  }
  return std::nullopt;
}

PassPipeline PassProposer::next() {
  if (!first_.empty()) {
    PassPipeline pipeline = std::move(first_.back());
    first_.pop_back();
    return pipeline;
  }
  if (auto shorter = next_reduction()) return *shorter;
  if (population_.size() < 2) return mutate(seed_pipelines()[random_() % seed_pipelines().size()], random_);
  PassPipeline child = pick().pipeline;
  if (random_() % 2) child = cross(child, pick().pipeline, random_);
  return mutate(std::move(child), random_);
}

std::vector<Proposal> PassProposer::propose(const History& history, size_t count) {
  const RunTrial* origin = history.best_applicable();
  if (!origin) return {};
  if (origin->id != base_) {  // A faster source: the old one's best pipelines are tried first.
    first_.clear();
    for (size_t i = std::min(kInherited, population_.size()); i-- > 0;) first_.push_back(population_[i].pipeline);
    if (population_.empty()) {
      first_ = seed_pipelines();
      std::reverse(first_.begin(), first_.end());
    }
    base_ = origin->id, population_.clear(), tried_.clear(), best_ = 0, since_improvement_ = reduced_ = 0;
  }
  std::vector<Proposal> proposals;
  for (int tries = 0; proposals.size() < count && tries < kBreedingTries; ++tries) {
    PassPipeline pipeline = next();
    if (std::any_of(pipeline.begin(), pipeline.end(), [&](auto& pass) { return banned_.contains(pass.name); }))
      continue;
    std::string line = text(pipeline);
    if (!tried_.insert(line).second) continue;
    Proposal proposal{origin->candidate, {origin->id}};
    const UnitFlags of_file = proposal.candidate.recipe.unit_flags;
    proposal.candidate.recipe = Recipe{};
    proposal.candidate.recipe.passes = line, proposal.candidate.recipe.unit_flags = of_file;
    proposal.candidate.tier = tier(), proposal.candidate.proposer = name();
    proposal.candidate.add_step({.origin = Step::Origin::Recipe, .rule = name(), .summary = line});
    asked_.emplace(proposal.candidate.key(), std::move(pipeline));
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

void PassProposer::learn(const RunTrial& trial) {
  auto asked = asked_.find(trial.candidate.key());
  if (asked == asked_.end()) return;
  PassPipeline pipeline = std::move(asked->second);
  asked_.erase(asked);
  if (trial.verdict.outcome == Outcome::CompileCrashed) {
    std::string_view guilty = blamed_pass(trial.verdict.detail);
    for (auto& pass : pipeline)
      if (bare_name(pass.name) == guilty) banned_.insert(pass.name);
  }
  if (!trial.verdict.ok() || trial.parents.empty() || trial.parents[0] != base_) return;
  double value = merit(trial.verdict.speedup(), pipeline);
  bool shorter = !population_.empty() && pipeline.size() < population_[0].pipeline.size();
  ++since_improvement_;
  if (value > best_) {
    best_ = value, reduced_ = 0;
    if (!shorter) since_improvement_ = 0;  // After a successful reduction the next one is tried.
  }
  auto place = std::find_if(population_.begin(), population_.end(),
                            [&](auto& member) { return merit(member.speedup, member.pipeline) < value; });
  population_.insert(place, {std::move(pipeline), trial.verdict.speedup()});
  if (population_.size() > kPopulation) population_.pop_back();
}

}  // namespace kernelift::tuner
