// See unit_flag_proposer.h.
#include "tuner/compiler/unit_flag_proposer.h"

#include <algorithm>

namespace kernelift::tuner {
namespace {

constexpr size_t kTexts = 2;  ///< The fastest texts that get flags.

/// The flags of both; where both set one, that of `one`.
UnitFlags united(UnitFlags one, const UnitFlags& other) {
  one.fast_math |= other.fast_math, one.fused &= other.fused;
  if (one.most_registers == 0) one.most_registers = other.most_registers;
  if (one.cache_loads.empty()) one.cache_loads = other.cache_loads;
  return one;
}

}  // namespace

std::vector<UnitFlags> UnitFlagProposer::single(const Options& options) {
  std::vector<UnitFlags> arithmetic, registers, caches;
  if (!options.keep_precision) arithmetic.push_back({.fast_math = true});
  arithmetic.push_back({.fused = false});
  if (!options.on_cpu) {
    for (int most : {64, 32, 128, 48, 96, 40}) registers.push_back({.most_registers = most});
    for (const char* where : {"cg", "ca"}) caches.push_back({.cache_loads = where});
  }
  std::vector<UnitFlags> order;
  auto add = [&](const std::vector<UnitFlags>& some) { order.insert(order.end(), some.begin(), some.end()); };
  if (options.bound == Bound::Latency) add(registers);
  if (options.bound == Bound::Memory) add(caches);
  for (auto* some : {&arithmetic, &registers, &caches})
    for (auto& one : *some)
      if (std::ranges::find(order, one) == order.end()) order.push_back(one);
  return order;
}

std::vector<Proposal> UnitFlagProposer::propose(const History& history, size_t count) {
  std::vector<Proposal> made;
  for (auto* origin : history.best_sources(kTexts)) {
    if (!origin->candidate.recipe.is_default()) continue;  // Its own text was a base before.
    auto [at, first] = bases_.try_emplace(origin->id);
    Base& base = at->second;
    if (first) {
      auto all = single(options_);
      base.waiting.assign(all.begin(), all.end());
      base.speedup = origin->verdict.speedup();
    }
    while (made.size() < count && !base.waiting.empty()) {
      Proposal proposal{origin->candidate, {origin->id}};
      Candidate& candidate = proposal.candidate;
      candidate.recipe.unit_flags = base.waiting.front();
      base.waiting.pop_front();
      candidate.tier = tier(), candidate.proposer = name();
      candidate.add_step({.origin = Step::Origin::Recipe,
                          .rule = name(),
                          .summary = candidate.recipe.text(),
                          .effects = candidate.recipe.unit_flags.effects()});
      if (base.asked.emplace(candidate.key(), candidate.recipe.unit_flags).second) made.push_back(std::move(proposal));
    }
  }
  return made;
}

void UnitFlagProposer::together(Base& base, const UnitFlags& found) {
  for (auto& other : base.helped) {
    const UnitFlags both = united(found, other);
    if (both != found && both != other && std::ranges::find(base.waiting, both) == base.waiting.end())
      base.waiting.push_back(both);
  }
  base.helped.push_back(found);
}

void UnitFlagProposer::learn(const RunTrial& trial) {
  const Hash key = trial.candidate.key();
  for (auto& [id, base] : bases_) {
    auto asked = base.asked.find(key);
    if (asked == base.asked.end()) continue;
    if (trial.verdict.ok() && trial.verdict.speedup_low() > base.speedup) together(base, asked->second);
    return;
  }
}

}  // namespace kernelift::tuner
