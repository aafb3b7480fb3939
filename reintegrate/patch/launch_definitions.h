// Definitions that launches are computed from, `#define TILE 16` for `<<<n / TILE, TILE>>>`. As a knob such a one may
// be turned, and the launch is known to follow; a candidate that rewrites it in its text (a language model's, or one by
// hand) would be launched otherwise in the application than it was verified with.
#pragma once
#include <vector>

#include "core/model/mep.h"
#include "reintegrate/patch/text_diff.h"

namespace kernelift {

/// Refuses where a line of `old_lines` that `hunks` replace gives such a name another value than the new lines do, and
/// `turned` does not have it.
Status check_definitions(const Mep& mep, const std::vector<TextLine>& old_lines, const std::vector<TextLine>& new_lines,
                         const std::vector<Hunk>& hunks, const Bindings& turned);

}  // namespace kernelift
