// How a launch spells its grid and block.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kernelift::reintegrate {

/// True if the expression is a number and not a dim3: it has that form (LaunchSite::grid_form), or arithmetic outside
/// brackets.
bool is_number(std::string_view text, std::string_view form);

/// Without blanks, too.
std::string without_brackets(std::string_view text);

/// "THREADS" of "dim3(THREADS)", which may be a number or a dim3, without comments; the text itself if it is no such.
std::string inside_dim3(std::string_view text);

/// "(n + 31) / 32" and "2" of "dim3((n + 31) / 32, 2)", without comments; none if it is no such text.
std::vector<std::string> dim3_arguments(std::string_view text);

}  // namespace kernelift::reintegrate
