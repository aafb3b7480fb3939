// Runs a candidate in check mode of the CPU device on the recorded inputs, and judges what is found against what is
// found about the original: races and the like that the original has, too, are its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sandbox/evaluate/runner/verification.h"

namespace kernelift::sandbox {

class CheckMode {
 public:
  CheckMode(Workbench& bench, Verification& verification) : bench_(bench), verification_(verification) {}

  /// `image`: of the original, for check mode; empty: there is none, and nothing is checked.
  void set_original(std::string image);
  /// `candidate`: its image is for check mode. The verdict says what was found; if it is Ok, its detail says which
  /// inputs were not checked and why, if any. A finalist (Inquiry::confirm) is given more time.
  void check(const RunnableCode& candidate, Verdict& verdict);

 private:
  /// What is found on one recorded input; an empty `why`: it was checked.
  struct Found {
    std::vector<AccessFinding> findings;
    std::string why;
    bool right = false;  ///< Its results are.
  };
  double expected_seconds(size_t instance) const;
  Found run(const LoadedCode& code, size_t instance);
  const Found& of_original(size_t instance);

  Workbench& bench_;
  Verification& verification_;
  std::string original_;
  std::optional<LoadedCode> code_;  ///< The original's.
  std::vector<std::optional<Found>> known_;
};

}  // namespace kernelift::sandbox
