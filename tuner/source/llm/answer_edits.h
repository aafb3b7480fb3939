// What a model's answer does to a kernel's text. Strict: every SEARCH block must occur exactly once, else nothing is
// applied and the complaint, with the nearest lines, goes back to the model. Without blocks, one fenced block that
// holds a whole kernel replaces the text. `LAUNCH grid.x = ceil_div(gx, 2)` lines change the geometry.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate.h"

namespace kernelift {

struct AnswerEdits {
  std::optional<Candidate> candidate;  ///< Set if the answer could be applied and changes something.
  std::string complaint;               ///< Else: what was wrong, in words for the model.
  std::string idea;                    ///< The answer's "IDEA:" line, or its first line of prose.
};

/// `kernel` names the launch that LAUNCH lines change, should the candidate have none yet.
AnswerEdits apply_answer(const Candidate& parent, const std::string& answer, const std::string& kernel, bool cut_off);

}  // namespace kernelift
