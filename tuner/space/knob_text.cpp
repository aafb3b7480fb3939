// See knob_text.h. A light lexer suffices: definitions of knobs are short, and the value is compared with the scan's,
// so a misreading gives "not found" and never a wrong edit.
#include "tuner/space/knob_text.h"

#include <cctype>

#include "core/base/words.h"
#include "core/model/kernel_key.h"

namespace kernelift::tuner {
namespace {

size_t skip_blanks(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

TextRange without_blanks(std::string_view text, size_t begin, size_t end) {
  while (begin < end && std::isspace(static_cast<unsigned char>(text[begin]))) ++begin;
  while (end > begin && std::isspace(static_cast<unsigned char>(text[end - 1]))) --end;
  return {begin, end};
}

/// The text before `at` on its line, without leading blanks.
std::string_view line_before(std::string_view text, size_t at) {
  size_t begin = text.rfind('\n', at);
  begin = begin == text.npos ? 0 : begin + 1;
  begin = skip_blanks(text, begin);
  return text.substr(begin, begin < at ? at - begin : 0);
}

bool is_define(std::string_view before) {
  if (!before.starts_with('#')) return false;
  size_t at = skip_blanks(before, 1);
  return before.substr(at).starts_with("define") && skip_blanks(before, at + 6) == before.size();
}

}  // namespace

std::string blank_comments(std::string_view source) {
  std::string text(source);
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '/' && at + 1 < text.size() && text[at + 1] == '/') {
      while (at < text.size() && text[at] != '\n') text[at++] = ' ';
    } else if (text[at] == '/' && at + 1 < text.size() && text[at + 1] == '*') {
      size_t end = text.find("*/", at + 2);
      end = end == text.npos ? text.size() : end + 2;
      for (; at < end; ++at)
        if (text[at] != '\n') text[at] = ' ';
      --at;
    } else if (text[at] == '"' ||
               (text[at] == '\'' && (at == 0 || !std::isxdigit(static_cast<unsigned char>(text[at - 1]))))) {
      char quote = text[at];
      for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) text[at++] = ' ';
        if (text[at] != '\n') text[at] = ' ';
      }
    }
  }
  return text;
}

bool mentions(std::string_view source, std::string_view word) {
  return !whole_words(blank_comments(source), word).empty();
}

std::optional<TextRange> find_knob(std::string_view source, std::string_view knob, int64_t value) {
  std::string text = blank_comments(source);
  const std::string name = unqualified_name(knob);  // By which a namespace's constant is defined.
  std::optional<TextRange> found;
  for (size_t at : whole_words(text, name)) {
    size_t after = at + name.size();
    TextRange range;
    if (is_define(line_before(text, at))) {
      if (after < text.size() && text[after] == '(') return std::nullopt;  // A function-like macro.
      size_t end = text.find('\n', after);
      range = without_blanks(text, after, end == text.npos ? text.size() : end);
      if (range.begin == range.end) return std::nullopt;
    } else {
      size_t equals = skip_blanks(text, after);
      if (equals >= text.size() || (text[equals] != '=' && text[equals] != '{')) continue;
      if (text.substr(equals, 2) == "==") continue;
      std::string_view before = line_before(text, at);
      bool constant = before.find("const") != before.npos || before.find("enum") != before.npos || text[equals] == '=';
      size_t end = text.find_first_of(text[equals] == '{' ? "}" : ",;})", equals + 1);
      if (!constant || end == text.npos) continue;
      range = without_blanks(text, equals + 1, end);
    }
    auto expression = Expression::parse(std::string_view(text).substr(range.begin, range.end - range.begin));
    if (!expression.ok()) continue;
    auto spelled = expression->evaluate({});
    if (!spelled.ok()) continue;
    if (*spelled != value) continue;
    if (found) return std::nullopt;  // Spelled twice (in #if branches); the text does not show which one applies.
    found = range;
  }
  return found;
}

}  // namespace kernelift::tuner
