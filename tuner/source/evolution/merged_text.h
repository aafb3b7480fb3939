// Two changes of one text as one, line by line, as version control merges them.
#pragma once
#include <optional>
#include <string>

namespace kernelift::tuner {

/// `base` with what `one` changes and what `other` changes. nullopt: they change the same lines differently, or the
/// texts are too long.
std::optional<std::string> merged_text(const std::string& base, const std::string& one, const std::string& other);

}  // namespace kernelift::tuner
