// A light lexer for C, C++ and CUDA text: words (names, keywords and numbers), and the comments, strings and characters
// that contain none.
#pragma once
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kernelift {

inline bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The end of the word that begins at `at`; `at` itself if none begins there.
inline size_t end_of_word(std::string_view text, size_t at) {
  while (at < text.size() && word_character(text[at])) ++at;
  return at;
}

/// The offsets at which `word` occurs with no other word character on either side.
inline std::vector<size_t> whole_words(std::string_view text, std::string_view word) {
  std::vector<size_t> found;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !word_character(text[at - 1])) && (end == text.size() || !word_character(text[end])))
      found.push_back(at);
  }
  return found;
}

/// Without the blanks at both ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlanks = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

inline std::string without_outer_blanks(std::string_view text) { return std::string(trimmed(text)); }

/// The number with the suffix of the integers that it replaces ("512ULL" for "256ULL"), so that what is computed from
/// it keeps its type.
inline std::string number_like(std::string_view replaced, int64_t number) {
  std::string_view suffix;
  for (size_t at = 0; at < replaced.size();) {
    const size_t end = end_of_word(replaced, at);
    if (end == at) {
      ++at;
      continue;
    }
    const std::string_view word = replaced.substr(at, end - at);
    const size_t last = word.find_last_not_of("uUlLzZ");
    if (std::isdigit(static_cast<unsigned char>(word[0])) && last != word.npos &&
        word.size() - last - 1 > suffix.size())
      suffix = word.substr(last + 1);
    at = end;
  }
  return std::to_string(number) + std::string(suffix);
}

/// "1 knob", "3 knobs".
inline std::string counted(size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Whether the word in front of `at` is a number: the quotation mark of 1'000 begins no character, that of u8'a' does.
inline bool in_number(std::string_view text, size_t at) {
  size_t begin = at;
  while (begin > 0 && (word_character(text[begin - 1]) || (text[begin - 1] == '\'' && begin < at))) --begin;
  return begin < at && std::isdigit(static_cast<unsigned char>(text[begin]));
}

/// The end of the comment, string or character that begins at `at`; `at` itself if none begins there.
inline size_t past_quoted(std::string_view text, size_t at) {
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text.substr(at, 2) == "/*") {
    size_t end = text.find("*/", at + 2);
    return end == text.npos ? text.size() : end + 2;
  }
  bool separator = text[at] == '\'' && in_number(text, at);
  if ((text[at] != '"' && text[at] != '\'') || separator) return at;
  for (size_t end = at + 1; end < text.size(); ++end) {
    if (text[end] == '\\') ++end;
    else if (text[end] == text[at] || text[end] == '\n') return end + 1;
  }
  return text.size();
}

/// The offset of the bracket that closes the one at `open`; npos: none does.
inline size_t closing_bracket(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (depth == 0) return at;
  }
  return text.npos;
}

}  // namespace kernelift
