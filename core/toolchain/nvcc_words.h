// How nvcc takes apart the words that it is given: lists in one option's value, option files, its environment
// variables, and the shell through which the words reach the host compiler. It is neither the shell's way nor gcc's:
// "\," is a comma inside a value, and option files are unquoted twice. Source: what the host compiler is given by nvcc
// 13, which core/tests/nvcc_words_test.cpp asks.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kernelift {

/// The entries of a list such as -D's value: `A=1\,2,B="x,y"` -> `A=1,2`, `B="x,y"`. A backslash stands for the next
/// character; commas inside double quotes do not separate, and the quotes stay. Empty entries are left out.
std::vector<std::string> split_nvcc_list(std::string_view value);

/// The entries of a list of files or folders, as -I's: backslashes stay, and double quotes go.
std::vector<std::string> split_nvcc_paths(std::string_view value);

/// The words that the host compiler is given for an option that nvcc forwards: the entries are joined by blanks, and a
/// shell splits them. Variables ($HOME) are not expanded.
std::vector<std::string> host_compiler_words(const std::vector<std::string>& entries);

/// A macro's definition as the host compiler is given it: nvcc puts it between double quotes, for a shell.
std::string host_compiler_macro(const std::string& definition);

/// The words in an option file (--options-file), as they would stand in nvcc's argument vector.
std::vector<std::string> split_nvcc_options_file(std::string_view text);

/// The words in NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS, as they would stand in nvcc's argument vector.
std::vector<std::string> split_nvcc_variable(std::string_view text);

/// The words in a response file (@file) of gcc and clang: either kind of quotes; a backslash stands for the next
/// character, inside quotes too.
std::vector<std::string> split_response_file(std::string_view text);

}  // namespace kernelift
