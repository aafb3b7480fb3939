// The message of a patch's commit: what is changed, what is taken for granted, what is known, what was measured.
#pragma once
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"

namespace kernelift::reintegrate {

struct CommittedKernel {
  std::string kernel;
  std::vector<Step> steps;             ///< The candidate's.
  std::vector<std::string> knowledge;  ///< Sentences: that it embeds PTX, evidence_notes().
};

struct CommitMessage : CommittedKernel {
  std::vector<CommittedKernel> with;  ///< Further kernels of the same commit.
  std::string measured;               ///< " on the CPU device": 1.2x …
  /// Other repositories that the same patch changes, by the names of their folders, and the branch that it is on there.
  std::vector<std::string> also_in = {};
  std::string branch = {};
  /// "Kernelift-Run" and its value; in the last paragraph, as git's trailers.
  std::vector<std::pair<std::string, std::string>> trailers;

  /// Lines of 72 columns at most, except for longer words. Text from outside begins no line.
  std::string text() const;
};

/// One change a line: knobs that several steps turn have their first and last value, equal steps their number.
std::vector<std::string> changes_of(const std::vector<Step>& steps);

}  // namespace kernelift::reintegrate
