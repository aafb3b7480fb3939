// Encoding of code and verdicts between a runner's process and the main process, for any device. Both ends are the same
// binary, but the runner's answers are not trusted.
#pragma once
#include <string>

#include "core/base/json.h"
#include "core/base/wire.h"
#include "core/model/verdict/verdict.h"
#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift::sandbox {

void put(WireWriter& writer, const RunnableCode& code);
/// False: the message is malformed.
bool take(WireReader& reader, RunnableCode& code);

std::string encoded(const SizePlan& plan);
/// nullopt: the text is malformed.
std::optional<SizePlan> decoded_plan(const std::string& text);

/// The evaluation in an answer. Without one the candidate is blamed: Crashed, with what is known of the process's end.
Evaluation evaluation_from_answer(const Result<std::string>& answer);

}  // namespace kernelift::sandbox
