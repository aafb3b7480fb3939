// Whose turn it is to propose a candidate.
#pragma once
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "tuner/history.h"
#include "tuner/proposer.h"

namespace kernelift::tuner {

/// Proposers by index, in the order in which they propose next: those of the tiers that open a search until these have
/// had their share, then by `ranking`; those in the background before all. `tried`: candidates of a tier until now,
/// those in flight too. `places`: candidates that are measured side by side. `scarce`: time for few of them, so that
/// each counts.
std::vector<size_t> opening_order(const std::vector<std::unique_ptr<Proposer>>& proposers, const History& history,
                                  std::vector<size_t> ranking, const std::function<size_t(std::string_view)>& tried,
                                  size_t places, bool scarce);

}  // namespace kernelift::tuner
