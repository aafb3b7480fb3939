// Durations as people type them: "90" (seconds), "90s", "10m", "1h30m".
#pragma once
#include <string>

#include "core/base/result.h"

namespace kernelift::cli {

/// Seconds; an Error for anything else, negative and zero included.
Result<double> parse_duration(const std::string& text);
/// "1h 02m", "3m 20s", "12 s".
std::string duration_words(double seconds);

}  // namespace kernelift::cli
