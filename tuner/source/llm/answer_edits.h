// Applies a model's answer to a kernel's text. Every SEARCH block must occur exactly once in the text, or, if not at
// all, exactly once but for blanks; otherwise nothing is applied, and the complaint, with the most similar lines, goes
// back to the model. If there are no such blocks, a fenced block that contains a whole kernel replaces the text. Lines
// such as `LAUNCH grid.x = ceil_div(gx, 2)` change the launch, over the recorded one and integer constants that the
// edits define; those become values of the candidate, which the parameter tier varies. A whole file for a text that has
// a launch of its own must say how it is launched.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate.h"

namespace kernelift::tuner {

struct AnswerEdits {
  std::optional<Candidate> candidate;  ///< Set if the answer could be applied and changes the candidate.
  std::string complaint;               ///< Otherwise: the mistake, in words for the model.
  std::string idea;                    ///< The answer's "IDEA:" line, or its first line of prose.
};

/// `kernel`: the kernel's name, for a launch that LAUNCH lines add to a candidate without launches.
AnswerEdits apply_answer(const Candidate& parent, const std::string& answer, const std::string& kernel, bool cut_off);

}  // namespace kernelift::tuner
