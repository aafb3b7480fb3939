// See honest_rules.h.
#include "cli/hostile/honest_rules.h"

#include "core/compiler/frontend.h"
#include "tuner/history.h"
#include "tuner/tiers.h"

namespace kernelift::cli {

Result<std::vector<Trick>> tricks_of_rules(const std::string& kernel, const Mep& mep, const std::string& source,
                                           bool cuda) {
  constexpr size_t kMost = 200;
  tuner::TierOptions options;
  options.tiers = {"source"}, options.on_cpu = !cuda;
  options.clang_arguments = {frontend_arguments({})};
  KERNELIFT_ASSIGN(auto proposers, make_proposers(mep, source, options));
  tuner::History history;
  tuner::RunTrial original;
  original.id = 1, original.candidate.source = source;
  original.verdict.stage = Stage::Time, original.verdict.timings = {{"a", 1, 1e-3, 1e-3, 1, 1, 1, 1, false}};
  history.add(original);
  std::vector<Trick> tricks;
  for (auto& proposal : proposers.front()->propose(history, kMost)) {
    const Candidate& candidate = proposal.candidate;
    if (candidate.steps.empty() || !candidate.steps.back().effects.empty()) continue;
    Trick trick;
    trick.name = kernel + "-rule-" + std::to_string(tricks.size() + 1), trick.kind = "honest", trick.kernel = kernel;
    trick.summary = candidate.note(), trick.honest = true, trick.must = {Outcome::Ok};
    trick.candidate = candidate;
    tricks.push_back(std::move(trick));
  }
  for (auto& note : proposers.front()->take_notes()) return environment_error(kernel + ": " + note);
  return tricks;
}

}  // namespace kernelift::cli
