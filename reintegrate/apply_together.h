// Tries the changes of several kernels in one patch: gains that are each below the noise of the application's runs may
// show together. If the application's check fails with them, the kernel that breaks it is found by bisection and left
// out. If the sum is not measurably faster, each half is tried for itself.
#pragma once
#include <string>
#include <vector>

#include "reintegrate/apply.h"

namespace kernelift::reintegrate {

/// What became of one kernel's change.
struct TogetherKernel {
  std::string kernel, run;  ///< Its name; the run's file, without its folder.
  int64_t candidate = 0;    ///< Number in the run.
  Prediction predicted;     ///< Of its change alone.
  bool kept = false;
  std::string why;   ///< "kept together with k2 and k3", "the check fails with it: …"
  size_t trial = 0;  ///< Index in the report's trials of the one that decided; meaningless if there is none.
};

struct TogetherReport {
  std::vector<TogetherKernel> kernels;  ///< In the order of the changes.
  std::vector<ApplyReport> trials;      ///< Of whole sets, in order; without the steps of bisections.
  size_t checks = 0;                    ///< Builds and checks of sets to find out which kernel breaks the check.
  bool interrupted = false;

  bool kept() const;
  double speedup() const;        ///< Product of the measured speedups of all kept patches.
  std::string way_back() const;  ///< To the state before all of them; empty if nothing was kept.
  std::string branch() const;    ///< With all kept patches; empty without git.
  std::string text() const;
};
Json to_json(const TogetherReport&);

/// `request` is complete but for the changes. The changes are planned, and may have been planned on files that a kept
/// patch has changed since. EXPECTS: no apply was interrupted in the state folder. An Error means that nothing was
/// kept: the application itself does not build or pass its check, or a file is not clean.
Result<TogetherReport> apply_together(ApplyRequest request, std::vector<KernelChange> changes);

}  // namespace kernelift::reintegrate
