// Statements of a kernel read from its text: assignments, and the conditions of loops and branches. A light reader for
// texts whose comments are blanked. It omits what it does not understand, and callers must assume the worst of that.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kernelift::tuner {

bool holds(std::string_view text, const std::set<std::string>& names);
/// Position of the first character from `at` on that is not blank; the text's end if there is none.
size_t past_blanks(std::string_view text, size_t at);
/// The text before `at`, from the end of the preceding statement or block.
std::string_view statement_before(std::string_view text, size_t at);

/// The end of the expression that begins at `at`: a separator, or the closing bracket around it.
size_t end_of_expression(std::string_view text, size_t at);
/// The position behind the partner of the bracket at `at`.
size_t past_bracket(std::string_view text, size_t at);

/// `name = value` or `name += value` with a plain name.
struct Assignment {
  size_t at = 0;
  std::string name, value;
  bool adds = false;
};

std::vector<Assignment> assignments(std::string_view text);

/// The condition in the parentheses behind a keyword (the middle part of a `for`), and the range that it governs.
struct Header {
  size_t begin = 0, end = 0;
  std::string condition;
};

std::vector<Header> headers(std::string_view text, std::string_view word);

/// The text without the contents of square brackets: an element's index does not determine its value.
std::string without_indices(std::string_view text);
/// All names of values in the text, with their members: "threadIdx.x", "n". Types are omitted.
std::set<std::string> names_in(std::string_view text);

/// `array[index]` in a use or declaration; `tile[y][x]` has two.
struct Subscript {
  size_t at = 0;  ///< Position of the array's name.
  std::string array, index;
  size_t dimension = 0;   ///< 1 for x in `tile[y][x]`.
  bool declared = false;  ///< `__shared__ float array[index]`.
};
std::vector<Subscript> subscripts(std::string_view text);

/// The text declares the name with __shared__.
bool is_shared(std::string_view text, std::string_view array);

}  // namespace kernelift::tuner
