// Comments are not distinguished from code: a word in a comment can only add a conditional to the result.
#include "reintegrate/patch/conditionals.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <set>

#include "reintegrate/patch/text_diff.h"

namespace kernelift::reintegrate {
namespace {

using Words = std::multiset<std::string>;

/// The identifiers of the text, except member names, because the object that they belong to is listed already.
Words words_of(std::string_view text) {
  Words words;
  auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = 0; at < text.size();) {
    if (!inside(text[at])) {
      ++at;
      continue;
    }
    size_t begin = at;
    while (at < text.size() && inside(text[at])) ++at;
    std::string_view before = text.substr(0, begin);
    bool member = before.ends_with("->") || (before.ends_with(".") && !before.ends_with(".."));
    if (!member && !std::isdigit(static_cast<unsigned char>(text[begin])))
      words.emplace(text.substr(begin, at - begin));
  }
  return words;
}

bool is_architecture(const std::string& word) { return word.starts_with("__CUDA_ARCH") || word.starts_with("__gfx"); }

bool is_any_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](const char* one) { return word == one; });
}

/// Keywords and other words that do not connect one text with another.
bool is_grammar(const std::string& word) {
  static const std::set<std::string> kGrammar{"if",           "ifdef",
                                              "ifndef",       "elif",
                                              "else",         "endif",
                                              "defined",      "define",
                                              "undef",        "pragma",
                                              "unroll",       "for",
                                              "while",        "do",
                                              "switch",       "case",
                                              "return",       "break",
                                              "continue",     "goto",
                                              "const",        "constexpr",
                                              "volatile",     "static",
                                              "auto",         "void",
                                              "bool",         "char",
                                              "short",        "int",
                                              "long",         "unsigned",
                                              "signed",       "float",
                                              "double",       "size_t",
                                              "true",         "false",
                                              "__restrict__", "__device__",
                                              "__global__",   "__forceinline__",
                                              "inline",       "template",
                                              "typename",     "class",
                                              "struct",       "sizeof",
                                              "static_cast",  "reinterpret_cast"};
  return kGrammar.contains(word);
}

/// True if the text leaves its control flow (return, break, …) or synchronises threads, so that the control flow around
/// it matters.
bool depends_on_flow(const Words& words) {
  return std::ranges::any_of(words, [](auto& word) {
    return is_any_of(word, {"return", "break", "continue", "goto"}) || word.find("sync") != word.npos ||
           word.find("shfl") != word.npos || word.find("barrier") != word.npos;
  });
}

/// Macros whose value depends on the GPU architecture: defined in terms of __CUDA_ARCH__, or under a condition on it.
std::set<std::string> architecture_macros(const std::vector<TextLine>& lines) {
  std::set<std::string> found;
  auto by_architecture = [&](const Words& words) {
    return std::ranges::any_of(words, [&](auto& word) { return is_architecture(word) || found.contains(word); });
  };
  for (size_t before = 1; before != found.size();) {
    before = found.size();
    std::vector<bool> open;
    for (auto& line : lines) {
      std::string_view text = trimmed(line.text);
      if (!text.starts_with("#")) continue;
      text = trimmed(text.substr(1));
      if (text.starts_with("if")) open.push_back(by_architecture(words_of(text)));
      else if (text.starts_with("elif") && !open.empty()) open.back() = open.back() || by_architecture(words_of(text));
      else if (text.starts_with("endif") && !open.empty()) open.pop_back();
      else if (text.starts_with("define")) {
        std::string_view rest = trimmed(text.substr(6));
        size_t stop = std::ranges::find_if(
                          rest, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_'; }) -
                      rest.begin();
        if (std::ranges::count(open, true) > 0 || by_architecture(words_of(rest.substr(stop))))
          found.emplace(rest.substr(0, stop));
      }
    }
    if (before == 0 && found.empty()) break;
  }
  return found;
}

}  // namespace

std::vector<AffectedConditional> affected_conditionals(std::string_view text, uint32_t begin, uint32_t end,
                                                       const std::vector<ByteEdit>& edits, bool geometry_changes) {
  const std::vector<TextLine> lines = split_lines(text);
  struct Group {
    AffectedConditional found;
    Words words;
  };
  std::vector<Group> groups;  // The outermost conditionals.
  std::optional<std::set<std::string>> macros;
  int depth = 0;
  for (uint32_t number = begin; number <= end && number <= lines.size(); ++number) {
    std::string_view line = trimmed(lines[number - 1].text),
                     directive = line.starts_with("#") ? trimmed(line.substr(1)) : std::string_view();
    if (directive.starts_with("if") && depth++ == 0)
      groups.push_back({{number, end, std::string(line), "", false}, {}});
    if (depth == 0) continue;
    Words words = words_of(line);
    if (directive.starts_with("if") || directive.starts_with("elif")) {
      if (!macros) macros = architecture_macros(lines);
      groups.back().found.by_architecture |=
          std::ranges::any_of(words, [&](auto& word) { return is_architecture(word) || macros->contains(word); });
    } else if (directive.empty() || directive.starts_with("pragma") || directive.starts_with("define")) {
      groups.back().words.merge(words);
    }
    if (directive.starts_with("endif") && --depth == 0) groups.back().found.end_line = number;
  }

  auto line_of = [&](uint64_t at) {
    return static_cast<uint32_t>(1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
  };
  std::vector<AffectedConditional> reached;
  for (auto& group : groups) {
    Words around;  // Identifiers of the edits outside of the conditional.
    bool flow = false, replaced = false;
    if (geometry_changes) around.insert({"threadIdx", "blockIdx", "blockDim", "gridDim", "__shared__"});
    for (auto& edit : edits) {
      bool inserted = edit.begin == edit.end;
      uint32_t first = line_of(edit.begin), last = line_of(inserted ? edit.end : edit.end - 1);
      if (last < begin + inserted || first > end) continue;
      if (first > group.found.line && last < group.found.end_line + inserted) continue;
      replaced |= !inserted && first <= group.found.line && last >= group.found.end_line;
      Words before = words_of(text.substr(edit.begin, edit.end - edit.begin)), after = words_of(edit.text), changed;
      std::ranges::set_symmetric_difference(before, after, std::inserter(changed, changed.end()));
      flow |= std::ranges::any_of(changed, [](auto& word) {
        return is_any_of(word, {"for", "while", "do", "if", "switch", "return", "break", "continue", "goto"});
      });
      // Qualifiers and unroll pragmas do not change what the text computes.
      bool promise = std::ranges::all_of(
          changed, [](auto& word) { return is_any_of(word, {"__restrict__", "const", "pragma", "unroll"}); });
      if (promise && !changed.empty()) continue;
      around.merge(before), around.merge(after);
    }
    if (replaced) continue;  // The patch replaces the conditional with all its branches.
    auto common =
        std::ranges::find_if(group.words, [&](auto& word) { return !is_grammar(word) && around.contains(word); });
    if (common != group.words.end()) group.found.word = *common;
    else if (flow && depends_on_flow(group.words)) group.found.word = "control flow";
    else continue;
    reached.push_back(group.found);
  }
  return reached;
}

std::string location_of(const AffectedConditional& one, const std::string& file) {
  return file + ":" + std::to_string(one.line) + "-" + std::to_string(one.end_line) + " (" + one.condition + ")";
}

}  // namespace kernelift::reintegrate
