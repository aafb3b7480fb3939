// Statements of a kernel as text: what is assigned to which name, and what loops and branches ask. A light reader, for
// texts whose comments are blanked; what it does not understand it leaves out, and whoever asks must take that for the
// worse.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kernelift {

bool holds(std::string_view text, const std::set<std::string>& names);
std::string trimmed(std::string_view text);
/// The first that is no blank, from `at` on; the text's end if none is.
size_t past_blanks(std::string_view text, size_t at);
/// What stands in front of `at`, from the end of the statement or block before.
std::string_view statement_before(std::string_view text, size_t at);

/// The end of the expression that begins at `at`: what separates it from the next, or closes what is around it.
size_t end_of_expression(std::string_view text, size_t at);
/// The end of what begins with the bracket at `at`, its partner included.
size_t past_bracket(std::string_view text, size_t at);

/// `name = value`, or `name += value`, where both are plain.
struct Assignment {
  size_t at = 0;
  std::string name, value;
  bool adds = false;
};

std::vector<Assignment> assignments(std::string_view text);

/// What is between the parentheses behind each `word`, and where what it governs ends.
struct Header {
  size_t begin = 0, end = 0;
  std::string condition;
};

/// Of a `for` its middle part.
std::vector<Header> headers(std::string_view text, std::string_view word);

/// Without what is between square brackets: which element it is says nothing of its value.
std::string without_indices(std::string_view text);
/// Every name in the text with its members, "threadIdx.x" and "n"; not types and what else says nothing of a number.
std::set<std::string> names_in(std::string_view text);

/// `array[index]`, as it is used or declared; of `tile[y][x]` each by itself.
struct Subscript {
  size_t at = 0;  ///< Where the array's name begins.
  std::string array, index;
  size_t dimension = 0;   ///< 1 of `x`.
  bool declared = false;  ///< `__shared__ float array[index]`.
};
std::vector<Subscript> subscripts(std::string_view text);

/// Something declares the name with __shared__.
bool is_shared(std::string_view text, std::string_view array);

}  // namespace kernelift
