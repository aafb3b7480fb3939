// See knob_text.h. A light lexer suffices: definitions of knobs are short, and the value is compared with the scan's,
// so a misreading gives "not found" and never a wrong edit.
#include "core/model/knob/knob_text.h"

#include <algorithm>
#include <cctype>

#include "core/base/words.h"
#include "core/model/kernel_key.h"

namespace kernelift {
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

/// In the braces of an `enum`.
bool in_enumeration(std::string_view text, size_t at) {
  for (int depth = 0; at-- > 0;) {
    if (text[at] == '}') ++depth;
    if (text[at] != '{' || --depth >= 0) continue;
    const size_t begin = text.find_last_of(";{}", at == 0 ? 0 : at - 1);
    const std::string_view head =
        text.substr(begin == text.npos ? 0 : begin + 1, at - (begin == text.npos ? 0 : begin + 1));
    return !whole_words(head, "enum").empty();
  }
  return false;
}

struct Definition {
  bool function_like = false;  ///< A macro with arguments, or none that has a value.
  TextRange range;
  std::optional<int64_t> value;  ///< nullopt: no definition, or none as an integer.
};

/// What the name at `at` is defined as there. `text` is without comments.
Definition definition_at(std::string_view text, size_t at, size_t length) {
  Definition made;
  const size_t after = at + length;
  if (is_define(line_before(text, at))) {
    const size_t end = std::min(text.find('\n', after), text.size());
    made.range = without_blanks(text, after, end);
    made.function_like = (after < text.size() && text[after] == '(') || made.range.begin == made.range.end;
    if (made.function_like) return made;
  } else {
    const size_t equals = skip_blanks(text, after);
    if (equals >= text.size() || (text[equals] != '=' && text[equals] != '{')) return made;
    if (text.substr(equals, 2) == "==") return made;
    const std::string_view before = line_before(text, at);
    const bool member = at > 0 && (text[at - 1] == '.' || (at > 1 && text.substr(at - 2, 2) == "->"));
    const bool constant = !member && (before.find("const") != before.npos || in_enumeration(text, at));
    const size_t end = text.find_first_of(text[equals] == '{' ? "}" : ",;})", equals + 1);
    if (!constant || end == text.npos) return made;
    made.range = without_blanks(text, equals + 1, end);
  }
  auto expression = Expression::parse(text.substr(made.range.begin, made.range.end - made.range.begin));
  if (!expression.ok()) return made;
  if (auto spelled = expression->evaluate({}); spelled.ok()) made.value = *spelled;
  return made;
}

/// Where the name stands that ends `knob`: within the classes or namespaces of its last qualifier, where the text has
/// such, else anywhere.
std::vector<size_t> places_of(std::string_view text, std::string_view knob) {
  const std::string name = unqualified_name(knob);
  std::vector<size_t> places = whole_words(text, name);
  if (name.size() + 2 >= knob.size()) return places;
  const std::string scope = unqualified_name(knob.substr(0, knob.size() - name.size() - 2));
  std::vector<size_t> inside;
  for (size_t at : whole_words(text, scope)) {
    const size_t word = text.find_last_not_of(" \t\n", at == 0 ? 0 : at - 1);
    size_t begin = word == text.npos ? 0 : word + 1;
    while (begin > 0 && word_character(text[begin - 1])) --begin;
    const std::string_view before = text.substr(begin, word + 1 - begin);
    const size_t open = text.find_first_of("{;()", at);
    const bool opens = before == "struct" || before == "class" || before == "namespace";
    if (!opens || open == text.npos || text[open] != '{') continue;
    const size_t close = closing_bracket(text, open);
    for (size_t place : places)
      if (place > open && place < close) inside.push_back(place);
  }
  return inside.empty() ? places : inside;
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

bool mentions_word(std::string_view source, std::string_view word) {
  return !whole_words(blank_comments(source), word).empty();
}

std::optional<TextRange> find_knob(std::string_view source, std::string_view knob, int64_t value) {
  std::string text = blank_comments(source);
  std::optional<TextRange> found;
  for (size_t at : places_of(text, knob)) {
    auto definition = definition_at(text, at, unqualified_name(knob).size());
    if (definition.function_like) return std::nullopt;
    if (definition.value != value) continue;
    if (found) return std::nullopt;  // Spelled twice (in #if branches); the text does not show which one applies.
    found = definition.range;
  }
  return found;
}

std::optional<int64_t> defined_value(std::string_view source, std::string_view knob) {
  const std::string text = blank_comments(source);
  std::optional<int64_t> value;
  for (size_t at : places_of(text, knob)) {
    auto definition = definition_at(text, at, unqualified_name(knob).size());
    if (definition.function_like || (definition.value && value)) return std::nullopt;
    if (definition.value) value = definition.value;
  }
  return value;
}

Bindings new_constants(std::string_view before, std::string_view after) {
  const std::string text = blank_comments(after), known = blank_comments(before);
  Bindings found;
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_word(text, at);
    if (end == at) {
      ++at;
      continue;
    }
    const std::string_view name = std::string_view(text).substr(at, end - at);
    std::string_view ahead = line_before(text, at);
    ahead = ahead.substr(ahead.find_last_of(";(") + 1);  // Of this declaration.
    const bool defined = is_define(ahead) || !whole_words(ahead, "constexpr").empty() ||
                         !whole_words(ahead, "const").empty() || !whole_words(ahead, "enum").empty();
    const bool no_integer =
        ahead.find("*") != ahead.npos || !whole_words(ahead, "float").empty() || !whole_words(ahead, "double").empty();
    if (!std::isdigit(static_cast<unsigned char>(text[at])) && defined && !no_integer &&
        whole_words(known, name).empty())
      if (auto definition = definition_at(text, at, name.size()); definition.value)
        found.emplace(name, *definition.value);
    at = end;
  }
  std::erase_if(found, [&](auto& constant) {
    return whole_words(text, constant.first).size() < 2 || !find_knob(after, constant.first, constant.second);
  });
  return found;
}

}  // namespace kernelift
