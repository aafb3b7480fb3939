// Definitions that launches are computed from, such as `#define TILE 16` for `<<<n / TILE, TILE>>>`. A candidate may
// set such a definition as a knob, because the launch is then known to follow. A candidate that rewrites it in its text
// (from a language model, or by hand) would be launched differently in the application than it was verified.
#pragma once
#include <vector>

#include "core/model/mep.h"
#include "reintegrate/patch/text_diff.h"

namespace kernelift::reintegrate {

/// Refuses `hunks` that change the value of such a name, unless `set_knobs`, the knobs set by the candidate, contains
/// it.
Status check_definitions(const Mep& mep, const std::vector<TextLine>& old_lines, const std::vector<TextLine>& new_lines,
                         const std::vector<Hunk>& hunks, const Bindings& set_knobs);

}  // namespace kernelift::reintegrate
