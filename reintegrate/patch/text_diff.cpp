// Myers' greedy O(ND) algorithm; the frontier of every step is kept for tracing the path back. Kernels are short and
// edits few, so the memory, quadratic in the number of edits, is limited (kMostEdits) rather than optimised.
#include "reintegrate/patch/text_diff.h"

#include <algorithm>

namespace kernelift::reintegrate {
namespace {

constexpr int kMostEdits = 2000;  ///< 16 MB of frontiers; a larger diff would not help a reader anyway.
constexpr size_t kContext = 3;    ///< Lines of context, as in diff -u.

/// A matched pair of lines: indices in the old and the new text.
struct Move {
  size_t x, y;
};

/// Matched pairs of from[0..n) and to[0..m), ascending; empty with `gave_up` set if the texts differ too much.
std::vector<Move> matches(const TextLine* from, int n, const TextLine* to, int m, bool& gave_up) {
  const int most = std::min(n + m, kMostEdits);
  std::vector<std::vector<int>> frontiers;
  std::vector<int> reach(2 * most + 3, 0);
  const int middle = most + 1;
  for (int d = 0; d <= most; ++d) {
    frontiers.emplace_back(reach.begin() + middle - d - 1, reach.begin() + middle + d + 2);
    for (int k = -d; k <= d; k += 2) {
      bool down = k == -d || (k != d && reach[middle + k - 1] < reach[middle + k + 1]);
      int x = down ? reach[middle + k + 1] : reach[middle + k - 1] + 1;
      int y = x - k;
      while (x < n && y < m && from[x].text == to[y].text) ++x, ++y;
      reach[middle + k] = x;
      if (x < n || y < m) continue;
      std::vector<Move> found;
      for (int step = d, diagonal = k; step >= 0; --step) {
        const std::vector<int>& before = frontiers[step];
        auto at = [&](int k2) { return before[k2 + step + 1]; };
        bool came_down = diagonal == -step || (diagonal != step && at(diagonal - 1) < at(diagonal + 1));
        int previous = came_down ? diagonal + 1 : diagonal - 1;
        int start_x = step == 0 ? 0 : came_down ? at(previous) : at(previous) + 1;
        for (; x > start_x; --x, --y) found.push_back({static_cast<size_t>(x - 1), static_cast<size_t>(y - 1)});
        if (step == 0) break;
        x = at(previous), y = x - previous;
        diagonal = previous;
      }
      std::reverse(found.begin(), found.end());
      return found;
    }
  }
  gave_up = true;
  return {};
}

}  // namespace

std::vector<TextLine> split_lines(std::string_view text) {
  std::vector<TextLine> lines;
  while (!text.empty()) {
    size_t newline = text.find('\n');
    size_t size = newline == text.npos ? text.size() : newline + 1;
    std::string_view line = text.substr(0, size);
    text.remove_prefix(size);
    size_t end = newline == line.npos ? 0 : line.size() > 1 && line[line.size() - 2] == '\r' ? 2 : 1;
    lines.push_back({line.substr(0, line.size() - end), line.substr(line.size() - end)});
  }
  return lines;
}

std::vector<Hunk> diff_lines(const std::vector<TextLine>& from, const std::vector<TextLine>& to) {
  size_t head = 0, from_end = from.size(), to_end = to.size();
  while (head < from_end && head < to_end && from[head].text == to[head].text) ++head;
  while (from_end > head && to_end > head && from[from_end - 1].text == to[to_end - 1].text) --from_end, --to_end;
  if (head == from_end && head == to_end) return {};

  bool gave_up = false;
  std::vector<Move> same = matches(from.data() + head, static_cast<int>(from_end - head), to.data() + head,
                                   static_cast<int>(to_end - head), gave_up);
  for (Move& move : same) move.x += head, move.y += head;
  same.push_back({from_end, to_end});
  std::vector<Hunk> hunks;
  size_t x = head, y = head;
  for (const Move& move : same) {
    if (move.x > x || move.y > y) hunks.push_back({x, move.x, y, move.y});
    x = move.x + 1, y = move.y + 1;
  }
  return hunks;
}

std::string unified_diff(const std::string& name, std::string_view from, std::string_view to) {
  if (from == to) return {};
  std::vector<TextLine> old_lines = split_lines(from), new_lines = split_lines(to);
  std::vector<Hunk> hunks = diff_lines(old_lines, new_lines);
  std::string text = "--- a/" + name + "\n+++ b/" + name + "\n";
  auto put = [&](char mark, const TextLine& line) {
    text += mark;
    text += line.text;
    text += line.end == "\r\n" ? "\r\n" : "\n";
    if (line.end.empty()) text += "\\ No newline at end of file\n";
  };
  for (size_t first = 0; first < hunks.size();) {
    size_t last = first;
    while (last + 1 < hunks.size() && hunks[last + 1].old_begin - hunks[last].old_end <= 2 * kContext) ++last;
    size_t old_begin = hunks[first].old_begin - std::min(kContext, hunks[first].old_begin);
    size_t new_begin = hunks[first].new_begin - (hunks[first].old_begin - old_begin);
    size_t old_end = std::min(old_lines.size(), hunks[last].old_end + kContext);
    size_t new_end = hunks[last].new_end + (old_end - hunks[last].old_end);
    auto range = [](size_t begin, size_t end) {
      return std::to_string(begin == end ? begin : begin + 1) +
             (end - begin == 1 ? "" : "," + std::to_string(end - begin));
    };
    text += "@@ -" + range(old_begin, old_end) + " +" + range(new_begin, new_end) + " @@\n";
    size_t at = old_begin;
    for (size_t h = first; h <= last; ++h) {
      for (; at < hunks[h].old_begin; ++at) put(' ', old_lines[at]);
      for (; at < hunks[h].old_end; ++at) put('-', old_lines[at]);
      for (size_t n = hunks[h].new_begin; n < hunks[h].new_end; ++n) put('+', new_lines[n]);
    }
    for (; at < old_end; ++at) put(' ', old_lines[at]);
    first = last + 1;
  }
  return text;
}

}  // namespace kernelift::reintegrate
