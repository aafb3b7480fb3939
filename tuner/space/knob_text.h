// Where a knob's value is spelled in a kernel's source text: `#define NAME 16`, `constexpr int NAME = 16;`,
// `enum { NAME = 16 };`, comments and odd spacing included. Works on text alone, because candidates' texts have been
// rewritten since they were scanned. Refuses (nullopt) what is spelled twice or not as an integer expression.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/model/scan/scan_index.h"

namespace kernelift {

struct TextRange {
  size_t begin = 0, end = 0;
};

/// The text of the value, provided that it evaluates to `value`.
std::optional<TextRange> find_knob(std::string_view source, std::string_view name, int64_t value);

/// The source with comments, and the insides of string and character literals, blanked; offsets are kept.
std::string blank_comments(std::string_view source);

/// True when `word` occurs as a whole identifier outside comments and literals.
bool mentions(std::string_view source, std::string_view word);

}  // namespace kernelift
