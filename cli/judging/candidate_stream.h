// `kernelift evaluate --stream`: candidates are judged as they come in on stdin, by an evaluator that stays up between
// them. It has compiled and measured the original once, so that an answer takes as long as the candidate does.
// docs/formats.md describes the lines.
#pragma once
#include "cli/judging/judged_run.h"
#include "cli/verb.h"
#include "core/model/evaluator.h"
#include "core/model/mep.h"

namespace kernelift::cli {

/// How much is asked of a candidate.
enum class Depth {
  Verify,   ///< Only whether it is right on the recorded inputs.
  Screen,   ///< How fast it is, too, and for which sizes it is right.
  Confirm,  ///< A gain is measured again in a fresh process; what has none is looked at for races and as a formula.
};
const char* name(Depth);  ///< "verify", "screen", "confirm".
std::optional<Depth> depth_from_name(const std::string&);

/// Whether nothing was found against it yet, so that confirmed() has it confirmed.
bool is_right(const Evaluation& evaluation);

/// A candidate that was screened, confirmed if it is right, and else with what is known of other sizes.
Evaluation confirmed(Evaluator& evaluator, Evaluation screened, const Candidate& candidate);

/// Reads requests until stdin ends, and answers each candidate with one line, in their order. A request that cannot be
/// read is answered with its error. `original` is the MEP's own text; `run`: keeps what is timed; nullptr: nothing is
/// kept.
Exit judge_stream(Evaluator& evaluator, const Mep& mep, const std::string& original, JudgedRun* run,
                  const Context& context);

}  // namespace kernelift::cli
