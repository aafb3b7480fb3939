// What a conversation with a runner's process is made of, whichever device it measures on: code on its way there,
// verdicts on their way back. Both ends are one binary, but the runner's answers are read with suspicion.
#pragma once
#include <string>

#include "core/base/json.h"
#include "core/base/wire.h"
#include "core/model/verdict.h"
#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift {

void put(WireWriter& writer, const TrialCode& code);
/// False: what was there is no code.
bool take(WireReader& reader, TrialCode& code);

/// The evaluation that an answer holds. Where there was none, the candidate is to blame: crashed, with what is known of
/// it.
Evaluation evaluation_from_answer(const Result<std::string>& answer);

}  // namespace kernelift
