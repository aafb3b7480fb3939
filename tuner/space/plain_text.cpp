// See plain_text.h. One form of access after the other is rewritten; unknown forms stay unchanged.
#include "tuner/space/plain_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

#include "core/base/words.h"
#include "tuner/space/knob_text.h"
#include "tuner/space/statement_text.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kLongest = 400'000;  ///< Characters; chains of pointers can double a text with every pass.
constexpr int kMostPasses = 6;        ///< For nested forms.

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
/// Position of the last character before `at` that is not blank; npos if there is none.
size_t before(std::string_view text, size_t at) {
  while (at > 0 && is_blank(text[at - 1])) --at;
  return at == 0 ? text.npos : at - 1;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 && end_of_word(text, 0) == text.size();
}

/// The operator at `at` has no left operand.
bool is_unary(std::string_view text, size_t at) {
  const size_t last = before(text, at);
  if (last == text.npos || std::string_view("=,(;{}+-*/%<>!&|?:[~^").find(text[last]) != std::string_view::npos)
    return true;
  size_t begin = last + 1;
  while (begin > 0 && word_character(text[begin - 1])) --begin;
  return text.substr(begin, last + 1 - begin) == "return";
}

/// `base + rest`, `&base[rest]` or `base` alone, possibly in parentheses.
struct Address {
  std::string base, rest;
};

bool read_address(std::string_view text, Address& address) {
  std::string all = without_outer_blanks(text);
  while (all.size() > 1 && all.front() == '(' && past_bracket(all, 0) == all.size())
    all = without_outer_blanks(std::string_view(all).substr(1, all.size() - 2));
  const bool of = all.starts_with("&") && !all.starts_with("&&");
  if (of) all = without_outer_blanks(std::string_view(all).substr(1));
  const size_t end = end_of_word(all, 0), next = past_blanks(all, end);
  address.base = all.substr(0, end), address.rest.clear();
  if (!is_name(address.base)) return false;
  if (next >= all.size()) return !of;
  if (of) {
    if (all[next] != '[' || past_bracket(all, next) != all.size()) return false;
    address.rest = without_outer_blanks(std::string_view(all).substr(next + 1, all.size() - next - 2));
    return true;
  }
  if (all[next] != '+' && all[next] != '-') return false;
  if (all.compare(next, 2, "++") == 0 || all.compare(next, 2, "--") == 0) return false;
  for (size_t at = next; at < all.size(); ++at) {  // Must be a sum and not a comparison.
    if (std::string_view("([").find(all[at]) != std::string_view::npos) at = past_bracket(all, at) - 1;
    else if (std::string_view("<>=?:&|").find(all[at]) != std::string_view::npos) return false;
  }
  address.rest = (all[next] == '-' ? "-" : "") + without_outer_blanks(std::string_view(all).substr(next + 1));
  return true;
}

std::string element(const Address& address, const std::string& index = "") {
  const std::string sum = address.rest.empty()            ? (index.empty() ? "0" : index)
                          : index.empty() || index == "0" ? address.rest
                                                          : "(" + address.rest + ") + (" + index + ")";
  return address.base + "[" + sum + "]";
}

/// Expands macros without parameters that contain an index.
void expand_index_macros(std::string& text) {
  for (int pass = 0; pass < kMostPasses; ++pass) {
    bool more = false;
    for (size_t at : whole_words(text, "define")) {
      const size_t hash = before(text, at), name = past_blanks(text, at + 6), end = end_of_word(text, name),
                   line = std::min(text.find('\n', end), text.size());
      if (hash == text.npos || text[hash] != '#' || name == end || text.substr(end, 1) == "(") continue;
      const std::string word = text.substr(name, end - name),
                        body = without_outer_blanks(std::string_view(text).substr(end, line - end));
      if (body.find("Idx.") == body.npos && body.find("blockDim.") == body.npos && body.find("gridDim.") == body.npos)
        continue;
      if (!whole_words(body, word).empty() || body.ends_with("\\")) continue;
      for (size_t i = hash; i < line; ++i) text[i] = ' ';
      auto uses = whole_words(text, word);
      for (auto use = uses.rbegin(); use != uses.rend() && text.size() < kLongest; ++use)
        text.replace(*use, word.size(), body);
      more = true;
      break;
    }
    if (!more) return;
  }
}

/// `reinterpret_cast<const float4*>(row)` becomes `(row)`, and so does `(const float4*)(row)`.
void drop_pointer_casts(std::string& text) {
  for (auto* word : {"reinterpret_cast", "static_cast", "const_cast"})
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      const size_t open = past_blanks(text, at + std::string_view(word).size());
      if (open >= text.size() || text[open] != '<') continue;
      size_t close = open;
      for (int depth = 0; close < text.size(); ++close)
        if ((depth += text[close] == '<' ? 1 : text[close] == '>' ? -1 : 0) == 0) break;
      if (close < text.size() && text.substr(open, close - open).find('*') != text.npos) text.erase(at, close + 1 - at);
    }
  for (size_t open = text.find('('); open != text.npos; open = text.find('(', open + 1)) {
    const size_t close = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ :<>*",
                                                open + 1),
                 star = close == text.npos ? close : before(text, close);
    const size_t last = before(text, open), next = close == text.npos ? close : past_blanks(text, close + 1);
    const bool pointer =
        close != text.npos && text[close] == ')' && star > open + 1 && star != text.npos && text[star] == '*';
    const bool cast = pointer && (last == text.npos || !word_character(text[last])) && next < text.size() &&
                      (word_character(text[next]) || text[next] == '(' || text[next] == '&');
    if (cast) text.erase(open, close + 1 - open);
  }
}

/// `*(p + i)`, `__ldg(p + i)`, `*p`, `(p + i)[j]` and `p->x`.
bool rewrite_accesses(std::string& text) {
  bool more = false;
  for (size_t at = 0; at < text.size() && text.size() < kLongest; ++at) {
    const bool load = text.compare(at, 4, "__ld") == 0 && (at == 0 || !word_character(text[at - 1]));
    const size_t open = load                                    ? past_blanks(text, end_of_word(text, at))
                        : text[at] == '*' && is_unary(text, at) ? past_blanks(text, at + 1)
                                                                : text.size();
    Address address;
    if (open < text.size() && text[open] == '(') {
      const size_t close = past_bracket(text, open);
      if (!read_address(std::string_view(text).substr(open + 1, close - open - 2), address)) continue;
      text.replace(at, close - at, element(address)), more = true;
    } else if (open < text.size() && !load && word_character(text[open])) {
      const size_t end = end_of_word(text, open);
      const std::string name = text.substr(open, end - open);
      if (is_name(name) && text.substr(end, 1) != "(" && text.substr(end, 1) != "[" && text.substr(end, 2) != "::")
        text.replace(at, end - at, name + "[0]"), more = true;
    } else if (text[at] == '(' && (before(text, at) == text.npos || !word_character(text[before(text, at)]))) {
      const size_t close = past_bracket(text, at), next = past_blanks(text, close);
      if (next >= text.size() || text[next] != '[' ||
          !read_address(std::string_view(text).substr(at + 1, close - at - 2), address))
        continue;
      const size_t end = past_bracket(text, next);
      text.replace(at, end - at,
                   element(address, without_outer_blanks(std::string_view(text).substr(next + 1, end - next - 2)))),
          more = true;
    } else if (text.compare(at, 2, "->") == 0 && at > 0 && word_character(text[at - 1])) {
      size_t begin = at;
      while (begin > 0 && word_character(text[begin - 1])) --begin;
      if (text.compare(begin, at - begin, "this") != 0) text.replace(at, 2, "[0]."), more = true;
    }
  }
  return more;
}

/// Names of pointers that are declared as `float* p`, as parameters or variables.
std::set<std::string> pointers(std::string_view text) {
  std::set<std::string> found;
  for (size_t at = text.find('*'); at != text.npos; at = text.find('*', at + 1)) {
    size_t name = past_blanks(text, at + 1);
    for (auto* word : {"const", "__restrict__", "__restrict", "volatile"})
      if (const size_t end = end_of_word(text, name); text.substr(name, end - name) == word)
        name = past_blanks(text, end);
    const size_t end = end_of_word(text, name);
    size_t begin = at;
    while (begin > 0 && (word_character(text[begin - 1]) || is_blank(text[begin - 1]) ||
                         std::string_view(":<>*").find(text[begin - 1]) != std::string_view::npos))
      --begin;
    const std::string type = without_outer_blanks(text.substr(begin, at - begin));
    const char opens = begin == 0 ? ';' : text[begin - 1];
    const std::string_view statement = statement_before(text, at);
    const bool parameter = (opens == '(' || opens == ',') &&
                           (statement.find("__global__") != text.npos || statement.find("__device__") != text.npos);
    if (!type.empty() && type != "return" && end > name && (opens == ';' || opens == '{' || opens == '}' || parameter))
      found.emplace(text.substr(name, end - name));
  }
  return found;
}

/// Rewrites arguments that are addresses of elements: `__stcs(out + i, v)`.
void rewrite_arguments(std::string& text, const std::set<std::string>& names) {
  for (auto& name : names)
    for (size_t from = 0;;) {
      size_t at = text.find(name, from);
      if (at == text.npos || text.size() > kLongest) break;
      from = at + 1;
      const size_t last = before(text, at), end = at + name.size();
      if ((at > 0 && word_character(text[at - 1])) || (end < text.size() && word_character(text[end]))) continue;
      if (last == text.npos || (text[last] != '(' && text[last] != ',')) continue;
      const size_t argument = end_of_expression(text, at);
      Address address;
      if (!read_address(std::string_view(text).substr(at, argument - at), address) || address.base != name ||
          address.rest.empty())
        continue;
      const std::string made = "&" + element(address);
      text.replace(at, argument - at, made);
      from = at + made.size();
    }
}

/// Replaces elements of pointers by those of their base: with `p = row + t`, `p[k]` becomes `row[(t) + (k)]`.
bool follow_pointers(std::string& text, const std::set<std::string>& names) {
  for (auto& name : names) {
    std::vector<std::string> values;
    bool steps = false;
    size_t place = 0, length = 0;
    for (auto& one : assignments(text)) {
      if (one.name != name) continue;
      if (one.adds || !whole_words(one.value, name).empty()) steps = true;
      else if (one.value != "0")
        values.push_back(one.value), place = past_blanks(text, one.at + 1), length = one.value.size();
    }
    Address address;
    if (values.size() != 1 || !read_address(values[0], address) || address.base == name) continue;
    auto uses = whole_words(text, name);
    bool elsewhere = false, any = false;
    for (auto use = uses.rbegin(); use != uses.rend() && text.size() < kLongest; ++use) {
      const size_t open = past_blanks(text, *use + name.size()), last = before(text, *use);
      const bool sets = open < text.size() &&
                        (text[open] == '=' || ((text[open] == '+' || text[open] == '-') && open + 1 < text.size() &&
                                               (text[open + 1] == '=' || text[open + 1] == text[open])));
      const bool counts =
          last != text.npos && last > 0 && (text[last] == '+' || text[last] == '-') && text[last - 1] == text[last];
      steps |= (sets && text[open] != '=') || counts;
      if (open >= text.size() || text[open] != '[') {
        elsewhere |= !sets && !counts;
        continue;
      }
      any = true;
      const size_t end = past_bracket(text, open);
      const std::string index = without_outer_blanks(std::string_view(text).substr(open + 1, end - open - 2));
      const std::string made = element(address, steps ? index + " + " + name : index);
      text.replace(*use, end - *use, made);
      if (*use < place) place += made.size() - (end - *use);
    }
    // The pointer's definition does not count as an access.
    if (!elsewhere && place + length <= text.size() && text.compare(place, length, values[0]) == 0)
      text.replace(place, length, "0"), any = true;
    if (any) return true;
  }
  return false;
}

}  // namespace

std::string plain_text(std::string_view source) {
  std::string text = blank_comments(source);
  expand_index_macros(text);
  drop_pointer_casts(text);
  for (int pass = 0; pass < kMostPasses && rewrite_accesses(text); ++pass) {}
  rewrite_arguments(text, pointers(text));
  for (int pass = 0; pass < 64 && text.size() < kLongest && follow_pointers(text, pointers(text)); ++pass) {}
  return text;
}

}  // namespace kernelift::tuner
