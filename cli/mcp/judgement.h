// What an evaluation says to a model that wrote the candidate: the outcome, the figures and how sure they are, the
// first wrong element, and for which sizes it is right.
#pragma once
#include "core/model/verdict/verdict.h"

namespace kernelift::cli::mcp {

/// `confirmed`: its gain was measured again in a fresh process.
Json judgement_of(const Evaluation& evaluation, bool confirmed);

/// A verb's document without the sizes at which finalists are run and that no proposer may know: their number is left.
Json without_hidden_sizes(Json value);

}  // namespace kernelift::cli::mcp
