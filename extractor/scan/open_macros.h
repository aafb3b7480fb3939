// Macros that a launch's text names and that are no unit when the text is put beside other operators: with
// `#define BLOCKS n / 256 + 1`, four times BLOCKS is not `BLOCKS * 4`.
#pragma once
#include <set>
#include <string>
#include <string_view>

#include "extractor/source/parsed_unit.h"

namespace kernelift::extractor {

/// Those of the names in `text` that are macros, with a definition whose expansion is anything else than a number, a
/// name with brackets and members (`sizes[2].x`, `up(n)`), or an expression in brackets.
std::set<std::string> open_macros(const ParsedUnit& unit, std::string_view text);

}  // namespace kernelift::extractor
