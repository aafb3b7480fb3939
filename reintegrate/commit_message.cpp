// See commit_message.h.
#include "reintegrate/commit_message.h"

#include <algorithm>

#include "core/base/shown/outside_text.h"
#include "core/base/words.h"

namespace kernelift::reintegrate {
namespace {

constexpr size_t kColumns = 72;

/// Columns of UTF-8, one for each character.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

/// The text in lines, the first behind `first`, the others behind as many blanks.
std::string wrapped(const std::string& text, const std::string& first) {
  std::string out = first, indent(first.size(), ' ');
  size_t column = first.size();
  bool empty = true;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!empty && column + 1 + width(word) > kColumns) out += "\n" + indent, column = indent.size(), empty = true;
    out += (empty ? "" : " ") + word, column += (empty ? 0 : 1) + width(word), empty = false;
  }
  return out + "\n";
}

/// A line of text from outside, with what a forge would act on taken apart: `Closes #1`, `GH-1`, `@name`, addresses.
std::string said(const std::string& text) {
  const std::string line = shown_line(text);
  std::string apart;
  for (size_t i = 0; i < line.size(); ++i) {
    apart += line[i];
    const char next = i + 1 < line.size() ? line[i + 1] : ' ';
    const bool number =
        (line[i] == '#' || apart.ends_with("GH-") || apart.ends_with("gh-")) && next >= '0' && next <= '9';
    if (number || (line[i] == '@' && next != ' ') || apart.ends_with("://")) apart += ' ';
  }
  return apart;
}

std::string listed_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (auto& line : lines) text += wrapped(line, "- ");
  return text;
}

void add_once(std::vector<std::string>& to, std::string line) {
  line = said(line);
  if (std::ranges::find(to, line) == to.end()) to.push_back(std::move(line));
}

/// What is changed, taken for granted and known; below a line with the kernel's name if `titled`.
std::string text_of(const CommittedKernel& tuned, bool titled) {
  std::string text;
  std::vector<std::string> assumed, effects;
  for (auto& step : tuned.steps) {
    for (auto& premise : step.premises) add_once(assumed, premise.text() + premise.seen());
    for (auto& effect : step.effects) add_once(effects, "it " + effect);
  }
  auto section = [&](const std::string& title, const std::vector<std::string>& lines) {
    if (!lines.empty()) text += title + listed_lines(lines);
  };
  section(titled ? "" : "\n", changes_of(tuned.steps));
  section("\nAssumed:\n", assumed);
  section("\nBeside its speed:\n", effects);
  for (auto& sentence : tuned.knowledge) text += "\n" + wrapped(said(sentence), "");
  return text;
}

}  // namespace

std::vector<std::string> changes_of(const std::vector<Step>& steps) {
  std::vector<Step> merged = as_told(steps);
  for (auto& step : merged) step.premises.clear(), step.effects.clear();
  std::erase_if(merged, [](auto& step) { return step.text().empty(); });
  std::vector<std::string> lines;
  for (size_t begin = 0, end = 0; begin < merged.size(); begin = end) {
    while (end < merged.size() && merged[end] == merged[begin]) ++end;
    std::string line = merged[begin].text();
    if (end - begin > 1) line += end - begin == 2 ? ", twice" : ", " + std::to_string(end - begin) + " times";
    lines.push_back(said(line));  // A model may have written it.
  }
  return lines;
}

std::string CommitMessage::text() const {
  const bool several = !with.empty();
  std::string message = "Tune " + (several ? counted(1 + with.size(), "kernel") + " together" : said(kernel)) + "\n";
  if (several) message += "\n" + said(kernel) + ":\n";
  message += text_of(*this, several);
  for (auto& other : with) message += "\n" + said(other.kernel) + ":\n" + text_of(other, several);
  message += "\n" + wrapped(shown_line(measured), "");
  if (!also_in.empty()) {
    std::string names;
    for (auto& name : also_in) names += (names.empty() ? "" : ", ") + name;
    message +=
        "\n" + wrapped(shown_line("It goes together with the commit on branch " + branch + " of: " + names + "."), "");
  }
  if (!trailers.empty()) message += "\n";
  for (auto& [name, value] : trailers) message += name + ": " + shown_line(value) + "\n";
  return message;
}

}  // namespace kernelift::reintegrate
