// See size_guard.h. What is made of a place is one, and what is made of a size likewise: `int row = i / w;`, `int all = n * m;`.
// A kernel's statements are read one by one, with what was asked around and in front of each.
#include "tuner/space/size_guard.h"

#include <algorithm>
#include <cctype>
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

/// The name that is set there: "i" of `const int i = min(…)`.
void add_named(const std::string& piece, std::set<std::string>& words) {
  size_t at = piece.find('=');
  while (at != piece.npos && at > 0 && std::isspace(static_cast<unsigned char>(piece[at - 1]))) --at;
  size_t begin = at == piece.npos ? 0 : at;
  while (begin > 0 && word_character(piece[begin - 1])) --begin;
  if (at != piece.npos && begin < at) words.insert(piece.substr(begin, at - begin));
}

bool decides(const std::string& piece) {
  for (auto* word : {"if", "while", "for", "min", "max"})
    if (mentions(piece, word)) return true;
  return piece.find_first_of("?<>") != piece.npos;
}

size_t past_blanks(const std::string& text, size_t at) { return std::min(text.find_first_not_of(" \t\n\r", at), text.size()); }

/// Behind the bracket that closes the one at `at`.
size_t past_bracket(const std::string& text, size_t at) {
  int depth = 0;
  do {
    if (std::string_view("([{").find(text[at]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(text[at]) != std::string_view::npos) --depth;
  } while (++at < text.size() && depth > 0);
  return at;
}

/// Which stores of a body are made by threads that nothing was asked about.
class Stores {
 public:
  Stores(const std::string& code, const std::set<std::string>& places, const std::set<std::string>& limits, const std::set<std::string>& clamped)
      : code_(code), places_(places), limits_(limits), clamped_(clamped) {}
  void read(size_t open) { statement(open, false); }
  bool any() const { return any_; }
  bool unguarded() const { return unguarded_; }

 private:
  struct Read {
    size_t end = 0;
    bool leaves = false;    ///< Nothing behind it runs.
    bool guards = false;    ///< What stands behind it runs for those inside alone.
  };
  bool asks(const std::string& condition) const { return mentions_any(condition, places_) && mentions_any(condition, limits_); }
  Read statement(size_t at, bool guarded);
  Read branch(size_t at, bool guarded);
  void expression(const std::string& text, bool guarded);
  /// Of a variable or array of the thread's or the block's own, as it is declared somewhere: `float sum[4];`.
  bool is_own(const std::string& name) const;

  const std::string& code_;
  const std::set<std::string>&places_, &limits_, &clamped_;
  bool any_ = false, unguarded_ = false;
};

Stores::Read Stores::branch(size_t at, bool guarded) {
  size_t open = code_.find('(', at);
  if (open == code_.npos) return {code_.size()};
  const size_t close = past_bracket(code_, open);
  const bool asked = asks(code_.substr(open, close - open));
  Read then = statement(close, guarded || asked), other;
  const size_t next = past_blanks(code_, then.end);
  const bool has_other = code_.compare(next, 4, "else") == 0 && (next + 4 >= code_.size() || !word_character(code_[next + 4]));
  if (has_other) other = statement(next + 4, guarded || asked);
  return {has_other ? other.end : then.end, then.leaves && other.leaves, asked && (then.leaves || other.leaves)};
}

Stores::Read Stores::statement(size_t at, bool guarded) {
  at = past_blanks(code_, at);
  if (at >= code_.size()) return {at};
  if (code_[at] == '{') {
    Read last;
    for (at = past_blanks(code_, at + 1); at < code_.size() && code_[at] != '}'; at = past_blanks(code_, last.end)) {
      last = statement(at, guarded);
      if (last.end <= at) return {code_.size()};
      guarded |= last.guards;
    }
    return {std::min(at + 1, code_.size()), last.leaves};
  }
  const size_t word_end = end_of_word(code_, at);
  const std::string word = code_.substr(at, word_end - at);
  if (word == "if") return branch(word_end, guarded);
  if (word == "do" || word == "else") return statement(word_end, guarded);
  const size_t open = past_blanks(code_, word_end);
  if (!word.empty() && open < code_.size() && code_[open] == '(') {
    const size_t close = past_bracket(code_, open), body = past_blanks(code_, close);
    const std::string inside = code_.substr(open, close - open);
    // A macro that is a loop's head is believed to end it at the size that it is given.
    const bool macro = body < code_.size() && code_[body] == '{';
    if (word == "for" || word == "while" || word == "switch" || macro)
      return {statement(body, guarded || asks(inside) || (macro && word != "for" && word != "while" && word != "switch" && mentions_any(inside, limits_))).end};
  }
  size_t end = at;
  while (end < code_.size() && code_[end] != ';' && code_[end] != '}') end = std::string_view("([{").find(code_[end]) != std::string_view::npos ? past_bracket(code_, end) : end + 1;
  expression(code_.substr(at, end - at), guarded);
  const bool leaves = word == "return" || word == "continue" || word == "break";
  return {end < code_.size() && code_[end] == ';' ? end + 1 : std::max(end, at + 1), leaves};
}

bool Stores::is_own(const std::string& name) const {
  static const std::set<std::string> kNoTypes{"return", "else", "case", "goto", "const", "volatile", "auto", "__restrict__", "__restrict", "restrict", "delete", "throw"};
  for (size_t at : whole_words(code_, name)) {
    size_t end = at;
    while (end > 0 && (code_[end - 1] == ' ' || code_[end - 1] == '\t' || code_[end - 1] == '\n')) --end;
    size_t begin = end;
    while (begin > 0 && word_character(code_[begin - 1])) --begin;
    if (end < at && begin < end && !kNoTypes.contains(code_.substr(begin, end - begin)) && std::isdigit(static_cast<unsigned char>(code_[begin])) == 0) return true;
  }
  return false;
}

void Stores::expression(const std::string& text, bool guarded) {
  auto stores = [&](const std::string& target) {
    size_t begin = target.find_first_not_of(" \t\n*(&");
    const std::string root = begin == target.npos ? "" : target.substr(begin, end_of_word(target, begin) - begin);
    if (root.empty() || is_own(root)) return;
    any_ = true;
    unguarded_ |= !guarded && !mentions_any(target, clamped_) && !(decides(target) && asks(target));
  };
  if (size_t call = text.find("atomic"); call != text.npos && (call == 0 || !word_character(text[call - 1])))
    if (size_t open = text.find('(', call); open != text.npos) stores(text.substr(open + 1, std::min(text.find(','), text.size()) - open - 1));
  for (const char* step : {"++", "--"})
    if (text.find(step) != text.npos && text.find('[') != text.npos) stores(text.substr(text.starts_with(step) ? 2 : 0, text.rfind(']') + 1));
  for (size_t at = 0, depth = 0; at < text.size(); ++at) {
    if (std::string_view("([{").find(text[at]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(text[at]) != std::string_view::npos && depth > 0) --depth;
    const bool sets = text[at] == '=' && at > 0 && depth == 0 && text.substr(at + 1, 1) != "=" && std::string_view("=!<>").find(text[at - 1]) == std::string_view::npos;
    if (!sets) continue;
    const std::string target = text.substr(0, at);
    // Two words in front of the first bracket are a type and a name.
    if (target.find('[') != target.npos || target.find("->") != target.npos || target.find_first_not_of(" \t\n(") == target.find('*')) stores(target);
    return;
  }
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
  std::set<std::string> clamped;   // min(i, n - 1): whoever is past the end does what the last one does.
  for (auto& piece : pieces) {
    const bool chooses = mentions(piece, "min") || mentions(piece, "max") || piece.find('?') != piece.npos;
    if (chooses && mentions_any(piece, places) && mentions_any(piece, limits)) add_named(piece, clamped);
  }
  std::string statements = code;
  for (size_t at = 0; at < statements.size(); at = std::min(statements.find('\n', at), statements.size() - 1) + 1)
    if (const size_t first = statements.find_first_not_of(" \t", at); first != statements.npos && statements[first] == '#')
      for (size_t end = first; end < statements.size() && statements[end] != '\n'; ++end) statements[end] = ' ';
  Stores stores(statements, places, limits, clamped);
  for (size_t at : whole_words(statements, "__global__"))
    if (const size_t open = statements.find('(', at); open != statements.npos) {
      size_t body = past_blanks(statements, past_bracket(statements, open));
      // __launch_bounds__(256) name(…)
      while (body < statements.size() && statements[body] != '{' && statements[body] != ';') body = statements[body] == '(' ? past_bracket(statements, body) : body + 1;
      if (body < statements.size() && statements[body] == '{') stores.read(body);
    }
  if (stores.any()) return uses && stores.unguarded();
  return uses && std::none_of(pieces.begin(), pieces.end(), [&](auto& piece) { return decides(piece) && mentions_any(piece, places) && mentions_any(piece, limits); });
}

}  // namespace kernelift
