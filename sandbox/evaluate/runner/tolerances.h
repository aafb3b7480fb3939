// How far a right result may be from its reference, learned from the original: how far apart its own runs are, how far
// rounding alone moves its results (judge/rounding_envelope.h), and where its exact sums lie if its results are far
// from them (judge/nearer_reference.h). A tolerance of the user's takes the place of all of it.
#pragma once
#include "sandbox/evaluate/runner/verification.h"
#include "sandbox/judge/perturbation.h"

namespace kernelift {

class Tolerances {
 public:
  explicit Tolerances(Workbench& bench) : bench_(bench) {}

  void take_user_tolerance();
  /// By a further run of the original, whose results lie in live memory; `once`: the first run's (WriteSet::keep). Says
  /// what does not repeat; empty: all does, but for floats that are rounded otherwise from run to run (`varies`).
  Result<std::string> widen_by_run(size_t instance, const std::vector<DeviceMemory>& once, bool& varies);
  /// Runs the original compiled in other ways, and widens tolerances by how far that moves its results.
  Status add_envelopes(const std::vector<std::string>& images);
  /// The same for one entry of memory. False: the code does not run.
  Result<bool> widen_by(const LoadedCode& code, Place place);
  /// Runs the original with its sums rounded at random.
  Status add_nearer_references(const std::vector<std::string>& images);
  /// The same for one entry of memory. An Error: the process was lost to it.
  Status find_exact_sums(Place place);

 private:
  Workbench& bench_;
};

/// An Error once the time for calibration is over.
Status calibration_in_time(const Workbench& bench);

}  // namespace kernelift
