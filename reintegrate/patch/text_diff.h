// Line differences between two texts, and their unified form. Lines are compared without their ends (\n, \r\n), because
// a slice is always written with \n, whatever the application's sources use.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/base/words.h"

namespace kernelift::reintegrate {

struct TextLine {
  std::string_view text;  ///< The line without its end.
  std::string_view end;   ///< "\n", "\r\n", or empty for a last line without one.
};

/// The lines of `text`; they point into it. A text that ends in a newline has no empty line after it.
std::vector<TextLine> split_lines(std::string_view text);

/// Old lines [old_begin, old_end) became new lines [new_begin, new_end); one of the two may be empty.
struct Hunk {
  size_t old_begin = 0, old_end = 0, new_begin = 0, new_end = 0;
};

/// The smallest set of changed lines that turns one text into the other (Myers), in order. If more than 2000 lines
/// differ, the result is one hunk.
std::vector<Hunk> diff_lines(const std::vector<TextLine>& from, const std::vector<TextLine>& to);

/// `diff -u` with three lines of context, "a/" and "b/" before the name; empty when the texts are equal.
std::string unified_diff(const std::string& name, std::string_view from, std::string_view to);

}  // namespace kernelift::reintegrate
