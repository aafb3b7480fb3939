// Line differences between two texts, and their unified form for people. Lines are compared without their ends (\n,
// \r\n), because a slice is always written with \n whatever the tree it came from uses.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kernelift {

struct TextLine {
  std::string_view text;  ///< Without its end.
  std::string_view end;   ///< "\n", "\r\n", or empty for a last line without one.
};

/// The lines of `text`; they point into it. A text that ends in a newline has no empty line after it.
std::vector<TextLine> split_lines(std::string_view text);

/// Without the white space at both ends.
std::string_view trimmed(std::string_view text);

/// Old lines [old_begin, old_end) became new lines [new_begin, new_end); one of the two may be empty.
struct Hunk {
  size_t old_begin = 0, old_end = 0, new_begin = 0, new_end = 0;
};

/// The fewest changed lines that turn one into the other (Myers), in order. Texts that differ in more than some
/// thousand lines come back as one hunk.
std::vector<Hunk> diff_lines(const std::vector<TextLine>& from, const std::vector<TextLine>& to);

/// `diff -u` with three lines of context, "a/" and "b/" before the name; empty when the texts are equal.
std::string unified_diff(const std::string& name, std::string_view from, std::string_view to);

}  // namespace kernelift
