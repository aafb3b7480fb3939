// See patch_variant.h.
#include "reintegrate/patch_variant.h"

#include <algorithm>
#include <cstdio>

namespace kernelift::reintegrate {
namespace {

constexpr double kStepBurden = 0.005, kEffectBurden = 0.03, kPtxBurden = 0.05;

}  // namespace

Candidate PatchVariant::candidate() const {
  Candidate made = trial.candidate;
  if (shape) made.steps.push_back(Step::described("only where " + shape->where.text()));
  return made;
}

double PatchVariant::worth() const {
  const auto& steps = trial.candidate.steps;
  const bool effect = std::ranges::any_of(steps, [](auto& step) { return !step.effects.empty(); }) ||
                      !trial.candidate.recipe.unit_flags.is_default();
  double burden = kStepBurden * static_cast<double>(std::max<size_t>(steps.size(), 1) - 1);
  if (effect) burden += kEffectBurden;
  return with_others(low()) / (1 + burden) / (embedded ? 1 + kPtxBurden : 1);
}

std::string PatchVariant::label() const {
  char gain[32];
  (void)std::snprintf(gain, sizeof gain, "%.2fx", speedup());
  return "#" + std::to_string(trial.id) + " (" + trial.candidate.tier + ": " + candidate().note() + ", " + gain +
         (embedded ? " as embedded PTX)" : ")");
}

}  // namespace kernelift::reintegrate
