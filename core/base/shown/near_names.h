// Of a name that nothing has: those that may have been meant.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kernelift {

/// "; did you mean forces, force_sum?": up to three of the names that contain the word, or are few letters from it,
/// upper and lower case being equal; the nearest first. Of a qualified name (`app::forces`) its last part counts, too.
/// Empty if none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace kernelift
