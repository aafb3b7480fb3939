// See size_guard.h. What is made of a place is one, and what is made of a size likewise: `int row = i / w;`, `int all = n * m;`.
#include "tuner/space/size_guard.h"

#include <algorithm>
#include <vector>

#include "core/base/words.h"
#include "tuner/space/knob_text.h"

namespace kernelift {
namespace {

bool mentions_any(const std::string& text, const std::set<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [&](auto& word) { return mentions(text, word); });
}

/// "if (i < n", "for (int k = 0; k < n; ++k": what such a head asks, its last bracket aside.
bool is_head(const std::string& piece) {
  const std::string word = piece.substr(0, piece.find('('));
  return mentions(word, "if") || mentions(word, "for") || mentions(word, "while");
}

/// Statements, and heads of branches, loops and blocks.
std::vector<std::string> pieces_of(const std::string& code) {
  std::vector<std::string> pieces{""};
  int depth = 0;
  for (char c : code) {
    if (c == '(') ++depth;
    else if (c == ')') --depth;
    bool ends = c == '{' || c == '}' || (c == ';' && depth <= 0) || (c == ')' && depth == 0 && is_head(pieces.back()));
    if (ends) pieces.emplace_back(), depth = 0;
    else pieces.back() += c;
  }
  return pieces;
}

/// Adds `row` for `row = i / w` where i is one of the words. True where anything was new.
bool add_made(const std::string& piece, std::set<std::string>& words) {
  const size_t before = words.size();
  for (size_t at = 0; (at = piece.find('=', at)) != piece.npos; ++at) {
    if (at == 0 || at + 1 >= piece.size() || piece[at + 1] == '=' || std::string_view("=<>!").find(piece[at - 1]) != std::string_view::npos) continue;
    size_t end = at;
    while (end > 0 && !word_character(piece[end - 1])) --end;
    size_t begin = end;
    while (begin > 0 && word_character(piece[begin - 1])) --begin;
    if (begin < end && mentions_any(piece.substr(at + 1), words)) words.insert(piece.substr(begin, end - begin));
  }
  return words.size() != before;
}

bool decides(const std::string& piece) {
  for (auto* word : {"if", "while", "for", "min", "max"})
    if (mentions(piece, word)) return true;
  return piece.find_first_of("?<>") != piece.npos;
}

}  // namespace

bool lacks_guard(std::string_view source, const std::set<std::string>& sizes) {
  const std::string code = blank_comments(std::string(source));
  std::set<std::string> places{"blockIdx"}, limits = sizes;
  if (!mentions(code, "blockIdx")) return false;
  auto pieces = pieces_of(code);
  bool uses = false;
  for (auto& piece : pieces) {
    if (mentions(piece, "__global__") || mentions(piece, "__device__")) continue;
    uses |= mentions_any(piece, sizes);
    if (mentions(piece, "define") && mentions_any(piece, sizes)) return false;
    if (mentions(piece, "return") && mentions(piece, "blockIdx")) return false;   // A function that says the place.
  }
  for (bool more = true; more;) {
    more = false;
    for (auto* words : {&places, &limits})
      for (auto& piece : pieces) more |= add_made(piece, *words);
  }
  return uses && std::none_of(pieces.begin(), pieces.end(), [&](auto& piece) { return decides(piece) && mentions_any(piece, places) && mentions_any(piece, limits); });
}

}  // namespace kernelift
