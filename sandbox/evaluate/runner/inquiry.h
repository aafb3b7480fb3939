// Requests to a runner, for any device: code with its launches, the purpose of the evaluation and its deadline; and the
// failure of a step, ready to become a verdict.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/verdict/verdict.h"
#include "sandbox/evaluate/runner/sizes/sized_instance.h"
#include "sandbox/jail/channel.h"

namespace kernelift::sandbox {

/// An image and its launches. Without launches of its own (as the baseline) it is launched as recorded.
struct RunnableCode {
  std::string image;
  std::vector<CandidateLaunch> launches;
  std::vector<Scratch> scratch;
  Bindings values;
  /// The same code for this processor, the lanes of its warps side by side (cpu::LowerOptions); empty: none.
  std::string side_by_side = {};
  std::string checked = {};   ///< The same for check mode (cpu::LowerOptions::checked); of the original only.
  std::string original = {};  ///< Inquiry::field: the original for field runs; `image` is the candidate's.
  /// Inquiry::held_to_length: the original, lowered for NumberKind::Precise and for ErrorBounds.
  std::string precise = {}, error_bounds = {};
  /// An image of the application's whole unit: it holds variables of other kernels, which are left alone.
  bool whole_unit = false;
};

/// Images of the original that differ from it only in rounding.
struct Roundings {
  std::vector<std::string> ways;  ///< Fused, reassociated…: they show how far rounding alone moves results.
  /// With randomly rounded sums (judge/nearer_reference.h); empty if the kernel has no sums.
  std::vector<std::string> at_random;
};

/// Why a step failed, ready to become a verdict.
struct RunFailure {
  Outcome outcome = Outcome::Crashed;
  std::string detail;
  bool astray = false;  ///< It accessed memory beside what it is lent.
};

/// The purpose of one evaluation, and its deadline.
struct Inquiry {
  bool confirm = false;              ///< A finalist: all samples, held-out instances and perturbed inputs too.
  double rival = 1;                  ///< Speedup of the best so far; timing of clearly slower candidates ends early.
  std::optional<Deadline> deadline;  ///< A confirmation takes fewer samples to keep it.
  uint64_t era = 0;                  ///< Era of the submission (EvaluationJob::era).
  bool against_application = false;  ///< Time against the application's own machine code.
  /// Nothing but check mode, of an image that was made for it: the verdict has no timings.
  bool check = false;
  bool untimed = false;  ///< Nothing but verification on the recorded inputs: the verdict has no timings.
  SizePlan sizes = {};   ///< Of a confirmation: sizes at which the candidate is run beside the original.
  /// Nothing but field runs (FieldEquality), of images that were made for them: the verdict has no timings.
  bool field = false;
  /// It computes the original's formula: floats within the error bounds of the original's sums by their length
  /// (judge/length_bound.h) are right, too.
  bool held_to_length = false;
};

}  // namespace kernelift::sandbox
