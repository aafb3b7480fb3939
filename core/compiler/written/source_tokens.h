// A source text as the tokens of clang's own lexer, after phases 1 to 3 of translation: lines that end in a backslash
// are joined, digraphs are the tokens that they stand for, comments are gone. Nothing is preprocessed: text in skipped
// conditionals and the bodies of macros are tokens like any others. So what a text contains can be asked before any
// front end acts on it, and no spelling hides an answer.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kernelift {

struct SourceToken {
  enum class Kind { Identifier, Number, String, Character, Punctuation, Unknown } kind = Kind::Unknown;
  std::string text;            ///< Cleaned: punctuation in its primary spelling ("#" for "%:").
  size_t offset = 0, end = 0;  ///< Bytes in the text.
  unsigned line = 1;
  bool starts_line = false;  ///< The first of its line, after joined lines.
  bool spaced = false;       ///< White space or a comment is before it.
  bool odd = false;          ///< An identifier with characters outside of ASCII, or with their \u names.

  bool is(std::string_view spelling) const { return kind != Kind::String && text == spelling; }
};

std::vector<SourceToken> source_tokens(std::string_view text);
/// The comments of the text, each with its delimiters.
std::vector<SourceToken> source_comments(std::string_view text);

/// True if C++ with CUDA gives the word a meaning of its own.
bool is_keyword(const std::string& word);

/// Indexes [begin, end) of a directive's tokens, without its '#'. A directive ends with its line.
struct DirectiveTokens {
  size_t begin = 0, end = 0;
};
std::vector<DirectiveTokens> directives(const std::vector<SourceToken>& tokens);

/// The tokens [begin, end) with one space between two.
std::string joined(const std::vector<SourceToken>& tokens, size_t begin, size_t end);

/// The definition of a macro.
struct MacroText {
  std::string name;
  bool has_parameters = false;
  size_t body = 0;       ///< Index of the first token of what it is replaced by.
  std::string text;      ///< Name, parameters and body.
  bool numeric = false;  ///< It has no parameters, and its body is a number, or arithmetic of numbers.
};
/// EXPECTS: the directive is a #define.
MacroText macro_text(const std::vector<SourceToken>& tokens, const DirectiveTokens& directive);

}  // namespace kernelift
