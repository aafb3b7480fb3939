// Whether two expressions of a source may name the same memory: "u[now]" and "u[next]" may, "u[0]" and "u[1]" may not,
// and neither may "u[now]" and "u[1-now]". EXPECTS: texts without blanks. Different names count as different memory.
#pragma once
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "core/base/words.h"

namespace kernelift {

/// A text as these functions expect it.
inline std::string without_blanks(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

/// True for indices that differ whatever the values of their variables: different numbers, `k` and `k+1`, `k%2` and
/// `(k+1)%2`, `k` and `1-k` or `k^1` or `!k`.
inline bool differ_for_sure(std::string_view one, std::string_view other) {
  auto bare = [](std::string_view text) {
    while (text.size() > 1 && text.front() == '(' && text.find(')') == text.size() - 1)
      text = text.substr(1, text.size() - 2);
    return text;
  };
  auto number = [](std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  // `text` is `base` plus or minus a number other than 0, or the other one of two values.
  auto beyond = [&](std::string_view base, std::string_view text) {
    const std::string name(base);
    for (auto* form : {"1-", "!"})
      if (text == form + name || text == form + ("(" + name + ")")) return true;
    if (text == name + "^1" || text == "1^" + name) return true;
    if (!text.starts_with(name) || text.size() < name.size() + 2 ||
        (text[name.size()] != '+' && text[name.size()] != '-'))
      return false;
    const std::string_view by = text.substr(name.size() + 1);
    return number(by) && by.find_first_not_of('0') != by.npos;
  };
  const size_t first = one.rfind('%'), second = other.rfind('%');
  if (first != one.npos && second != other.npos && one.substr(first) == other.substr(second) &&
      number(one.substr(first + 1)) && one.substr(first + 1) != "1") {
    auto left = std::string(bare(one.substr(0, first))), right = std::string(bare(other.substr(0, second)));
    return right == left + "+1" || left == right + "+1" || right == left + "-1" || left == right + "-1";
  }
  one = bare(one), other = bare(other);
  return (number(one) && number(other) && one != other) || beyond(one, other) || beyond(other, one);
}

inline bool may_be_one_place(std::string_view one, std::string_view other) {
  if (one == other) return true;
  const size_t differ =
      static_cast<size_t>(std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first - one.begin());
  size_t open = differ;  // The bracket that encloses the first difference.
  for (int depth = 0; depth < 1;) {
    if (open == 0) return false;
    const char c = one[--open];
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
  }
  auto past = [&](std::string_view text) {
    int depth = 0;
    for (size_t at = open; at < text.size(); ++at)
      if ((depth += text[at] == '[' ? 1 : text[at] == ']' ? -1 : 0) == 0) return at + 1;
    return text.size();
  };
  const size_t end = past(one), other_end = past(other);
  if (differ_for_sure(one.substr(open + 1, end - open - 2), other.substr(open + 1, other_end - open - 2))) return false;
  // The rest may still differ: `a[i].x` and `a[j].y`.
  return may_be_one_place(one.substr(end), other.substr(other_end));
}

}  // namespace kernelift
