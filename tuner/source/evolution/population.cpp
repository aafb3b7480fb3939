// See population.h.
#include "tuner/source/evolution/population.h"

#include <algorithm>
#include <cmath>

namespace kernelift::tuner {
namespace {

/// Log gain that is expected of an idea before one was tried, counted as one idea.
constexpr double kHope = 0.15;
constexpr double kTemperature = 0.2;  ///< Of an island's chance, in log gains.
constexpr double kLeastChance = 0.1;  ///< Of an island, relative to the best one's.
constexpr size_t kWanderers = 4;      ///< Every so many draws for an island choose among all of its members.

/// Uniform in 0 … 1, by the seed and what it is drawn for.
double uniform(uint64_t seed, uint64_t draw, std::string_view what) {
  const uint64_t bits = Hasher().add(seed).add(draw).add(what).finish().low;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

bool faster(const Population::Member& a, const Population::Member& b) {
  return a.speedup != b.speedup ? a.speedup > b.speedup : a.id < b.id;
}

}  // namespace

bool Population::settle(Family family, const Member& member) {
  Island& island = islands_[static_cast<size_t>(family)];
  auto [place, fresh] = island.try_emplace(member.cell, member);
  if (!fresh && !faster(member, place->second)) return false;
  place->second = member;
  return true;
}

void Population::migrate_from(size_t from) {
  auto best = best_of(kFamilies[from]);
  if (best) settle(kFamilies[(from + 1) % kFamilies.size()], *best);
  since_migration_[from] = 0;
}

Population::Placed Population::add(const RunTrial& trial, std::optional<Family> told) {
  if (trial.id <= last_) return Placed::Known;
  last_ = trial.id;
  const bool original = trial.candidate.tier == "baseline";
  const auto parent = trial.parents.empty() ? starts_.end() : starts_.find(trial.parents[0]);
  Start start;
  start.family = told ? told : family_of(trial.candidate);
  if (!original && !told && trial.candidate.tier != "source" && parent != starts_.end() && parent->second.family)
    start.family = parent->second.family;
  start.speedup = trial.verdict.speedup();
  if (trial.candidate.proposer.starts_with("llm/") && parent != starts_.end()) {
    ++parent->second.ideas;
    if (trial.verdict.ok() && parent->second.speedup > 0)
      parent->second.gained += std::max(0.0, std::log(start.speedup / parent->second.speedup));
  }
  starts_.emplace(trial.id, start);
  if (!trial.verdict.ok() || !trial.applicable()) return Placed::Not;
  if (!codes_.insert(code_of(trial)).second) return Placed::Known;
  const Member member = member_of(trial);
  if (original) {
    for (Family family : kFamilies) settle(family, member);
    return Placed::Elite;
  }
  const Family family = start.family.value_or(Family::Structure);
  if (!settle(family, member)) return Placed::Worse;
  const auto island = static_cast<size_t>(family);
  if (++since_migration_[island] >= kMigration) migrate_from(island);
  return Placed::Elite;
}

void Population::withdraw(int64_t id) {
  for (auto& island : islands_) std::erase_if(island, [&](auto& place) { return place.second.id == id; });
}

size_t Population::elites() const {
  size_t count = 0;
  for (auto& island : islands_) count += island.size();
  return count;
}

std::optional<Family> Population::family_of_trial(int64_t id) const {
  auto found = starts_.find(id);
  return found == starts_.end() ? std::nullopt : found->second.family;
}

double Population::expected(const Member& member) const {
  const Start& start = starts_.at(member.id);
  return std::log(std::max(member.speedup, 1e-3)) + (kHope + start.gained) / (1 + start.ideas);
}

std::optional<Population::Member> Population::best_of(Family family) const {
  std::optional<Member> best;
  for (auto& [cell, member] : island(family))
    if (!best || faster(member, *best)) best = member;
  return best;
}

std::optional<Population::Member> Population::choose_parent(uint64_t draw, const std::set<int64_t>& busy) const {
  struct Free {
    std::vector<Member> members;
    double most = 0;  ///< Expected of the best of them.
  };
  std::vector<Free> free;
  for (auto& island : islands_) {
    Free here;
    for (auto& [cell, member] : island)
      if (!busy.contains(member.id)) here.members.push_back(member);
    if (here.members.empty()) continue;
    // Ties are decided by age, as everywhere.
    std::ranges::sort(here.members, [&](auto& a, auto& b) {
      const double left = expected(a), right = expected(b);
      return left != right ? left > right : a.id < b.id;
    });
    here.most = expected(here.members[0]);
    free.push_back(std::move(here));
  }
  if (free.empty()) return std::nullopt;
  auto best = std::ranges::max_element(free, {}, &Free::most);
  if (draw % 2 == 0) return best->members[0];
  std::vector<double> chances;
  double all = 0;
  for (auto& here : free) {
    chances.push_back(std::max(kLeastChance, std::exp((here.most - best->most) / kTemperature)));
    all += chances.back();
  }
  double at = uniform(seed_, draw, "island") * all;
  size_t chosen = 0;
  while (chosen + 1 < free.size() && at >= chances[chosen]) at -= chances[chosen++];
  auto& members = free[chosen].members;
  if (draw / 2 % kWanderers != kWanderers - 1) return members[0];
  const auto any = static_cast<size_t>(uniform(seed_, draw, "member") * static_cast<double>(members.size()));
  return members[std::min(any, members.size() - 1)];
}

std::vector<Population::Member> Population::inspirations(const Member& parent, size_t count) const {
  std::vector<Member> leaders, others;
  for (Family family : kFamilies) {
    auto best = best_of(family);
    for (auto& [cell, member] : island(family)) {
      if (cell == parent.cell || member.id == parent.id) continue;
      (best && member.id == best->id ? leaders : others).push_back(member);
    }
  }
  for (auto* ranked : {&leaders, &others}) std::ranges::sort(*ranked, faster);
  leaders.insert(leaders.end(), others.begin(), others.end());
  std::vector<Member> chosen;
  for (auto& member : leaders) {
    if (chosen.size() == count) break;
    if (std::ranges::none_of(chosen, [&](auto& one) { return one.id == member.id; })) chosen.push_back(member);
  }
  return chosen;
}

}  // namespace kernelift::tuner
