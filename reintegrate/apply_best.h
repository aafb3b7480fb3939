// Tries the candidates of a run in the application, most promising first, until one is kept. The fastest candidate in a
// MEP often cannot be expressed as a patch: its launch is shared with other kernels, or it needs new host code. Then
// the next one is tried, and each candidate that is passed over is named with its reason. One candidate gives up to two
// patches: its source for the application's compiler, and embedded PTX, which is preferred only where it is clearly
// faster. Planning a patch is cheap, confirming a candidate takes seconds, and proving it in the application takes
// minutes: so a candidate reaches each step only after it passed the one before.
#pragma once
#include <functional>

#include "reintegrate/apply_request.h"

namespace kernelift::reintegrate {

/// Times a candidate again, which so far was only screened, in a fresh process. An Error says why it cannot be done.
using Confirm = std::function<Result<Verdict>(const tuner::RunTrial&)>;

/// The report describes the last candidate that was kept or rolled back; its `passed_over` names all others. An Error
/// means that no candidate reached the application, or that the application itself does not build or pass its check.
Result<ApplyReport> apply_best(RunOffer offer, const Confirm& confirm);

/// The change that apply_best() would try first, planned; nothing is built. Its Errors are apply_best()'s for a run of
/// which no candidate reaches the application.
Result<KernelChange> best_change(RunOffer offer, const Confirm& confirm);

/// The patch that apply_best() would try first, as far as that is known before anything is confirmed, built or timed.
struct PatchPreview {
  int64_t candidate = 0;   ///< Its number in the run.
  std::string label;       ///< "#7 (source: unroll the loop over k (by 4), 1.31x)".
  bool confirmed = false;  ///< Else apply confirms its gain first, and another candidate may take its place.
  bool embedded = false;   ///< It embeds PTX.
  Prediction predicted;
  std::vector<std::string> files;  ///< Relative to the application's root.
  std::string diff;                ///< Unified, of all files.
  std::vector<std::string> notes;
  std::vector<PassedOver> passed_over;
};
Json to_json(const PatchPreview&);

/// Writes nothing, and runs nothing of the application's. The Errors are those of apply_best() for a run of which
/// nothing can be patched in.
Result<PatchPreview> preview_best(RunOffer offer);

}  // namespace kernelift::reintegrate
