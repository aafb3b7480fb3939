// See constants_judge.h.
#include "cli/judging/constants_judge.h"

#include "sandbox/evaluate/evaluate.h"
#include "tuner/space/other_constants.h"

namespace kernelift::cli {
namespace {

using Known = OtherSizes::Known;

bool is_settled(const OtherSizes& sizes) { return sizes.known == Known::Proven || sizes.known == Known::UnderPremise; }

/// As much is known with another value as with the application's.
bool holds(const OtherSizes& other, const OtherSizes& own) {
  if (other.known == Known::Proven) return true;
  return is_settled(own) && other.known == Known::UnderPremise && own.premise && *other.premise == *own.premise;
}

}  // namespace

Result<Bindings> needed_constants(const Mep& mep, const std::filesystem::path& folder, const std::string& original,
                                  const Candidate& candidate, const Verdict& figures) {
  const tuner::OtherConstants others = tuner::other_constants(mep, original, candidate);
  const Bindings constants = mep.named_values();
  Bindings needed;
  for (auto& name : others.not_made) needed.emplace(name, constants.at(name));
  std::vector<sandbox::SizesQuestion> questions;
  for (auto& other : others.values) questions.push_back({other.mep, other.original, other.candidate});
  if (questions.empty()) return needed;
  KERNELIFT_ASSIGN(std::vector<OtherSizes> known, sandbox::known_sizes(mep, folder, questions));
  const OtherSizes own = figures.other_sizes.value_or(OtherSizes());
  for (size_t i = 0; i < known.size(); ++i) {
    const std::string& name = others.values[i].name;
    if (holds(known[i], own)) continue;
    // Where nothing is proven of its text with any value, it was at least run with the launches' own.
    if (is_settled(own) || known[i].known == Known::Refuted || tuner::shapes_launches(mep, name))
      needed.emplace(name, constants.at(name));
  }
  return needed;
}

}  // namespace kernelift::cli
