// Every definition that the name has in the unit counts, whichever holds at the launch: brackets too many do no harm.
#include "extractor/scan/open_macros.h"

#include <cctype>

#include "clang/Lex/Preprocessor.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

constexpr int kMostMacros = 16;  // A macro that names a macro, and so on.

class Bodies {
 public:
  explicit Bodies(const Preprocessor& preprocessor) : preprocessor_(preprocessor) {}

  bool is_open(std::string_view name, int depth = 0) const {
    auto* identifier = preprocessor_.getIdentifierInfo(llvm::StringRef(name.data(), name.size()));
    if (!identifier->hadMacroDefinition()) return false;
    for (auto* one = preprocessor_.getLocalMacroDirectiveHistory(identifier); one; one = one->getPrevious())
      if (auto* definition = llvm::dyn_cast<DefMacroDirective>(one))
        if (!is_closed(*definition->getInfo(), depth)) return true;
    return false;
  }

 private:
  /// The tokens outside of brackets decide: operands that `.`, `->` and `::` join, each with its brackets.
  bool is_closed(const MacroInfo& macro, int depth) const {
    if (depth > kMostMacros) return false;
    int level = 0;
    tok::TokenKind before = tok::unknown;  // The last token outside; a bracket for what it closes.
    for (auto& token : macro.tokens()) {
      const bool opens = token.isOneOf(tok::l_paren, tok::l_square);
      const bool closes = token.isOneOf(tok::r_paren, tok::r_square);
      if (level == 0 && !may_follow(before, token)) return false;
      if (level == 0 && token.getIdentifierInfo() && !is_operand(macro, token, depth)) return false;
      level += opens - closes;
      if (level == 0) before = token.getKind();
    }
    return level == 0 && before != tok::unknown && !is_join(before);
  }
  static bool is_join(tok::TokenKind kind) {
    return kind == tok::period || kind == tok::arrow || kind == tok::coloncolon;
  }
  static bool may_follow(tok::TokenKind before, const Token& token) {
    const bool begins = before == tok::unknown || is_join(before);
    if (token.is(tok::l_square)) return !begins;
    if (token.is(tok::l_paren)) return before == tok::unknown || tok::getPunctuatorSpelling(before) == nullptr;
    if (token.is(tok::coloncolon)) return before == tok::unknown || !is_join(before);
    if (is_join(token.getKind())) return !begins;
    return begins && (token.is(tok::numeric_constant) || token.getIdentifierInfo());
  }
  /// A parameter stands for whatever the macro is given, and `sizeof n` has an operand without brackets.
  bool is_operand(const MacroInfo& macro, const Token& token, int depth) const {
    auto* identifier = token.getIdentifierInfo();
    if (macro.isFunctionLike() && macro.getParameterNum(identifier) >= 0) return false;
    return !is_open(std::string_view(identifier->getName().data(), identifier->getName().size()), depth + 1);
  }

  const Preprocessor& preprocessor_;
};

}  // namespace

std::set<std::string> open_macros(const ParsedUnit& unit, std::string_view text) {
  auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::set<std::string> found;
  const Bodies bodies(unit.preprocessor);
  for (size_t at = 0; at < text.size(); ++at) {
    size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    if (end == at) continue;
    const std::string_view name = text.substr(at, end - at);
    if (!std::isdigit(static_cast<unsigned char>(name[0])) && bodies.is_open(name)) found.emplace(name);
    at = end;
  }
  return found;
}

}  // namespace kernelift::extractor
