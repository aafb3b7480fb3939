// See size_guard.h. Values computed from an index count as indices, and values computed from sizes as sizes: `int row =
// i / w;`, `int all = n * m;`. Statements are read in order, with the conditions around and before each.
#include "tuner/space/size_guard.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "core/base/words.h"
#include "tuner/space/knob_text.h"
#include "tuner/space/plain_text.h"
#include "tuner/space/statement_text.h"

namespace kernelift::tuner {
namespace {

/// Names that are derived from the block's index, from the thread's index and from the sizes; `clamped` are indices
/// that min or max keeps in bounds.
struct Words {
  std::set<std::string> blocks{"blockIdx"}, threads{"threadIdx"}, limits, clamped;
};

bool mentions_any(const std::string& text, const std::set<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [&](auto& word) { return mentions(text, word); });
}

/// The text with members blanked: `p.n` and `p->n` mention p and not n.
std::string without_members(std::string text) {
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t name = text[at] == '.' ? at + 1 : text.compare(at, 2, "->") == 0 ? at + 2 : text.size();
    for (size_t i = name, end = end_of_word(text, name); i < end; ++i) text[i] = ' ';
  }
  return text;
}

/// The piece is the head of a branch or loop without its closing parenthesis: "if (i < n", "for (int k = 0; k < n;
/// ++k".
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

/// The name that the `=` at `at` sets: "i" for `const int i = min(…)` and `i += n`, none for `a[i] = n`.
std::string name_before(const std::string& piece, size_t at) {
  if (at > 0 && std::string_view("+-*/%&|^").find(piece[at - 1]) != std::string_view::npos) --at;
  while (at > 0 && std::isspace(static_cast<unsigned char>(piece[at - 1]))) --at;
  size_t begin = at;
  while (begin > 0 && word_character(piece[begin - 1])) --begin;
  return piece.substr(begin, at - begin);
}

bool is_assignment(const std::string& text, size_t at) {
  return text[at] == '=' && at > 0 && text.substr(at + 1, 1) != "=" &&
         std::string_view("=!<>").find(text[at - 1]) == std::string_view::npos;
}

/// The value is at most a size or a product of sizes: not `n + 2`, `2 * n` or `n << 1`.
bool is_bounded_by_sizes(const std::string& text, const std::set<std::string>& sizes) {
  if (mentions(text, "min")) return true;
  if (mentions(text, "max") || text.find('+') != text.npos || text.find("<<") != text.npos) return false;
  const std::string around = " \t\n()";
  for (size_t at = text.find('*'); at != text.npos; at = text.find('*', at + 1)) {
    const size_t right = text.find_first_not_of(around, at + 1);
    size_t end = at > 0 ? text.find_last_not_of(around, at - 1) : text.npos, begin = end == text.npos ? 0 : end + 1;
    while (end != text.npos && begin > 0 && word_character(text[begin - 1])) --begin;
    if (end == text.npos || right == text.npos) return false;
    if (!sizes.contains(text.substr(begin, end + 1 - begin)) ||
        !sizes.contains(text.substr(right, end_of_word(text, right) - right)))
      return false;
  }
  return true;
}

/// Adds names that are assigned from `words` (`row` for `row = i / w`); for sizes, only values bounded by them. true if
/// a name was added.
bool add_derived(const std::string& piece, std::set<std::string>& words, bool sizes) {
  const size_t before = words.size();
  for (size_t at = 1; at < piece.size(); ++at)
    if (is_assignment(piece, at) && mentions_any(piece.substr(at + 1), words) &&
        (!sizes || is_bounded_by_sizes(piece.substr(at + 1), words)))
      if (std::string name = name_before(piece, at); !name.empty()) words.insert(name);
  return words.size() != before;
}

bool decides(const std::string& piece) {
  for (auto* word : {"if", "while", "for", "min", "max"})
    if (mentions(piece, word)) return true;
  return piece.find_first_of("?<>") != piece.npos;
}

/// Accesses of a kernel's body to global memory, and whether threads past the sizes execute them.
class Accesses {
 public:
  Accesses(const std::string& code, const Words& words) : code_(code), words_(words) {}
  void read(size_t open) { statement(open, false); }
  bool any_store() const { return any_store_; }
  /// An unguarded store of each thread; or an unguarded store of a reduction, `if (t == 0) sums[blockIdx.x] = s;`, of
  /// values of which none is guarded, or which are read without a guard.
  bool unguarded() const { return bare_store_ || (bare_sum_ && (bare_read_ || !any_guarded_)); }

 private:
  struct Read {
    size_t end = 0;
    bool leaves = false;  ///< The statement ends the body's execution.
    bool guards = false;  ///< Statements behind it run for threads in bounds only.
  };
  bool compares(const std::string& condition) const {
    return mentions_any(condition, words_.blocks) && mentions_any(condition, words_.limits);
  }
  /// Whether threads are in bounds if the condition holds, and if it does not hold.
  struct Sides {
    bool inside = false, outside = false;
  };
  Sides sides(const std::string& condition) const;
  /// The index depends on both block and thread.
  bool is_global(const std::string& index) const {
    return mentions_any(index, words_.blocks) && mentions_any(index, words_.threads);
  }
  Read statement(size_t at, bool guarded);
  Read branch(size_t at, bool guarded);
  void expression(const std::string& text, bool guarded);
  void store(const std::string& target, bool guarded);
  void reads(const std::string& text, bool guarded);
  /// The name is declared in the text as a local variable or a shared array: `float sum[4];`.
  bool is_own(const std::string& name) const;

  const std::string& code_;
  const Words& words_;
  bool any_store_ = false, bare_store_ = false, bare_sum_ = false, bare_read_ = false, any_guarded_ = false;
};

/// `i < n && m > 0` keeps threads in bounds if it holds, `i >= n || m == 0` if it does not. A flag that depends on
/// index and size may do either.
Accesses::Sides Accesses::sides(const std::string& condition) const {
  if (!compares(condition)) return {};
  bool below = false, above = false, other = false;
  for (size_t at = 0, end = 0; at < condition.size(); at = end + 2) {
    end = std::min({condition.find("&&", at), condition.find("||", at), condition.size()});
    const std::string part = condition.substr(at, end - at);
    if (!compares(part)) continue;
    size_t sign = part.find_first_of("<>");
    while (sign != part.npos && (part.substr(sign, 2) == "<<" || part.substr(sign, 2) == ">>"))
      sign = part.find_first_of("<>", sign + 2);
    if (sign == part.npos) {
      const bool compares = part.find("==") != part.npos || part.find("!=") != part.npos;
      if (!compares) below = above = true;
      other |= compares;
      continue;
    }
    const bool equal = part.substr(sign + 1, 1) == "=";
    std::string index = part.substr(0, sign), limit = part.substr(sign + (equal ? 2 : 1));
    const bool reversed = !mentions_any(index, words_.blocks), negated = part.find("!(") < sign;
    if (reversed) std::swap(index, limit);
    const bool lower = (part[sign] == '<') != (reversed != negated);
    // `i <= n` admits one index more, and so do `i - 1 < n` and `i < n + 1`.
    const bool strict = lower == (equal == negated);
    const bool holds = is_bounded_by_sizes(limit, words_.limits) && (strict || limit.find('-') != limit.npos) &&
                       index.find('-') == index.npos;
    if (holds) (lower ? below : above) = true;
    else other = true;
  }
  const bool any = condition.find("||") != condition.npos, all = condition.find("&&") != condition.npos;
  return {below && !any, above && !all && !other};
}

Accesses::Read Accesses::branch(size_t at, bool guarded) {
  size_t open = code_.find('(', at);
  if (open == code_.npos) return {code_.size()};
  const size_t close = past_bracket(code_, open);
  const std::string condition = code_.substr(open, close - open);
  const Sides asked = sides(condition);
  reads(condition, guarded || asked.inside || asked.outside);
  Read then = statement(close, guarded || asked.inside), other;
  const size_t next = past_blanks(code_, then.end);
  const bool has_other =
      code_.compare(next, 4, "else") == 0 && (next + 4 >= code_.size() || !word_character(code_[next + 4]));
  if (has_other) other = statement(next + 4, guarded || asked.outside);
  return {has_other ? other.end : then.end, then.leaves && other.leaves,
          (asked.outside && then.leaves) || (asked.inside && other.leaves)};
}

Accesses::Read Accesses::statement(size_t at, bool guarded) {
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
    // A macro that stands for a loop's head is assumed to bound it by the size among its arguments.
    const bool macro = body < code_.size() && code_[body] == '{';
    const bool loop = word == "for" || word == "while" || word == "switch";
    if (loop || macro) {
      size_t first = word == "for" ? inside.find(';') : inside.npos;
      const std::string condition =
          first == inside.npos ? inside : inside.substr(first + 1, inside.find(';', first + 1) - first - 1);
      guarded |= (loop ? sides(condition).inside : compares(inside)) ||
                 (macro && !loop && mentions_any(inside, words_.limits));
      reads(inside, guarded);
      return {statement(body, guarded).end};
    }
  }
  size_t end = at;
  while (end < code_.size() && code_[end] != ';' && code_[end] != '}')
    end = std::string_view("([{").find(code_[end]) != std::string_view::npos ? past_bracket(code_, end) : end + 1;
  expression(code_.substr(at, end - at), guarded);
  const bool leaves = word == "return" || word == "continue" || word == "break";
  return {end < code_.size() && code_[end] == ';' ? end + 1 : std::max(end, at + 1), leaves};
}

bool Accesses::is_own(const std::string& name) const {
  static const std::set<std::string> kNoTypes{"return", "else",         "case",       "goto",     "const",  "volatile",
                                              "auto",   "__restrict__", "__restrict", "restrict", "delete", "throw"};
  for (size_t at : whole_words(code_, name)) {
    size_t end = at;
    while (end > 0 && (code_[end - 1] == ' ' || code_[end - 1] == '\t' || code_[end - 1] == '\n')) --end;
    size_t begin = end;
    while (begin > 0 && word_character(code_[begin - 1])) --begin;
    if (end < at && begin < end && !kNoTypes.contains(code_.substr(begin, end - begin)) &&
        std::isdigit(static_cast<unsigned char>(code_[begin])) == 0)
      return true;
  }
  return false;
}

void Accesses::store(const std::string& target, bool guarded) {
  const size_t begin = target.find_first_not_of(" \t\n*(&");
  const std::string root = begin == target.npos ? "" : target.substr(begin, end_of_word(target, begin) - begin);
  if (root.empty() || is_own(root)) return;
  any_store_ = true;
  const bool bare = !guarded && !mentions_any(target, words_.clamped) && !(decides(target) && compares(target));
  (is_global(target) ? bare_store_ : bare_sum_) |= bare;
}

void Accesses::reads(const std::string& text, bool guarded) {
  for (size_t open = text.find('['); open != text.npos; open = text.find('[', open + 1)) {
    size_t begin = open;
    while (begin > 0 && word_character(text[begin - 1])) --begin;
    const std::string index = text.substr(open, past_bracket(text, open) - open), before = text.substr(0, begin);
    if (begin == open || !is_global(index) || is_own(text.substr(begin, open - begin))) continue;
    const bool chosen =
        (before.find('?') != before.npos || before.find("&&") != before.npos || before.find("||") != before.npos) &&
        compares(before);
    bare_read_ |= !guarded && !chosen;  // Also of a clamped index, whose element a sum would contain several times.
    any_guarded_ |= chosen;
  }
}

void Accesses::expression(const std::string& text, bool guarded) {
  any_guarded_ |= guarded && text.find_first_not_of(" \t\n") != text.npos;
  if (size_t call = text.find("atomic"); call != text.npos && (call == 0 || !word_character(text[call - 1])))
    if (size_t open = text.find('(', call); open != text.npos)
      store(text.substr(open + 1, std::min(text.find(','), text.size()) - open - 1), guarded);
  for (const char* step : {"++", "--"})
    if (text.find(step) != text.npos && text.find('[') != text.npos)
      store(text.substr(text.starts_with(step) ? 2 : 0, text.rfind(']') + 1), guarded);
  for (size_t at = 0, depth = 0; at < text.size(); ++at) {
    if (std::string_view("([{").find(text[at]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(text[at]) != std::string_view::npos && depth > 0) --depth;
    if (depth > 0 || !is_assignment(text, at)) continue;
    const std::string target = text.substr(0, at);
    // Two words before the first bracket are a type and a name.
    if (target.find('[') != target.npos || target.find("->") != target.npos ||
        target.find_first_not_of(" \t\n(") == target.find('*'))
      store(target, guarded);
    return reads(text.substr(at + 1), guarded);
  }
  reads(text, guarded);
}

}  // namespace

bool lacks_guard(std::string_view source, const std::set<std::string>& sizes, int axis) {
  std::string code = plain_text(source);
  // Comparisons of indices along other axes do not count.
  for (size_t at : whole_words(code, "blockIdx"))
    if (code.compare(at + 8, 1, ".") == 0 && at + 9 < code.size() &&
        std::string_view("xyz").find(code[at + 9]) != std::string_view::npos && code[at + 9] != "xyz"[axis])
      code.replace(at, 8, "otherIdx");
  Words words;
  words.limits = sizes;
  if (!mentions(code, "blockIdx")) return false;
  auto pieces = pieces_of(without_members(code));
  bool uses = false;
  for (auto& piece : pieces) {
    if (mentions(piece, "__global__") || mentions(piece, "__device__")) continue;
    uses |= mentions_any(piece, sizes);
    if (mentions(piece, "define") && mentions_any(piece, sizes)) return false;
    if (mentions(piece, "return") && mentions(piece, "blockIdx")) return false;  // A function that returns an index.
  }
  for (bool more = true; more;) {
    more = false;
    for (auto* made : {&words.blocks, &words.threads, &words.limits})
      for (auto& piece : pieces) more |= add_derived(piece, *made, made == &words.limits);
  }
  auto compares = [&](const std::string& piece) {
    return mentions_any(piece, words.blocks) && mentions_any(piece, words.limits);
  };
  for (auto& piece : pieces) {  // min(i, n - 1): threads past the end repeat the work of the last one.
    const bool chooses = mentions(piece, "min") || mentions(piece, "max") || piece.find('?') != piece.npos;
    const size_t set = piece.find('=');
    if (chooses && set != piece.npos && compares(piece)) words.clamped.insert(name_before(piece, set));
  }
  words.clamped.erase("");
  std::string statements = without_members(code);
  for (size_t at = 0; at < statements.size(); at = std::min(statements.find('\n', at), statements.size() - 1) + 1)
    if (const size_t first = statements.find_first_not_of(" \t", at);
        first != statements.npos && statements[first] == '#')
      for (size_t end = first; end < statements.size() && statements[end] != '\n'; ++end) statements[end] = ' ';
  Accesses accesses(statements, words);
  for (size_t at : whole_words(statements, "__global__"))
    if (const size_t open = statements.find('(', at); open != statements.npos) {
      size_t body = past_blanks(statements, past_bracket(statements, open));
      // __launch_bounds__(256) name(…)
      while (body < statements.size() && statements[body] != '{' && statements[body] != ';')
        body = statements[body] == '(' ? past_bracket(statements, body) : body + 1;
      if (body < statements.size() && statements[body] == '{') accesses.read(body);
    }
  if (accesses.any_store()) return uses && accesses.unguarded();
  return uses &&
         std::none_of(pieces.begin(), pieces.end(), [&](auto& piece) { return decides(piece) && compares(piece); });
}

}  // namespace kernelift::tuner
