// See answer_edits.h.
#include "tuner/source/llm/answer_edits.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "core/base/words.h"
#include "core/model/knob/knob_text.h"
#include "tuner/source/llm/prompt.h"
#include "tuner/space/kernel_template.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kFewestMarks = 5;  ///< Accepted length of a marker; models miscount the seven of "<<<<<<< SEARCH".
constexpr size_t kShownLines = 8;   ///< Similar lines that a complaint shows.
constexpr size_t kLongestIdea = 160;
constexpr size_t kLongestLine = 400;  ///< Of a line whose likeness to others is asked.
/// A text longer than this many times the parent's and so many bytes more is no rewrite of it.
constexpr size_t kMostGrowth = 4, kMostAdded = 64 << 10;
// More edits, definitions beside the parent's, or characters of a line than anybody writes by hand: each of them costs
// a look at the whole text or line, while the search waits.
constexpr size_t kMostBlocks = 200, kMostDefinitions = 64, kLongestWritten = 2000;

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

/// Pairs of characters that follow each other, sorted.
std::vector<std::pair<char, char>> pairs_of(const std::string& line) {
  std::vector<std::pair<char, char>> pairs;
  for (size_t i = 0; i + 1 < line.size(); ++i) pairs.emplace_back(line[i], line[i + 1]);
  std::ranges::sort(pairs);
  return pairs;
}

/// Share of their pairs that two lines have in common.
double likeness(const std::vector<std::pair<char, char>>& left, const std::vector<std::pair<char, char>>& right) {
  if (left.empty() || right.empty()) return 0;
  std::vector<std::pair<char, char>> both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  return 2.0 * static_cast<double>(both.size()) / static_cast<double>(left.size() + right.size());
}

std::string nearest_lines(const std::string& source, const std::string& search) {
  auto wanted = lines_of(search), lines = lines_of(source);
  std::string key;
  for (auto& line : wanted)
    if (without_outer_blanks(line).size() > key.size()) key = without_outer_blanks(line);
  key.resize(std::min(key.size(), kLongestLine));
  const auto of_key = pairs_of(key);
  size_t best = 0;
  double most = -1;
  for (size_t i = 0; i < lines.size(); ++i)
    if (double similar = likeness(pairs_of(without_outer_blanks(lines[i])), of_key); similar > most)
      most = similar, best = i;
  size_t begin = best > kShownLines / 2 ? best - kShownLines / 2 : 0;
  std::string shown;
  for (size_t i = begin; i < std::min(lines.size(), begin + kShownLines); ++i) shown += lines[i] + "\n";
  return "The nearest lines (from line " + std::to_string(begin + 1) + ") are:\n" + as_data(shown);
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

/// The only whole lines of `text` that are those of `piece` but for blanks; nullopt: there are none, or several.
std::optional<TextRange> alike_but_for_blanks(const std::string& text, const std::string& piece) {
  auto bare = [](std::string_view line) {
    std::string letters;
    for (char c : line)
      if (!std::isspace(static_cast<unsigned char>(c))) letters += c;
    return letters;
  };
  std::vector<std::string> wanted;
  for (auto& line : lines_of(piece)) wanted.push_back(bare(line));
  while (!wanted.empty() && wanted.back().empty()) wanted.pop_back();
  while (!wanted.empty() && wanted.front().empty()) wanted.erase(wanted.begin());
  if (wanted.empty()) return std::nullopt;
  std::vector<std::pair<size_t, std::string>> lines;  // Each with its offset.
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.emplace_back(begin, bare(std::string_view(text).substr(begin, end - begin)));
    begin = end;
  }
  std::optional<TextRange> found;
  for (size_t at = 0; at + wanted.size() <= lines.size(); ++at) {
    bool same = true;
    for (size_t i = 0; i < wanted.size() && same; ++i) same = lines[at + i].second == wanted[i];
    if (!same) continue;
    if (found) return std::nullopt;
    const size_t behind = at + wanted.size();
    found = {lines[at].first, behind < lines.size() ? lines[behind].first : text.size()};
  }
  return found;
}

/// Number of marks that a line begins with, if only `word` follows; else 0.
size_t marks(const std::string& line, char mark, std::string_view word) {
  size_t count = std::min(line.find_first_not_of(mark), line.size());
  return count >= kFewestMarks && without_outer_blanks(line.substr(count)) == word ? count : 0;
}

/// A line of three or more ` or ~ that opens or closes a block of code.
struct Fence {
  char mark = 0;
  size_t count = 0;
  bool bare = false;  ///< Nothing follows, as a closing one must be.
  bool closes(const Fence& open) const { return bare && mark == open.mark && count >= open.count; }
};

std::optional<Fence> fence_of(const std::string& line) {
  constexpr size_t kFewest = 3;
  const std::string text = without_outer_blanks(line);
  if (text.empty() || (text[0] != '`' && text[0] != '~')) return std::nullopt;
  Fence fence{text[0], std::min(text.find_first_not_of(text[0]), text.size())};
  fence.bare = fence.count == text.size();
  const bool words_in_line = fence.mark == '`' && text.find('`', fence.count) != text.npos;
  return fence.count < kFewest || words_in_line ? std::nullopt : std::optional(fence);
}

/// The text without the fence that some models put around each half of a block.
std::string unfenced(const std::string& half) {
  auto lines = lines_of(half);
  if (lines.size() < 2) return half;
  auto open = fence_of(lines.front()), close = fence_of(lines.back());
  return open && close && close->closes(*open) ? joined({lines.begin() + 1, lines.end() - 1}) : half;
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
  std::optional<Fence> open;
  for (auto& line : lines) {
    auto fence = fence_of(line);
    if (!open && fence) {
      fenced.emplace_back();
      open = fence;
    } else if (open && fence && fence->closes(*open)) {
      open.reset();
    } else if (open) {
      fenced.back() += line + "\n";
    }
  }
  if (open) {
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
    if (first.empty() && !text.empty() && text[0] != '<' && !fence_of(text)) first = text;
  }
  return first.substr(0, kLongestIdea);
}

/// Takes `LAUNCH grid.x = EXPRESSION` into `sizes`; `LAUNCH recorded` undoes what came before, `LAUNCH unchanged`
/// nothing. A complaint names the mistake.
void take_launch_line(const std::string& line, Candidate& candidate, std::vector<TuneDeclarations::Size>& sizes,
                      std::string& complaint) {
  const std::string word = without_outer_blanks(line.substr(6));
  if (word == "unchanged") return;
  if (word == "recorded") {
    candidate.launches.clear(), candidate.scratch.clear(), sizes.clear();
    return;
  }
  size_t equals = line.find('=');
  std::string target = without_outer_blanks(line.substr(6, equals == line.npos ? line.npos : equals - 6));
  auto expression = equals == line.npos ? Result<Expression>(usage_error("'=' is missing"))
                                        : Expression::parse(without_outer_blanks(line.substr(equals + 1)));
  if (!expression.ok()) {
    complaint = "'" + line + "' cannot be read: " + expression.error().message;
  } else if (CandidateLaunch any; !any.size_named(target)) {
    complaint = "'" + line + "' sets '" + target + "'; grid.x … block.z and shared can be set, or `LAUNCH recorded`.";
  } else {
    std::erase_if(sizes, [&](auto& size) { return size.name == target; });
    sizes.push_back({target, *std::move(expression), 0});
  }
}

/// Why the text is more than a rewrite of the parent's that is worth being looked at closely; or empty.
std::string too_much(const std::string& text, const std::string& parent) {
  auto definitions = [](const std::string& of) {
    size_t count = 0;
    for (const std::string_view word : {"define", "const", "enum"})
      for (size_t at = of.find(word); at != of.npos; at = of.find(word, at + word.size())) ++count;
    return count;
  };
  auto longest = [](const std::string& of) {
    size_t most = 0;
    for (size_t begin = 0; begin < of.size();) {
      const size_t end = std::min(of.find('\n', begin), of.size());
      most = std::max(most, end - begin), begin = end + 1;
    }
    return most;
  };
  if (definitions(text) > definitions(parent) + kMostDefinitions)
    return "The new text defines more than " + std::to_string(kMostDefinitions) +
           " constants and variables, which all would be searched; define a few.";
  if (longest(text) > std::max(longest(parent), kLongestWritten))
    return "The new text has a line of more than " + std::to_string(kLongestWritten) + " characters; break it.";
  return {};
}

}  // namespace

size_t longest_answer(const Candidate& parent) { return kMostGrowth * parent.source.size() + kMostAdded; }

AnswerEdits apply_answer(const Mep& mep, const Candidate& parent, const std::string& answer, bool cut_off) {
  AnswerEdits result;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const size_t longest = longest_answer(parent);
  if (answer.size() > longest) {
    result.complaint = "The new text is far too long for a rewrite of this source.";
    return result;
  }
  auto lines =
      lines_of(std::string_view(answer).substr(answer.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0));
  result.idea = idea_of(lines);
  Candidate candidate = parent;
  // Models write \n, also for a text with \r\n.
  const bool crlf = parent.source.find("\r\n") != parent.source.npos;
  if (crlf) candidate.source = joined(lines_of(parent.source));
  const Hash before = candidate.key();
  auto blocks = blocks_of(lines, result.complaint);
  const bool whole = result.complaint.empty() && blocks.empty();
  if (whole)
    if (auto text = whole_file(lines, result.complaint)) {
      candidate.source = *text;
      // What the parent's rewrites assumed need not hold for a text that was written anew, nor be all that it needs:
      // the judge finds out what this text assumes.
      for (auto& step : candidate.steps) step.premises.clear();
    }
  if (candidate.source.size() > longest)
    result.complaint = "The new text is far too long for a rewrite of this source.";
  if (blocks.size() > kMostBlocks)
    result.complaint = "The answer has " + std::to_string(blocks.size()) +
                       " edits; answer with fewer and larger ones, or with the whole file.";
  auto speaks_of_launch = [](auto& line) { return without_outer_blanks(line).starts_with("LAUNCH "); };
  // It may be written for either launch: the text's own, which the answer's author was shown, or the application's.
  auto declares_launch = [](const std::string& text) {
    auto declared = TuneDeclarations::parse(text);
    return declared.ok() && !declared->launch.empty();
  };
  if (whole && result.complaint.empty() && !parent.launches.empty() && std::ranges::none_of(lines, speaks_of_launch) &&
      !declares_launch(candidate.source))
    result.complaint =
        "The answer is a whole file and does not say how it is launched; the source above has a launch of its own. Add "
        "`LAUNCH unchanged` for that one, `LAUNCH recorded` for the application's, or lines that set its sizes.";
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
    if (auto alike = found.empty() ? alike_but_for_blanks(candidate.source, blocks[i].search) : std::nullopt) {
      candidate.source.replace(alike->begin, alike->end - alike->begin, blocks[i].replace);
      continue;
    }
    if (found.size() != 1) {
      result.complaint =
          !found.empty()
              ? number + " occurs " + std::to_string(found.size()) + " times; add lines around it until it is unique."
              : number + " does not occur in the source; it must match exactly, blanks included.\n" +
                    nearest_lines(candidate.source, blocks[i].search);
      return result;
    }
    candidate.source.replace(found[0], blocks[i].search.size(), blocks[i].replace);
  }
  if (candidate.source.size() > longest)
    result.complaint = "The new text is far too long for a rewrite of this source.";
  else result.complaint = too_much(candidate.source, parent.source);
  if (!result.complaint.empty()) return result;
  const std::string parents = blank_comments(parent.source);
  for (auto& [name, value] : new_constants({}, candidate.source))
    if (auto known = candidate.values.find(name); known != candidate.values.end())
      known->second = value;  // Launches use the text's value, also of a constant that the parent had.
    else if (whole_words(parents, name).empty() && !with_geometry({}, {}).contains(name))
      candidate.values[name] = value;
  std::vector<TuneDeclarations::Size> sizes;
  for (auto& line : lines)
    if (speaks_of_launch(line) && result.complaint.empty())
      take_launch_line(without_outer_blanks(line), candidate, sizes, result.complaint);
  if (!result.complaint.empty()) return result;
  auto set = first_setting(mep, parent, std::move(candidate), std::move(sizes));
  if (!set.ok()) {
    result.complaint = "The answer's text or launch does not fit together: " + set.error().message + ".";
    return result;
  }
  candidate = *std::move(set);
  if (candidate.key() == before) {
    result.complaint = "The edits change nothing.";
    return result;
  }
  if (crlf) candidate.source = joined(lines_of(candidate.source), "\r\n");
  result.candidate = std::move(candidate);
  return result;
}

}  // namespace kernelift::tuner
