// The line that `tune` shows while it works: on a terminal one that fits it, in a log one at its full length.
#pragma once
#include <string>

#include "tuner/tuner.h"

namespace kernelift::cli {

/// At most `columns` long, and a column less: a line that fills a terminal wraps, and what wraps is not drawn over
/// again. The best candidate's note gives way; a terminal too narrow for the rest cuts it off.
std::string progress_line(const Progress& progress, size_t columns);

}  // namespace kernelift::cli
