// Finds a knob's value in a kernel's source text: `#define NAME 16`, `constexpr int NAME = 16;`, `enum { NAME = 16 };`,
// also with comments and unusual spacing; that of `Policy::BLOCK` within `struct Policy {…}`, where the text has that.
// It works on the text alone, because candidates' texts were rewritten after the scan. Values that are spelled twice,
// or not as an integer expression, are refused (nullopt).
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/model/scan/scan_index.h"

namespace kernelift {

struct TextRange {
  size_t begin = 0, end = 0;
};

/// The range of the value's text, if it evaluates to `value`.
std::optional<TextRange> find_knob(std::string_view source, std::string_view name, int64_t value);

/// The value of the name, if the text defines it exactly once, as such a macro or constant.
std::optional<int64_t> defined_value(std::string_view source, std::string_view name);

/// The integer constants that `after` defines exactly once, as such macros or constants, and uses, and whose names
/// `before` does not mention.
Bindings new_constants(std::string_view before, std::string_view after);

/// The source with comments and the contents of string and character literals replaced by blanks; offsets stay the
/// same.
std::string blank_comments(std::string_view source);

/// Whether `word` occurs as a whole identifier outside comments and literals.
bool mentions_word(std::string_view source, std::string_view word);

}  // namespace kernelift
