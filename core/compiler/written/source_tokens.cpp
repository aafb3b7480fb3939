// The dialect is the newest that applications use. Older ones differ in no token that matters here: trigraphs, which
// some of them replace, are looked for in the bytes (written_text.cpp).
#include "core/compiler/written/source_tokens.h"

#include <clang/Basic/IdentifierTable.h>
#include <clang/Basic/LangOptions.h>
#include <clang/Basic/LangStandard.h>
#include <clang/Basic/TokenKinds.h>
#include <clang/Lex/Lexer.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>

namespace kernelift {
namespace {

const clang::LangOptions& dialect() {
  static const clang::LangOptions options = [] {
    clang::LangOptions made;
    std::vector<std::string> ignored;
    clang::LangOptions::setLangDefaults(made, clang::Language::CUDA, llvm::Triple("x86_64-pc-linux-gnu"), ignored,
                                        clang::LangStandard::lang_gnucxx20);
    made.DollarIdents = made.CXXOperatorNames = true;
    return made;
  }();
  return options;
}

/// The characters of [begin, end) with joined lines.
std::string cleaned(const char* begin, const char* end) {
  std::string text;
  while (begin < end) {
    auto one = clang::Lexer::getCharAndSizeNoWarn(begin, dialect());
    text += one.Char, begin += std::max(1u, one.Size);
  }
  return text;
}

SourceToken::Kind kind_of(const clang::Token& token) {
  using Kind = SourceToken::Kind;
  if (token.is(clang::tok::raw_identifier)) return Kind::Identifier;
  if (token.is(clang::tok::numeric_constant)) return Kind::Number;
  if (clang::tok::isStringLiteral(token.getKind())) return Kind::String;
  if (token.isOneOf(clang::tok::char_constant, clang::tok::wide_char_constant, clang::tok::utf8_char_constant,
                    clang::tok::utf16_char_constant, clang::tok::utf32_char_constant))
    return Kind::Character;
  return clang::tok::getPunctuatorSpelling(token.getKind()) ? Kind::Punctuation : Kind::Unknown;
}

std::vector<SourceToken> lex(std::string_view given, bool comments) {
  const std::string text(given);  // The lexer needs a byte of zero at the end.
  std::vector<SourceToken> all;
  clang::Lexer lexer(clang::SourceLocation(), dialect(), text.data(), text.data(), text.data() + text.size());
  lexer.SetCommentRetentionState(comments);
  unsigned line = 1;
  size_t counted = 0;
  clang::Token token;
  for (lexer.LexFromRawLexer(token); token.isNot(clang::tok::eof); lexer.LexFromRawLexer(token)) {
    if (comments != token.is(clang::tok::comment)) continue;
    SourceToken one;
    one.end = lexer.getCurrentBufferOffset(), one.offset = one.end - token.getLength();
    one.kind = kind_of(token);
    one.starts_line = token.isAtStartOfLine(), one.spaced = token.hasLeadingSpace();
    line += static_cast<unsigned>(std::count(text.begin() + static_cast<ptrdiff_t>(counted),
                                             text.begin() + static_cast<ptrdiff_t>(one.offset), '\n'));
    counted = one.offset, one.line = line;
    const char* begin = text.data() + one.offset;
    // A comment keeps its splices, and a raw string has none.
    std::string_view spelled(begin, token.getLength());
    bool raw = comments || (one.kind == SourceToken::Kind::String &&
                            spelled.substr(0, spelled.find('"')).find('R') != std::string_view::npos);
    if (const char* spelling = clang::tok::getPunctuatorSpelling(token.getKind())) one.text = spelling;
    else if (raw || !token.needsCleaning()) one.text = text.substr(one.offset, token.getLength());
    else one.text = cleaned(begin, begin + token.getLength());
    if (one.kind == SourceToken::Kind::Identifier)
      one.odd =
          token.hasUCN() || std::ranges::any_of(one.text, [](char c) { return static_cast<unsigned char>(c) > 126; });
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

std::vector<SourceToken> source_tokens(std::string_view text) { return lex(text, false); }
std::vector<SourceToken> source_comments(std::string_view text) { return lex(text, true); }

bool is_keyword(const std::string& word) {
  static clang::IdentifierTable table(dialect());
  auto found = table.find(word);
  return found != table.end() && found->second->getTokenID() != clang::tok::identifier;
}

std::vector<DirectiveTokens> directives(const std::vector<SourceToken>& tokens) {
  std::vector<DirectiveTokens> all;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].starts_line || !tokens[i].is("#")) continue;
    size_t end = i + 1;
    while (end < tokens.size() && !tokens[end].starts_line) ++end;
    all.push_back({i + 1, end});
    i = end - 1;
  }
  return all;
}

std::string joined(const std::vector<SourceToken>& tokens, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end && i < tokens.size(); ++i) text += (i > begin ? " " : "") + tokens[i].text;
  return text;
}

MacroText macro_text(const std::vector<SourceToken>& tokens, const DirectiveTokens& directive) {
  MacroText macro;
  size_t name = directive.begin + 1;
  macro.body = directive.end;
  if (name >= directive.end) return macro;
  macro.name = tokens[name].text, macro.body = name + 1;
  macro.has_parameters = macro.body < directive.end && tokens[macro.body].is("(") && !tokens[macro.body].spaced;
  if (macro.has_parameters) {
    while (macro.body < directive.end && !tokens[macro.body].is(")")) ++macro.body;
    macro.body = std::min(macro.body + 1, directive.end);
  }
  macro.text = macro.name + (macro.has_parameters ? "" : " ") + joined(tokens, name + 1, directive.end);
  bool number = false, other = false;
  for (size_t i = macro.body; i < directive.end; ++i) {
    number |= tokens[i].kind == SourceToken::Kind::Number;
    static const char* const kArithmetic[] = {"(", ")", "+", "-", "*", "/", "%", "<<", ">>"};
    other |= tokens[i].kind != SourceToken::Kind::Number &&
             std::ranges::none_of(kArithmetic, [&](auto* one) { return tokens[i].is(one); });
  }
  macro.numeric = !macro.has_parameters && number && !other;
  return macro;
}

}  // namespace kernelift
