// See merged_text.h. Lines of the base that both texts keep cut all three into parts; of each part at most one text may
// have another version than the base.
#include "tuner/source/evolution/merged_text.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kernelift::tuner {
namespace {

constexpr size_t kMostLines = 3000;

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

constexpr size_t kNone = SIZE_MAX;

/// For each line of `base` the line of `text` that it is, in a longest common subsequence.
std::vector<size_t> kept_lines(const Lines& base, const Lines& text) {
  std::vector<size_t> kept(base.size(), kNone);
  size_t begin = 0, base_end = base.size(), text_end = text.size();
  for (; begin < std::min(base_end, text_end) && base[begin] == text[begin]; ++begin) kept[begin] = begin;
  for (; base_end > begin && text_end > begin && base[base_end - 1] == text[text_end - 1]; --base_end, --text_end)
    kept[base_end - 1] = text_end - 1;
  const size_t rows = base_end - begin, columns = text_end - begin;
  std::vector<uint16_t> longest((rows + 1) * (columns + 1), 0);
  auto at = [&](size_t row, size_t column) -> uint16_t& { return longest[row * (columns + 1) + column]; };
  for (size_t row = rows; row-- > 0;)
    for (size_t column = columns; column-- > 0;)
      at(row, column) = base[begin + row] == text[begin + column] ? static_cast<uint16_t>(at(row + 1, column + 1) + 1)
                                                                  : std::max(at(row + 1, column), at(row, column + 1));
  for (size_t row = 0, column = 0; row < rows && column < columns;) {
    if (base[begin + row] == text[begin + column]) kept[begin + row++] = begin + column++;
    else if (at(row + 1, column) >= at(row, column + 1)) ++row;
    else ++column;
  }
  return kept;
}

bool same(const Lines& a, size_t a_begin, size_t a_end, const Lines& b, size_t b_begin, size_t b_end) {
  return std::equal(a.begin() + static_cast<std::ptrdiff_t>(a_begin), a.begin() + static_cast<std::ptrdiff_t>(a_end),
                    b.begin() + static_cast<std::ptrdiff_t>(b_begin), b.begin() + static_cast<std::ptrdiff_t>(b_end));
}

}  // namespace

std::optional<std::string> merged_text(const std::string& base, const std::string& one, const std::string& other) {
  const Lines lines = lines_of(base), left = lines_of(one), right = lines_of(other);
  if (std::max({lines.size(), left.size(), right.size()}) > kMostLines) return std::nullopt;
  const auto in_left = kept_lines(lines, left), in_right = kept_lines(lines, right);
  std::string merged;
  size_t base_at = 0, left_at = 0, right_at = 0;
  for (size_t line = 0; line <= lines.size(); ++line) {
    const bool end = line == lines.size();
    if (!end && (in_left[line] == kNone || in_right[line] == kNone)) continue;
    const size_t left_end = end ? left.size() : in_left[line], right_end = end ? right.size() : in_right[line];
    const bool left_same = same(lines, base_at, line, left, left_at, left_end);
    const bool right_same = same(lines, base_at, line, right, right_at, right_end);
    if (!left_same && !right_same && !same(left, left_at, left_end, right, right_at, right_end)) return std::nullopt;
    const bool from_left = right_same;
    for (size_t at = from_left ? left_at : right_at; at < (from_left ? left_end : right_end); ++at)
      merged += from_left ? left[at] : right[at];
    if (!end) merged += lines[line];
    base_at = line + 1, left_at = left_end + 1, right_at = right_end + 1;
  }
  return merged;
}

}  // namespace kernelift::tuner
