// What is known of a candidate beyond its recorded inputs, for the commit message of its patch.
#pragma once
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/verdict/verdict.h"

namespace kernelift::reintegrate {

/// Sentences: what was proven, at which sizes it was run, what exact arithmetic shows. `guarded`: launches ask the
/// premise of a proof.
std::vector<std::string> evidence_notes(const Verdict& figures, bool guarded);

/// What is known of other sizes, if that is enough to run the candidate there as embedded code: its use of memory and
/// its values are proven the original's, and none of its steps takes for granted what no launch can be asked. Else
/// nullptr.
const OtherSizes* settled_sizes(const Candidate& candidate, const Verdict& figures);

}  // namespace kernelift::reintegrate
