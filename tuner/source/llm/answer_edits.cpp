// See answer_edits.h.
#include "tuner/source/llm/answer_edits.h"

#include <algorithm>
#include <sstream>

#include "core/base/words.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kFewestMarks = 5;  ///< Accepted length of a marker; models miscount the seven of "<<<<<<< SEARCH".
constexpr size_t kShownLines = 8;   ///< Similar lines that a complaint shows.
constexpr size_t kLongestIdea = 160;

struct Block {
  std::string search, replace;
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::stringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines, const char* end = "\n") {
  std::string text;
  for (auto& line : lines) text += line + end;
  return text;
}

/// Share of the shorter line's character pairs that the other line contains, too.
double likeness(const std::string& a, const std::string& b) {
  if (a.size() < 2 || b.size() < 2) return a == b && !a.empty();
  std::vector<std::string> left, right;
  for (size_t i = 0; i + 1 < a.size(); ++i) left.push_back(a.substr(i, 2));
  for (size_t i = 0; i + 1 < b.size(); ++i) right.push_back(b.substr(i, 2));
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  std::vector<std::string> both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  return 2.0 * static_cast<double>(both.size()) / static_cast<double>(left.size() + right.size());
}

std::string nearest_lines(const std::string& source, const std::string& search) {
  auto wanted = lines_of(search), lines = lines_of(source);
  std::string key;
  for (auto& line : wanted)
    if (without_outer_blanks(line).size() > key.size()) key = without_outer_blanks(line);
  size_t best = 0;
  double most = -1;
  for (size_t i = 0; i < lines.size(); ++i)
    if (double similar = likeness(without_outer_blanks(lines[i]), key); similar > most) most = similar, best = i;
  size_t begin = best > kShownLines / 2 ? best - kShownLines / 2 : 0;
  std::string shown;
  for (size_t i = begin; i < std::min(lines.size(), begin + kShownLines); ++i) shown += lines[i] + "\n";
  return "The nearest lines (from line " + std::to_string(begin + 1) + ") are:\n```\n" + shown + "```\n";
}

/// Positions of `piece` that do not begin or end inside a name: `count++;` is not in `mcount++;`.
std::vector<size_t> occurrences(const std::string& text, const std::string& piece) {
  std::vector<size_t> found;
  auto splits = [&](size_t at) {
    return at > 0 && at < text.size() && word_character(text[at - 1]) && word_character(text[at]);
  };
  for (size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + 1))
    if (!splits(at) && !splits(at + piece.size())) found.push_back(at);
  return found;
}

/// Number of marks that a line begins with, if only `word` follows; else 0.
size_t marks(const std::string& line, char mark, std::string_view word) {
  size_t count = std::min(line.find_first_not_of(mark), line.size());
  return count >= kFewestMarks && without_outer_blanks(line.substr(count)) == word ? count : 0;
}

/// The text without the fence that some models put around each half of a block.
std::string unfenced(const std::string& half) {
  auto lines = lines_of(half);
  if (lines.size() < 2 || !without_outer_blanks(lines.front()).starts_with("```") ||
      without_outer_blanks(lines.back()) != "```")
    return half;
  return joined({lines.begin() + 1, lines.end() - 1});
}

/// The blocks of an answer; `complaint` is set if the markers do not match.
std::vector<Block> blocks_of(const std::vector<std::string>& lines, std::string& complaint) {
  std::vector<Block> blocks;
  enum { Outside, Searching, Replacing } state = Outside;
  Block block;
  size_t opened = 0;
  for (auto& line : lines) {
    std::string marker = without_outer_blanks(line);
    if (size_t count = marks(marker, '<', "SEARCH")) {
      if (state != Outside) complaint = "A SEARCH block begins inside another one.";
      state = Searching, block = {}, opened = count;
    } else if (state == Searching && marks(marker, '=', "") == opened) {
      state = Replacing;
    } else if (state == Replacing && marks(marker, '>', "REPLACE")) {
      blocks.push_back({unfenced(block.search), unfenced(block.replace)});
      state = Outside;
    } else if (state == Searching) {
      block.search += line + "\n";
    } else if (state == Replacing) {
      block.replace += line + "\n";
    }
  }
  if (state != Outside) complaint = "The answer ends inside a SEARCH/REPLACE block.";
  return blocks;
}

/// The only fenced block that contains a kernel.
std::optional<std::string> whole_file(const std::vector<std::string>& lines, std::string& complaint) {
  std::vector<std::string> fenced;
  bool inside = false;
  for (auto& line : lines) {
    if (without_outer_blanks(line).starts_with("```")) {
      if (!inside) fenced.emplace_back();
      inside = !inside;
    } else if (inside) {
      fenced.back() += line + "\n";
    }
  }
  if (inside) {
    complaint = "The answer ends inside a fenced block.";
    return std::nullopt;
  }
  std::erase_if(fenced, [](auto& text) { return text.find("__global__") == text.npos; });
  if (fenced.size() == 1) return fenced[0];
  complaint =
      fenced.empty()
          ? "The answer contains no edit: neither a SEARCH/REPLACE block nor one fenced block with the whole file."
          : "The answer contains several fenced blocks with kernels; it is not clear which one is meant.";
  return std::nullopt;
}

std::string idea_of(const std::vector<std::string>& lines) {
  std::string first;
  for (auto& line : lines) {
    std::string text = without_outer_blanks(line);
    if (text.starts_with("IDEA:")) return without_outer_blanks(text.substr(5)).substr(0, kLongestIdea);
    if (first.empty() && !text.empty() && text[0] != '<' && text[0] != '`') first = text;
  }
  return first.substr(0, kLongestIdea);
}

/// Applies `LAUNCH grid.x = EXPRESSION`; a complaint names the mistake.
void apply_launch_line(const std::string& line, Candidate& candidate, const std::string& kernel,
                       std::string& complaint) {
  size_t equals = line.find('=');
  std::string target = without_outer_blanks(line.substr(6, equals == line.npos ? line.npos : equals - 6));
  auto expression = equals == line.npos ? Result<Expression>(usage_error("'=' is missing"))
                                        : Expression::parse(without_outer_blanks(line.substr(equals + 1)));
  if (!expression.ok()) {
    complaint = "'" + line + "' cannot be read: " + expression.error().message;
    return;
  }
  for (auto& name : expression->variables())
    if (!with_geometry({}, candidate.values).contains(name)) {
      complaint =
          "'" + line + "' uses '" + name + "'; only gx gy gz bx by bz shared (the recorded launch) may be used.";
      return;
    }
  if (candidate.launches.empty()) candidate.launches.push_back(CandidateLaunch::as_recorded(kernel));
  auto& launch = candidate.launches[0];
  const std::string axes = "xyz";
  if (target == "shared") launch.shared = *expression;
  else if (target.size() == 6 && target.starts_with("grid.") && axes.find(target[5]) != axes.npos)
    launch.grid[axes.find(target[5])] = *expression;
  else if (target.size() == 7 && target.starts_with("block.") && axes.find(target[6]) != axes.npos)
    launch.block[axes.find(target[6])] = *expression;
  else complaint = "'" + line + "' sets '" + target + "'; grid.x … block.z and shared can be set.";
}

}  // namespace

AnswerEdits apply_answer(const Candidate& parent, const std::string& answer, const std::string& kernel, bool cut_off) {
  AnswerEdits result;
  auto lines = lines_of(answer);
  result.idea = idea_of(lines);
  Candidate candidate = parent;
  // Models write \n, also for a text with \r\n.
  const bool crlf = parent.source.find("\r\n") != parent.source.npos;
  if (crlf) candidate.source = joined(lines_of(parent.source));
  const Hash before = candidate.key();
  auto blocks = blocks_of(lines, result.complaint);
  if (result.complaint.empty() && blocks.empty())
    if (auto text = whole_file(lines, result.complaint)) candidate.source = *text;
  if (cut_off && !result.complaint.empty())
    result.complaint += " It was cut off at the token limit: think less, answer with fewer, smaller edits.";
  if (!result.complaint.empty()) return result;
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::string number = "SEARCH block " + std::to_string(i + 1);
    if (without_outer_blanks(blocks[i].search).empty()) {
      result.complaint = number + " is empty; say which lines it replaces.";
      return result;
    }
    const std::vector<size_t> found = occurrences(candidate.source, blocks[i].search);
    if (found.size() != 1) {
      result.complaint =
          !found.empty()
              ? number + " occurs " + std::to_string(found.size()) + " times; add lines around it until it is unique."
              : number + " does not occur in the source; it must match exactly, blanks included. " +
                    nearest_lines(candidate.source, blocks[i].search);
      return result;
    }
    candidate.source.replace(found[0], blocks[i].search.size(), blocks[i].replace);
  }
  for (auto& line : lines)
    if (without_outer_blanks(line).starts_with("LAUNCH ") && result.complaint.empty())
      apply_launch_line(without_outer_blanks(line), candidate, kernel, result.complaint);
  if (!result.complaint.empty()) return result;
  if (candidate.key() == before) {
    result.complaint = "The edits change nothing.";
    return result;
  }
  if (crlf) candidate.source = joined(lines_of(candidate.source), "\r\n");
  result.candidate = std::move(candidate);
  return result;
}

}  // namespace kernelift::tuner
