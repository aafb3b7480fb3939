// See constants_judge.h.
#include "cli/judging/constants_judge.h"

#include "reintegrate/patch/launch/launch_guard.h"
#include "sandbox/evaluate/evaluate.h"
#include "tuner/space/other_constants.h"

namespace kernelift::cli {
namespace {

using Known = OtherSizes::Known;

/// As much is known with another value as with the application's. A premise that holds at all of its launches is asked
/// by none of them.
bool holds(const OtherSizes& other, const Mep& with, const OtherSizes& own, const Mep& as_it_is) {
  using reintegrate::holds_at_all_launches;
  if (other.known == Known::Proven) return true;
  if (!own.proven() || other.known != Known::UnderPremise) return false;
  const bool asked = own.premise && !holds_at_all_launches(*own.premise, as_it_is);
  return asked ? *other.premise == *own.premise : holds_at_all_launches(*other.premise, with);
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
    if (holds(known[i], others.values[i].mep, own, mep)) continue;
    // Where nothing is proven of its text with any value, it was at least run with the launches' own.
    if (own.proven() || known[i].known == Known::Refuted || tuner::shapes_launches(mep, name))
      needed.emplace(name, constants.at(name));
  }
  return needed;
}

}  // namespace kernelift::cli
