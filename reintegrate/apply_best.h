// The candidates of a run, most promising first, until one stands in the application. The best figure in a MEP is often
// not a patch: its launch is shared with other kernels, or it needs host code. Then the next one is tried, and each
// that is passed over is named with its reason. One candidate may be two patches, its source for the application's
// compiler and embedded PTX, which is preferred only where it is clearly faster. Planning a patch is cheap, confirming
// a candidate takes seconds, proving it in the application takes minutes: so every step is taken only for what passed
// the step before.
#pragma once
#include <functional>

#include "reintegrate/apply_request.h"

namespace kernelift {

/// Re-times a candidate that was only screened, in a fresh process. An Error says why nothing can be confirmed here.
using Confirm = std::function<Result<Verdict>(const RunTrial&)>;

/// The report is of the last candidate that was proven or rolled back; its `passed_over` names all others. An Error
/// means that no candidate reached the application, or that the application itself is not in order.
Result<ApplyReport> apply_best(RunOffer offer, const Confirm& confirm);

}  // namespace kernelift
