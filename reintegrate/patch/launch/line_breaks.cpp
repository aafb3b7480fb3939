// See line_breaks.h.
#include "reintegrate/patch/launch/line_breaks.h"

#include <algorithm>
#include <vector>

namespace kernelift::reintegrate {
namespace {

constexpr size_t kUsualColumns = 100;

/// Blanks as wide as the text, tabs kept.
std::string blank(std::string_view text) {
  std::string blanks(text);
  for (char& c : blanks)
    if (c != '\t') c = ' ';
  return blanks;
}

}  // namespace

size_t line_limit(std::string_view file) {
  size_t most = kUsualColumns;
  for (size_t at = 0; at < file.size();) {
    const size_t end = std::min(file.find('\n', at), file.size());
    const size_t returns = end > at && file[end - 1] == '\r';
    most = std::max(most, end - at - returns), at = end + 1;
  }
  return most;
}

std::string broken_at_commas(std::string_view arguments, std::string_view before, std::string_view after, size_t limit,
                             std::string_view newline) {
  std::string text, line(before);  // Finished lines, and the one that is being written.
  std::vector<size_t> open;        // Columns behind the brackets that are open; 0: arguments within stay on a line.
  const size_t first = before.size();
  // Where the argument that begins at `at` ends: it stays on one line if a line has room for it.
  auto end_of = [&](size_t at) {
    for (int depth = 0; at < arguments.size(); ++at) {
      if (arguments[at] == '(') ++depth;
      if (arguments[at] == ')') --depth;
      if (arguments[at] == ',' && depth <= 0) return at + 1;
    }
    return arguments.size() + after.size();
  };
  for (size_t at = 0; at < arguments.size(); ++at) {
    const char c = arguments[at];
    line += c;
    if (c == '(') open.push_back(arguments.substr(0, at).ends_with("dim3") ? line.size() : 0);
    if (c == ')' && !open.empty()) open.pop_back();
    const bool breakable = c == ',' && at + 1 < arguments.size() && arguments[at + 1] == ' ' &&
                           (open.empty() || (open.size() == 1 && open[0] > 0));
    if (!breakable || line.size() + end_of(at + 1) - (at + 1) <= limit) continue;
    const size_t column = open.empty() ? first : open[0];
    text.append(line).append(newline);
    line = blank(before) + std::string(column - first, ' ');
    ++at;  // The blank.
  }
  return (text + line).substr(before.size());
}

}  // namespace kernelift::reintegrate
