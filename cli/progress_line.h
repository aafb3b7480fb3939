// The progress line of `tune`: shortened to fit a terminal, at full length in a log.
#pragma once
#include <string>

#include "tuner/tuner.h"

namespace kernelift::cli {

/// A line of at most `columns` - 1 characters: a line that fills the terminal wraps, and a wrapped line cannot be
/// overwritten. The best candidate's note is shortened first; if that is not enough, the line is cut off.
std::string progress_line(const tuner::Progress& progress, size_t columns);

}  // namespace kernelift::cli
