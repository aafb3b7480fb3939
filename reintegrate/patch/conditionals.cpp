// Read as tokens, not as lines: a comment, a joined line or a digraph neither hides a directive nor makes one.
#include "reintegrate/patch/conditionals.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>

#include "core/compiler/written/source_tokens.h"

namespace kernelift::reintegrate {
namespace {

using Words = std::multiset<std::string>;

/// The identifiers of the tokens, except member names, because the object that they belong to is listed already.
Words words_of(std::span<const SourceToken> tokens) {
  Words words;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool member = i > 0 && (tokens[i - 1].is("->") || tokens[i - 1].is("."));
    if (tokens[i].kind == SourceToken::Kind::Identifier && !member) words.insert(tokens[i].text);
  }
  return words;
}

Words words_of(std::string_view text) { return words_of(source_tokens(text)); }

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
std::set<std::string> architecture_macros(std::span<const SourceToken> tokens,
                                          const std::vector<DirectiveTokens>& all) {
  std::set<std::string> found;
  auto by_architecture = [&](size_t begin, size_t end) {
    return std::ranges::any_of(words_of(tokens.subspan(begin, end - begin)),
                               [&](auto& word) { return is_architecture(word) || found.contains(word); });
  };
  for (size_t before = 1; before != found.size();) {
    before = found.size();
    std::vector<bool> open;
    for (auto& [begin, end] : all) {
      if (begin == end) continue;
      const std::string& keyword = tokens[begin].text;
      if (keyword.starts_with("if")) open.push_back(by_architecture(begin + 1, end));
      else if (keyword.starts_with("elif") && !open.empty())
        open.back() = open.back() || by_architecture(begin + 1, end);
      else if (keyword == "endif" && !open.empty()) open.pop_back();
      else if (keyword == "define" && begin + 1 < end &&
               (std::ranges::count(open, true) > 0 || by_architecture(begin + 2, end)))
        found.insert(tokens[begin + 1].text);
    }
    if (before == 0 && found.empty()) break;
  }
  return found;
}

}  // namespace

std::vector<AffectedConditional> affected_conditionals(std::string_view text, uint32_t begin, uint32_t end,
                                                       const std::vector<ByteEdit>& edits, bool geometry_changes) {
  const std::vector<SourceToken> tokens = source_tokens(text);
  const std::vector<DirectiveTokens> all = directives(tokens);
  struct Group {
    AffectedConditional found;
    Words words;
  };
  std::vector<Group> groups;  // The outermost conditionals.
  std::optional<std::set<std::string>> macros;
  int depth = 0;
  size_t code = 0;  // The first token behind the last directive.
  auto add_words = [&](size_t first, size_t last) {
    if (depth > 0 && first < last) groups.back().words.merge(words_of(std::span(tokens).subspan(first, last - first)));
  };
  for (auto& [first, last] : all) {
    const uint32_t line = tokens[first - 1].line;
    if (line < begin || first == last) continue;
    if (line > end) break;
    add_words(code, first - 1);
    code = last;
    const std::string& keyword = tokens[first].text;
    if (keyword.starts_with("if") && depth++ == 0)
      groups.push_back(
          {{line, end,
            "#" + std::string(text.substr(tokens[first].offset, tokens[last - 1].end - tokens[first].offset)), "",
            false},
           {}});
    if (depth == 0) continue;
    if (keyword.starts_with("if") || keyword.starts_with("elif")) {
      if (!macros) macros = architecture_macros(tokens, all);
      groups.back().found.by_architecture |=
          std::ranges::any_of(words_of(std::span(tokens).subspan(first + 1, last - first - 1)),
                              [&](auto& word) { return is_architecture(word) || macros->contains(word); });
    } else if (keyword == "pragma" || keyword == "define") {
      add_words(first, last);
    }
    if (keyword == "endif" && --depth == 0) groups.back().found.end_line = line;
  }
  if (depth > 0)  // It ends behind the function.
    add_words(code,
              static_cast<size_t>(std::ranges::upper_bound(tokens, end, {}, &SourceToken::line) - tokens.begin()));

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
