// What runners are asked, whichever device they measure on: code with its launches, what it is judged for, and until
// when; and why a step of it failed, ready to become a verdict.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate.h"
#include "core/model/verdict.h"
#include "sandbox/jail/channel.h"

namespace kernelift {

/// What is run: an image and how it is launched. The baseline has no launches of its own.
struct TrialCode {
  std::string image;
  std::vector<CandidateLaunch> launches;
  std::vector<Scratch> scratch;
  Bindings values;
};

/// Images of the original that are as right as it is, and round otherwise.
struct Roundings {
  std::vector<std::string> ways;  ///< Fused, reassociated…: they show how far rounding alone moves results.
  std::vector<std::string>
      at_random;  ///< Their sums are right on average (judge/nearer_reference.h); none where it has none.
};

/// Why a step failed, ready to become a verdict.
struct TrialFailure {
  Outcome outcome = Outcome::Crashed;
  std::string detail;
};

/// What one evaluation is for, and when it has to be over.
struct Inquiry {
  bool confirm = false;  ///< A finalist: timed to the end, held-out instances too; perturbed inputs are tried.
  double rival = 1;      ///< Speedup of the best so far: who stays clearly below is soon given up.
  std::optional<Deadline> deadline;  ///< A confirmation takes fewer samples to keep it.
  uint64_t era = 0;
  bool against_application = false;  ///< Timed against the application's own machine code, where the runner has it.
};

}  // namespace kernelift
