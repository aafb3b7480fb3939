// A text's AST. Texts that are parsed with the same arguments share the headers that these include implicitly, which
// are precompiled in memory: read with every text, they would take nearly all of the time.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace clang {
class ASTUnit;
}  // namespace clang

namespace kernelift::tuner {

struct ParsedText {
  std::shared_ptr<const void> headers;  ///< The unit reads out of them what it needs, when it needs it.
  std::unique_ptr<clang::ASTUnit> unit;

  ParsedText();
  ParsedText(ParsedText&&) noexcept;
  ParsedText& operator=(ParsedText&&) noexcept;
  ~ParsedText();
};

/// `arguments`: clang's. An Error holds the diagnostics. Thread-safe.
Result<ParsedText> parse_text(const std::string& text, const std::vector<std::string>& arguments);

}  // namespace kernelift::tuner
