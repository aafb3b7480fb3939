// See line_breaks.h.
#include "reintegrate/patch/launch/line_breaks.h"
#include "reintegrate/patch/launch/site_terms.h"

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

void break_line_of(const LaunchSite& site, std::string_view file, std::vector<ByteEdit>& edits) {
  auto edit_of = [&](const SourceRange& where) {
    return std::ranges::find_if(edits, [&](auto& one) { return one.begin == where.begin && one.end == where.end; });
  };
  auto grid = edit_of(site.grid_range), block = edit_of(site.block_range), kernel = edit_of(site.kernel_range);
  const auto none = edits.end();
  const size_t begin = site.grid_range.begin, end = site.block_range.end;
  if ((grid == none && block == none) || begin >= end || end > file.size()) return;
  auto part = [&](size_t from, size_t to) { return file.substr(from, to - from); };
  const std::string_view between = part(site.grid_range.end, site.block_range.begin);
  if (between != ", " && between != ",") return;
  const size_t line = file.rfind('\n', begin) + 1;  // 0 where there is none.
  std::string before(part(line, begin));
  if (kernel != none && kernel->begin >= line && kernel->end <= begin)
    before.replace(kernel->begin - line, kernel->end - kernel->begin, kernel->text);
  std::string_view after = part(end, file.find('\n', end));
  const bool returns = after.ends_with('\r');
  after.remove_suffix(returns);
  const std::string newline = returns ? "\r\n" : "\n";
  std::string sizes(grid == none ? part(begin, site.grid_range.end) : std::string_view(grid->text));
  sizes.append(", ").append(block == none ? part(site.block_range.begin, end) : std::string_view(block->text));
  const size_t limit = line_limit(file);
  if (before.size() + sizes.size() + after.size() <= limit) return;
  auto& edit = grid == none ? *block : *grid;
  edit.text = broken_at_commas(sizes, before, after, limit, newline);
  // Where the choice of the kernel has filled the line, its sizes begin the next one.
  if (before.size() + edit.text.find(newline) > limit && before.ends_with("<<<")) {
    const std::string indent = before.substr(0, std::min(before.find_first_not_of(" \t"), before.size())) + "    ";
    edit.text = newline + indent + broken_at_commas(sizes, indent, after, limit, newline);
  }
  edit.begin = begin, edit.end = end;
  edit.what = "the size of the launch at " + place_of(site.range);
  if (grid != none && block != none) edits.erase(block);
}

}  // namespace kernelift::reintegrate
