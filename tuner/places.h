// How many candidates are in flight at a time.
#pragma once
#include "core/model/verdict/verdict.h"

namespace kernelift::tuner {

/// Of `all` candidates that the evaluator works on at once; fewer, but two, where launches of the original take so long
/// that `seconds` suffice for a few candidates only: then each is chosen by what came of those before it.
size_t places_for(const Verdict& original, double seconds, size_t all);

}  // namespace kernelift::tuner
