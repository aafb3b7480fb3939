// See statement_text.h.
#include "tuner/space/statement_text.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "core/base/words.h"

namespace kernelift::tuner {

bool holds(std::string_view text, const std::set<std::string>& names) {
  return std::ranges::any_of(names, [&](auto& name) { return !whole_words(text, name).empty(); });
}

size_t past_blanks(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(" \t\n\r", at), text.size());
}

std::string_view statement_before(std::string_view text, size_t at) {
  const size_t line = text.find_last_of(";{}", at), begin = line == text.npos ? 0 : line;
  return text.substr(begin, at - begin);
}

size_t end_of_expression(std::string_view text, size_t at) {
  for (int depth = 0; at < text.size(); ++at) {
    if (std::string_view("([{").find(text[at]) != std::string_view::npos) ++depth;
    else if (std::string_view(")]}").find(text[at]) != std::string_view::npos && --depth < 0) return at;
    else if (depth == 0 && (text[at] == ';' || text[at] == ',')) return at;
  }
  return at;
}

size_t past_bracket(std::string_view text, size_t at) {
  int depth = 0;
  do {
    if (std::string_view("([{").find(text[at]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(text[at]) != std::string_view::npos) --depth;
  } while (++at < text.size() && depth > 0);
  return at;
}

std::vector<Assignment> assignments(std::string_view text) {
  std::vector<Assignment> found;
  for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
    if (at == 0 || text.substr(at + 1, 1) == "=" ||
        std::string_view("=!<>-*/%&|^").find(text[at - 1]) != std::string_view::npos)
      continue;
    const bool adds = text[at - 1] == '+';
    size_t end = adds ? at - 1 : at;
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
    size_t begin = end;
    while (begin > 0 && word_character(text[begin - 1])) --begin;
    if (begin == end || (begin > 0 && (text[begin - 1] == '.' || text[begin - 1] == '>'))) continue;
    found.push_back({at, std::string(text.substr(begin, end - begin)),
                     without_outer_blanks(text.substr(at + 1, end_of_expression(text, at + 1) - at - 1)), adds});
  }
  return found;
}

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
    else
      while (end < text.size() && text[end] != ';')
        end = text[end] == '(' || text[end] == '{' ? past_bracket(text, end) : end + 1;
    found.push_back({at, end, std::string(inside)});
  }
  return found;
}

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

std::set<std::string> names_in(std::string_view text) {
  static const std::set<std::string, std::less<>> kNoNumbers{
      "int",   "unsigned", "signed", "long",        "short",   "char",     "bool",    "size_t",   "const",
      "float", "double",   "auto",   "static_cast", "int32_t", "uint32_t", "int64_t", "uint64_t", "uint",
      "true",  "false",    "if",     "while",       "for",     "return",   "warpSize"};
  std::set<std::string> found;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!word_character(text[at])) continue;
    size_t end = end_of_word(text, at);
    while (end + 1 < text.size() && text[end] == '.' && word_character(text[end + 1])) end = end_of_word(text, end + 1);
    const std::string_view name = text.substr(at, end - at);
    if (std::isdigit(static_cast<unsigned char>(name[0])) == 0 && !kNoNumbers.contains(name)) found.emplace(name);
    at = end;
  }
  return found;
}

static bool declares_shared(std::string_view text, size_t at) {
  return statement_before(text, at).find("__shared__") != text.npos;
}

std::vector<Subscript> subscripts(std::string_view text) {
  std::vector<Subscript> found;
  std::map<size_t, size_t> ends;  // Number of the subscript that ends at a position.
  for (size_t at = text.find('['); at != text.npos; at = text.find('[', at + 1)) {
    size_t end = at;
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\n')) --end;
    size_t begin = end;
    while (begin > 0 && word_character(text[begin - 1])) --begin;
    const std::string index(text.substr(at + 1, past_bracket(text, at) - at - 2));
    auto before = ends.find(end);
    if (begin < end)
      found.push_back({begin, std::string(text.substr(begin, end - begin)), index, 0, declares_shared(text, begin)});
    else if (before != ends.end())
      found.push_back({found[before->second].at, found[before->second].array, index,
                       found[before->second].dimension + 1, found[before->second].declared});
    else continue;
    ends[past_bracket(text, at)] = found.size() - 1;
  }
  return found;
}

bool is_shared(std::string_view text, std::string_view array) {
  return std::ranges::any_of(whole_words(text, array), [&](size_t at) { return declares_shared(text, at); });
}

}  // namespace kernelift::tuner
