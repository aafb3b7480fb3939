// Applies a model's answer to a kernel's text. Every SEARCH block must occur exactly once in the text, or, if not at
// all, exactly once but for blanks; otherwise nothing is applied, and the complaint, with the most similar lines, goes
// back to the model. If there are no such blocks, a fenced block that contains a whole kernel replaces the text. Lines
// such as `LAUNCH grid.x = ceil_div(gx, 2)` change the launch, as its declarations do (space/kernel_template.h). New
// integer constants and knobs of the application that the edits set otherwise become values of the candidate, which the
// parameter tier varies: as they declare, or around their values where they declare nothing. A whole file for a text
// that has a launch of its own must say how it is launched, and has none of the premises of the parent's steps.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"

namespace kernelift::tuner {

struct AnswerEdits {
  std::optional<Candidate> candidate;  ///< Set if the answer could be applied and changes the candidate.
  std::string complaint;               ///< Otherwise: the mistake, in words for the model.
  std::string idea;                    ///< The answer's "IDEA:" line, or its first line of prose.
};

/// Bytes of an answer that is looked at: a longer one is no rewrite of the parent.
size_t longest_answer(const Candidate& parent);

AnswerEdits apply_answer(const Mep& mep, const Candidate& parent, const std::string& answer, bool cut_off);

}  // namespace kernelift::tuner
