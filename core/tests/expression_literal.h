// Expressions in tests: "n / 64"_e, and their text where a comparison fails.
#pragma once
#include <optional>
#include <ostream>
#include <string>

#include "core/model/launch/expression.h"

namespace kernelift {

inline Expression operator""_e(const char* text, size_t length) { return *Expression::parse({text, length}); }

/// Empty text: a launch site's axis that is no integer expression.
inline std::optional<Expression> expression_of(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(*Expression::parse(text));
}

inline void PrintTo(const Expression& expression, std::ostream* out) { *out << expression.text(); }

}  // namespace kernelift
