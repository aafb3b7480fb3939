// What comments of a kernel's text declare for tuning (docs/templates.md): parameters with the values to try,
// conditions on them, and the sizes of the launch. A text with such comments is a template: it compiles as it is, with
// the values that its definitions have.
//
//     // kernelift: tune TILE in {16, 32, 64} where TILE * TILE <= 1024
//     // kernelift: launch grid.x = ceil_div(n, TILE), block.x = TILE
//     #define TILE 32
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/launch/expression.h"

namespace kernelift {

struct TuneDeclarations {
  struct Parameter {
    std::string name;
    std::vector<int64_t> values;  ///< Ascending, each once, at least one.
    size_t line = 0;              ///< Of the text, from 1.
  };
  struct Condition {
    Expression holds;
    size_t line = 0;
  };
  /// `name`: as CandidateLaunch::size_named() reads it.
  struct Size {
    std::string name;
    Expression size;
    size_t line = 0;
  };
  std::vector<Parameter> parameters;
  std::vector<Condition> conditions;
  std::vector<Size> launch;

  bool empty() const { return parameters.empty() && conditions.empty() && launch.empty(); }
  const Parameter* find(std::string_view name) const;  ///< nullptr: it is not declared.

  /// A usage Error names line and mistake: "line 3: TILE is declared twice, first in line 1".
  static Result<TuneDeclarations> parse(std::string_view source);
};

/// The text without its declarations of launches, which a candidate carries apart from its text.
std::string without_launch_declarations(std::string_view source);
/// The text without the declarations that `original` does not contain; a line that held nothing else goes with them.
std::string without_declarations(std::string_view source, std::string_view original);

}  // namespace kernelift
