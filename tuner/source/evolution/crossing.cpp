// See crossing.h.
#include "tuner/source/evolution/crossing.h"

#include <algorithm>

#include "tuner/source/evolution/merged_text.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kPartners = 4;  ///< Members that a model's candidate is crossed with.

Hash launch_key(const Candidate& candidate) {
  Candidate launch;
  launch.launches = candidate.launches, launch.scratch = candidate.scratch;
  return launch.key();
}

/// What the trial was made from, the nearest first; the trial itself is one of them.
std::vector<int64_t> line_of(const RunTrial& trial, const History& history) {
  std::vector<int64_t> line;
  for (const RunTrial* at = &trial; at; at = at->parents.empty() ? nullptr : history.find(at->parents[0])) {
    if (std::ranges::find(line, at->id) != line.end()) break;
    line.push_back(at->id);
  }
  return line;
}

const RunTrial* common_ancestor(const RunTrial& one, const RunTrial& other, const History& history) {
  const auto line = line_of(one, history);
  for (int64_t id : line_of(other, history))
    if (std::ranges::find(line, id) != line.end()) return history.find(id);
  return history.baseline();
}

}  // namespace

std::optional<Candidate> crossed(const Candidate& base, const Candidate& one, const Candidate& other) {
  auto text = merged_text(base.source, one.source, other.source);
  if (!text || *text == one.source || *text == other.source) return std::nullopt;
  Candidate made = one;
  made.source = *std::move(text);
  const Hash before = launch_key(base), left = launch_key(one), right = launch_key(other);
  if (left != before && right != before && left != right) return std::nullopt;
  if (left == before) made.launches = other.launches, made.scratch = other.scratch;
  for (auto& [name, value] : other.values) {
    auto [place, fresh] = made.values.emplace(name, value);
    if (fresh || place->second == value) continue;
    auto known = base.values.find(name);
    if (known == base.values.end() || (place->second != known->second && value != known->second)) return std::nullopt;
    if (place->second == known->second) place->second = value;
  }
  size_t shared = 0;
  while (shared < std::min(one.steps.size(), other.steps.size()) && one.steps[shared] == other.steps[shared]) ++shared;
  made.reset_recipe();
  for (size_t at = shared; at < other.steps.size(); ++at)
    if (other.steps[at].origin != Step::Origin::Recipe) made.add_step(other.steps[at]);
  made.tier = "source", made.proposer = "crossover";
  return made;
}

void Crossing::look_for_pairs(const Population& population, const History& history) {
  seen_ = history.size();
  for (Family family : kFamilies)
    for (auto& [cell, member] : population.island(family)) {
      const RunTrial* trial = history.find(member.id);
      if (!trial || member.speedup <= kSmallestGain || !by_model(trial->candidate)) continue;
      for (auto& partner : population.inspirations(member, kPartners)) {
        const RunTrial* with = history.find(partner.id);
        if (!with || partner.speedup <= kSmallestGain) continue;
        if (tried_.emplace(member.id, partner.id).second && tried_.emplace(partner.id, member.id).second)
          pairs_.emplace_back(member.id, partner.id);
      }
    }
}

std::optional<Proposal> Crossing::next(const Population& population, const History& history) {
  if (pairs_.empty() && history.size() != seen_) look_for_pairs(population, history);
  while (!pairs_.empty()) {
    const auto [first, second] = pairs_.front();
    pairs_.pop_front();
    const RunTrial *one = history.find(first), *other = history.find(second);
    const RunTrial* base = common_ancestor(*one, *other, history);
    if (!base || base == one || base == other) continue;
    auto made = crossed(base->candidate, one->candidate, other->candidate);
    if (made && !history.by_key(made->key())) return Proposal{*std::move(made), {first, second}};
  }
  return std::nullopt;
}

}  // namespace kernelift::tuner
