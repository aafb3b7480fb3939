// See patch_variant.h.
#include "reintegrate/patch_variant.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "reintegrate/patch/constants/own_constants.h"
#include "reintegrate/patch/constants/shared_knobs.h"

namespace kernelift::reintegrate {
namespace {

constexpr double kStepBurden = 0.005, kEffectBurden = 0.03, kPtxBurden = 0.05;

}  // namespace

Candidate PatchVariant::candidate() const {
  Candidate made = own_constants ? *own_constants : trial.candidate;
  if (own_constants) made.steps.push_back(Step::described("as constants of its own"));
  if (shape) made.steps.push_back(Step::described("only where " + shape->where.text()));
  return made;
}

double PatchVariant::worth() const {
  const auto& steps = trial.candidate.steps;
  const bool effect = std::ranges::any_of(steps, [](auto& step) { return !step.effects.empty(); }) ||
                      !trial.candidate.recipe.unit_flags.is_default();
  double burden = kStepBurden * static_cast<double>(std::max<size_t>(steps.size(), 1) - 1);
  if (effect) burden += kEffectBurden;
  if (changes_others) burden += kEffectBurden;
  if (own_constants) burden += kStepBurden;
  return with_others(low()) / (1 + burden) / (embedded ? 1 + kPtxBurden : 1);
}

std::string PatchVariant::label() const {
  char gain[32];
  (void)std::snprintf(gain, sizeof gain, "%.2fx", speedup());
  return "#" + std::to_string(trial.id) + " (" + trial.candidate.tier + ": " + candidate().note() + ", " + gain +
         (embedded ? " as embedded PTX)" : ")");
}

std::vector<PatchVariant> variants_of(const tuner::RunTrial& trial, const RunOffer& offer) {
  std::vector<PatchVariant> all;
  auto add = [&](PatchVariant variant) {
    if (variant.low() > kSmallestGain) all.push_back(std::move(variant));
  };
  const ApplyRequest& request = offer.request;
  if (trial.applicable() && offer.embedding != Embedding::Only) {
    PatchVariant source{trial, false, offer.kernel_share};
    source.changes_others = request.scan && !shared_knobs(request.mep, *request.scan, trial.candidate.values).empty();
    PatchVariant own = source;
    if (changes_constants(request.mep, trial.candidate))
      if (auto made = with_own_constants(request.mep, request.original, trial.candidate); made.ok())
        own.own_constants = std::move(*made), own.changes_others = false;
    const auto shape = request.guards ? shape_choice(request.mep, trial.figures()) : std::nullopt;
    for (auto* variant : {&source, &own}) {
      if (variant == &own && !own.own_constants) continue;
      add(*variant);
      variant->shape = shape;
      if (shape) add(*variant);
    }
  }
  if (offer.can_embed()) add({trial, true, offer.kernel_share});
  // A screened candidate has not been compared with the application's own code yet; its confirmation does that.
  if (all.empty() && offer.can_embed() && !trial.confirmed && trial.verdict.device.starts_with("cuda") &&
      trial.verdict.gains())
    all.push_back({trial, false, offer.kernel_share});
  return all;
}

}  // namespace kernelift::reintegrate
