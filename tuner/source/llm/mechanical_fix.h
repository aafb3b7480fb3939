// Mistakes in a model's text that need no model to be corrected: a misspelt name that the compiler recognises, a
// definition that was lost, a spelling of another language or of older CUDA, a tile that is too large for the device. A
// fixed candidate is judged as any other, and what cannot be fixed goes back to the model.
#pragma once
#include <optional>
#include <string>

#include "core/model/candidate/candidate.h"
#include "core/model/verdict/verdict.h"

namespace kernelift::tuner {

struct MechanicalFix {
  Candidate candidate;
  std::string what;  ///< "'shared_tlie' is 'shared_tile'"
};

/// `base`: the candidate that the model's edits applied to. nullopt: nothing is known to help.
std::optional<MechanicalFix> mechanical_fix(const Candidate& candidate, const Verdict& verdict, const Candidate& base);

}  // namespace kernelift::tuner
