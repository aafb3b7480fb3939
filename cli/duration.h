// Durations on the command line: "90" (seconds), "90s", "10m", "1h30m".
#pragma once
#include <string>

#include "core/base/result.h"

namespace kernelift::cli {

/// The duration in seconds; an Error for any other text and for durations that are not positive.
Result<double> parse_duration(const std::string& text);
/// "1h 02m", "3m 20s", "12 s".
std::string duration_words(double seconds);

}  // namespace kernelift::cli
