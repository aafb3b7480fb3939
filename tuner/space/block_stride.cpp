// See block_stride.h. Names that stand for the block's size, or for the thread alone, are followed through plain
// assignments; then every step by such a size must be one of a loop that goes on until its variable has passed a limit.
#include "tuner/space/block_stride.h"

#include <algorithm>
#include <vector>

#include "core/base/words.h"
#include "tuner/space/knob_text.h"

namespace kernelift {
namespace {

bool holds(std::string_view text, const std::set<std::string>& names) {
  return std::ranges::any_of(names, [&](auto& name) { return !whole_words(text, name).empty(); });
}

std::string trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
  return begin == text.npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

/// The end of the expression that begins at `at`: what separates it from the next, or closes what is around it.
size_t end_of_expression(std::string_view text, size_t at) {
  for (int depth = 0; at < text.size(); ++at) {
    if (std::string_view("([{").find(text[at]) != std::string_view::npos) ++depth;
    else if (std::string_view(")]}").find(text[at]) != std::string_view::npos && --depth < 0) return at;
    else if (depth == 0 && (text[at] == ';' || text[at] == ',')) return at;
  }
  return at;
}

/// The end of what begins with the bracket at `at`, its partner included.
size_t past_bracket(std::string_view text, size_t at) {
  int depth = 0;
  do {
    if (std::string_view("([{").find(text[at]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(text[at]) != std::string_view::npos) --depth;
  } while (++at < text.size() && depth > 0);
  return at;
}

/// `name = value`, or `name += value`, where both are plain.
struct Assignment {
  size_t at = 0;
  std::string name, value;
  bool adds = false;
};

std::vector<Assignment> assignments(std::string_view text) {
  std::vector<Assignment> found;
  for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
    if (at == 0 || text.substr(at + 1, 1) == "=" || std::string_view("=!<>-*/%&|^").find(text[at - 1]) != std::string_view::npos) continue;
    const bool adds = text[at - 1] == '+';
    size_t end = adds ? at - 1 : at;
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
    size_t begin = end;
    while (begin > 0 && word_character(text[begin - 1])) --begin;
    if (begin == end || (begin > 0 && (text[begin - 1] == '.' || text[begin - 1] == '>'))) continue;
    found.push_back({at, std::string(text.substr(begin, end - begin)), trimmed(text.substr(at + 1, end_of_expression(text, at + 1) - at - 1)), adds});
  }
  return found;
}

/// What is between the parentheses behind each `word`, and where what it governs ends.
struct Header {
  size_t begin = 0, end = 0;
  std::string condition;
};

std::vector<Header> headers(std::string_view text, std::string_view word) {
  std::vector<Header> found;
  for (size_t at : whole_words(text, word)) {
    const size_t open = text.find_first_not_of(" \t\n", at + word.size());
    if (open == text.npos || text[open] != '(') continue;
    const size_t close = past_bracket(text, open);
    std::string_view inside = text.substr(open + 1, close - open - 2);
    if (word == "for") {
      const size_t first = inside.find(';'), second = first == inside.npos ? first : inside.find(';', first + 1);
      if (second == inside.npos) continue;
      inside = inside.substr(first + 1, second - first - 1);
    }
    const size_t body = std::min(text.find_first_not_of(" \t\n", close), text.size());
    size_t end = body;
    if (body < text.size() && text[body] == '{') end = past_bracket(text, body);
    else while (end < text.size() && text[end] != ';') end = text[end] == '(' || text[end] == '{' ? past_bracket(text, end) : end + 1;
    found.push_back({at, end, std::string(inside)});
  }
  return found;
}

/// Without what is between square brackets: which element it is says nothing of its value.
std::string without_indices(std::string_view text) {
  std::string plain;
  int depth = 0;
  for (char c : text) {
    if (c == '[') ++depth;
    if (depth == 0) plain += c;
    if (c == ']') --depth;
  }
  return plain;
}

/// Where the operand that ends before `at`, or begins at it, is over: at a bracket of what is around it, a separator, or an
/// operator that binds less than a comparison.
size_t operand(std::string_view text, size_t at, bool forward) {
  int depth = 0;
  auto next = [&] { return forward ? at < text.size() : at > 0; };
  for (; next(); forward ? ++at : --at) {
    const char c = text[forward ? at : at - 1];
    if (std::string_view(forward ? "([{" : ")]}").find(c) != std::string_view::npos) ++depth;
    else if (std::string_view(forward ? ")]}" : "([{").find(c) != std::string_view::npos && --depth < 0) return at;
    else if (depth == 0 && std::string_view(";,?&|={}<>!").find(c) != std::string_view::npos) return at;
  }
  return at;
}

/// Whether one of `names` is compared with one of `limits`, in whatever words: `t < w`, `2 * w <= t + 1`, `ok = w != t`.
bool compares(std::string_view text, const std::set<std::string>& names, const std::set<std::string>& limits) {
  for (size_t at = text.find_first_of("<>=!"); at != text.npos; at = text.find_first_of("<>=!", at + 1)) {
    const std::string_view two = text.substr(at, 2);
    const bool equal = two == "<=" || two == ">=" || two == "==" || two == "!=";
    if (two == "<<" || two == ">>" || (at > 0 && text.substr(at - 1, 2) == "->")) {
      at += two == "<<" || two == ">>";
      continue;
    }
    if (!equal && text[at] != '<' && text[at] != '>') continue;
    const size_t begin = operand(text, at, false), right = at + (equal ? 2 : 1), end = operand(text, right, true);
    const std::string one = without_indices(text.substr(begin, at - begin)), other = without_indices(text.substr(right, end - right));
    if ((holds(one, names) && holds(other, limits)) || (holds(other, names) && holds(one, limits))) return true;
    at = right - 1;
  }
  return false;
}

/// And what is made of one of them, names of `others` aside.
void add_made(const std::vector<Assignment>& all, std::set<std::string>& names, const std::set<std::string>& others) {
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    for (auto& one : all)
      if (!others.contains(one.name) && holds(without_indices(one.value), names)) names.insert(one.name);
  }
}

}  // namespace

bool takes_turns(std::string_view source, std::set<std::string> sizes, const std::string& thread, const std::set<std::string>& given) {
  const std::string text = blank_comments(source);
  const std::vector<Assignment> all = assignments(text);
  std::set<std::string> threads{thread}, alone{thread};  // What depends on the thread; what is its number.
  for (size_t before = 0; before != sizes.size() + threads.size() + alone.size();) {
    before = sizes.size() + threads.size() + alone.size();
    for (auto& one : all) {
      if (!one.adds && alone.contains(one.value)) alone.insert(one.name);
      if (holds(one.value, threads)) threads.insert(one.name);
      else if (!one.adds && holds(one.value, sizes) && !holds(one.value, {one.name})) sizes.insert(one.name);
    }
  }
  std::vector<Header> loops = headers(text, "for"), whiles = headers(text, "while");
  loops.insert(loops.end(), whiles.begin(), whiles.end());
  std::set<std::string> stepped;
  for (auto& one : all) {
    if (!holds(one.value, sizes) || !(one.adds || holds(one.value, {one.name}))) continue;
    const bool in_loop = std::ranges::any_of(loops, [&](auto& loop) { return loop.begin < one.at && one.at < loop.end && holds(loop.condition, {one.name}); });
    if (!in_loop) return false;
    stepped.insert(one.name);
  }
  // Who is compared with a size by its number, not in turns, leaves undone what a larger one would have for it.
  for (auto& name : stepped) alone.erase(name);
  std::set<std::string> limits = given;
  add_made(all, alone, stepped), add_made(all, limits, stepped);
  for (auto& name : alone) limits.erase(name);
  return !stepped.empty() && !compares(text, alone, limits);
}

}  // namespace kernelift
