// What is known of a candidate beyond its recorded inputs, for the commit message of its patch.
#pragma once
#include <string>
#include <vector>

#include "core/model/verdict/verdict.h"

namespace kernelift::reintegrate {

/// Sentences: what was proven, at which sizes it was run, what exact arithmetic shows. `guarded`: launches ask the
/// premise of a proof.
std::vector<std::string> evidence_notes(const Verdict& figures, bool guarded);

}  // namespace kernelift::reintegrate
