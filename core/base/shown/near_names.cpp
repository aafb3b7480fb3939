// Names are near by the least number of letters that are changed, added or left out.
#include "core/base/shown/near_names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace kernelift {
namespace {

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  for (size_t i = 0; i < row.size(); ++i) row[i] = i;
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];  // Of the letters before both.
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t changed = diagonal + (from[i] != to[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  constexpr size_t kShown = 3, kLongest = 256;
  if (word.empty() || word.size() > kLongest) return "";
  const std::string asked = lowered(word);
  std::set<std::pair<size_t, std::string>> near;
  for (auto& name : names) {
    if (name.size() > kLongest) continue;
    const std::string whole = lowered(name), plain = whole.substr(whole.rfind(':') + 1);
    const size_t distance =
        plain.find(asked) != plain.npos ? 0 : std::min(edit_distance(plain, asked), edit_distance(whole, asked));
    if (distance <= std::max<size_t>(2, word.size() / 3)) near.emplace(distance, name);
  }
  std::string shown;
  for (size_t count = 0; auto& [distance, name] : near)
    if (count++ < kShown) shown += (shown.empty() ? "" : ", ") + name;
  return shown.empty() ? "" : "; did you mean " + shown + "?";
}

}  // namespace kernelift
