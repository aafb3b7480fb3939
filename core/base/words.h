// Words of C, CUDA and C++ in text: names, keywords and numbers, as a light lexer sees them.
#pragma once
#include <cctype>
#include <string_view>
#include <vector>

namespace kernelift {

inline bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Behind the word that begins at `at`; `at` itself where none does.
inline size_t end_of_word(std::string_view text, size_t at) {
  while (at < text.size() && word_character(text[at])) ++at;
  return at;
}

/// Where `word` stands with no other word character on either side.
inline std::vector<size_t> whole_words(std::string_view text, std::string_view word) {
  std::vector<size_t> found;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !word_character(text[at - 1])) && (end == text.size() || !word_character(text[end]))) found.push_back(at);
  }
  return found;
}

}  // namespace kernelift
