// Encoding of code and verdicts between a runner's process and the main process, for any device. Both ends are the same
// binary, but the runner's answers are not trusted.
#pragma once
#include <string>

#include "core/base/json.h"
#include "core/base/wire.h"
#include "core/model/verdict/verdict.h"
#include "sandbox/evaluate/runner/field/length_question.h"
#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift::sandbox {

/// Deadlines are sent as remaining seconds; 0: none.
double seconds_until(const std::optional<Deadline>& deadline);
std::optional<Deadline> deadline_from(double seconds);

void put(WireWriter& writer, const RunnableCode& code);
/// False: the message is malformed.
bool take(WireReader& reader, RunnableCode& code);

std::string encoded(const SizePlan& plan);
/// nullopt: the text is malformed.
std::optional<SizePlan> decoded_plan(const std::string& text);

std::string encoded(const LengthQuestion& question);
/// nullopt: the text is malformed.
std::optional<LengthQuestion> decoded_question(std::string_view text);
std::string encoded(const LengthAnswer& answer);
/// The same.
std::optional<LengthAnswer> decoded_answer(std::string_view text);

/// The evaluation in an answer. Without one the candidate is blamed: Crashed, with what is known of the process's end.
Evaluation evaluation_from_answer(const Result<std::string>& answer);

}  // namespace kernelift::sandbox
