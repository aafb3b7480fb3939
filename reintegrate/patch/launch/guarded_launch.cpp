// Where an `if`, an `else` or a loop is in front of the launch, both launches are put into braces: compilers warn of an
// `else` that could belong to either of two.
#include "reintegrate/patch/launch/guarded_launch.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/words.h"
#include "core/compiler/written/source_tokens.h"
#include "reintegrate/patch/launch/launch_text.h"
#include "reintegrate/patch/launch/line_breaks.h"
#include "reintegrate/patch/launch/site_terms.h"

namespace kernelift::reintegrate {
namespace {

using Tokens = std::vector<SourceToken>;

bool in_directive(const Tokens& tokens, size_t at) {
  return std::ranges::any_of(directives(tokens),
                             [&](auto& directive) { return at + 1 >= directive.begin && at < directive.end; });
}

enum class InFront { Statement, Controlling, Other };

/// What is in front of the token at `at`: the end of a statement, what decides whether the next one runs, or else.
InFront in_front_of(const Tokens& tokens, size_t at) {
  if (at == 0 || in_directive(tokens, at - 1)) return InFront::Other;  // `#else`, `#if (X)`
  const SourceToken& before = tokens[at - 1];
  if (before.is(";") || before.is("{") || before.is("}")) return InFront::Statement;
  if (before.is("else")) return InFront::Controlling;
  if (!before.is(")")) return InFront::Other;
  int depth = 0;
  for (size_t open = at; open-- > 1;) {
    if (tokens[open].is(")")) ++depth;
    if (!tokens[open].is("(") || --depth > 0) continue;
    const SourceToken& word = tokens[open - 1];
    return word.is("if") || word.is("for") || word.is("while") || word.is("constexpr") ? InFront::Controlling
                                                                                       : InFront::Other;
  }
  return InFront::Other;
}

/// A lambda is another type each time it is written.
bool has_lambda(const Tokens& tokens, size_t begin, size_t end) {
  for (size_t at = begin; at < end; ++at) {
    if (!tokens[at].is("[")) continue;
    const SourceToken& before = tokens[at - 1];
    if (before.kind != SourceToken::Kind::Identifier && !before.is(")") && !before.is("]")) return true;
  }
  return false;
}

std::string_view indent_of(std::string_view text, size_t at) {
  const size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  const size_t end = text.find_first_not_of(" \t", line);
  return text.substr(line, std::min(end, at) - line);
}

/// One level of the file's indentation: that of its first line that is indented.
std::string level_of(std::string_view text) {
  for (size_t line = 0; line < text.size(); line = text.find('\n', line) + 1) {
    const size_t end = std::min(text.find_first_not_of(" \t", line), text.size());
    if (end > line && text[line] == '\t') return "\t";
    if (end > line && end - line <= 8 && end < text.size() && text[end] != '\n' && text[end] != '*')
      return std::string(text.substr(line, end - line));
    if (text.find('\n', line) == text.npos) break;
  }
  return "  ";
}

/// The launch with its sizes broken at commas, where it begins behind `before` and is too long for the line.
std::string broken(const std::string& launch, const std::string& before, size_t limit, const std::string& newline) {
  const size_t open = launch.find("<<<"), close = launch.rfind(">>>");
  if (before.size() + launch.size() + 1 <= limit || launch.find('\n') != launch.npos || open == launch.npos ||
      close == launch.npos)
    return launch;
  const std::string head = launch.substr(0, open + 3), tail = launch.substr(close);
  return head + broken_at_commas(launch.substr(open + 3, close - open - 3), before + head, tail + ";", limit, newline) +
         tail;
}

/// nullopt: the launch is no statement (it is a macro's argument or a part of an expression), or its text would mean
/// something else when it is written twice.
std::optional<ByteEdit> statement(const std::string& source, const LaunchSite& site, const std::string& condition,
                                  const std::string& tuned) {
  const SourceRange& where = site.range;
  // What is around the launch may be a macro, in which it would stand twice.
  const bool own = site.kernel_range.begin == where.begin || !site.launcher.empty();
  if (site.through_macro || !own || where.begin >= where.end || where.end > source.size()) return std::nullopt;
  const Tokens tokens = source_tokens(source);
  const auto first = std::ranges::find(tokens, where.begin, &SourceToken::offset);
  const auto behind = std::ranges::find_if(tokens, [&](auto& token) { return token.offset >= where.end; });
  if (first == tokens.end() || behind == tokens.end() || !behind->is(";")) return std::nullopt;
  const size_t at = static_cast<size_t>(first - tokens.begin()), end = static_cast<size_t>(behind - tokens.begin());
  const InFront in_front = in_front_of(tokens, at);
  if (in_front == InFront::Other || in_directive(tokens, at) || has_lambda(tokens, at, end)) return std::nullopt;
  const size_t since = tokens[at - 1].end;
  const std::string_view between = std::string_view(source).substr(since, where.begin - since);
  if (in_front == InFront::Controlling && !trimmed(between).empty()) return std::nullopt;  // A comment.

  const std::string newline = source.find("\r\n") == source.npos ? "\n" : "\r\n";
  const std::string level = level_of(source), original = source.substr(where.begin, where.end - where.begin);
  const size_t limit = line_limit(source);
  const bool braces = in_front == InFront::Controlling;
  const std::string outer(indent_of(source, braces ? tokens[at - 1].offset : where.begin));
  const std::string indent = braces ? outer + level : outer;
  const std::string question = "if (" + condition + ")", next = newline + indent;
  const bool one_line = indent.size() + question.size() + tuned.size() + 2 <= limit &&
                        indent.size() + original.size() + 6 <= limit && tuned.find('\n') == tuned.npos;
  auto arm = [&](const std::string& word, const std::string& launch) {
    const std::string before = indent + level;
    return one_line ? word + " " + launch + ";" : word + next + level + broken(launch, before, limit, newline) + ";";
  };
  std::string text = arm(question, tuned) + next + arm("else", original);
  if (braces) text = " {" + next + text + newline + outer + "}";
  return ByteEdit{where.file, braces ? since : where.begin,       behind->end,
                  text,       "the launch at " + place_of(where), Author::Generated};
}

/// The launch's text with the edits.
std::string edited(const std::string& source, const LaunchSite& site, std::vector<ByteEdit> edits) {
  std::ranges::sort(edits, std::greater<>(), &ByteEdit::begin);
  std::string text = source.substr(site.range.begin, site.range.end - site.range.begin);
  for (auto& edit : edits) text.replace(edit.begin - site.range.begin, edit.end - edit.begin, edit.text);
  return text;
}

/// What the edit replaces, and its text where the condition holds, as one expression of one type.
std::string choice(const std::string& source, const LaunchSite& site, const std::string& condition,
                   const std::string& instance, const ByteEdit& edit) {
  const std::string before = source.substr(edit.begin, edit.end - edit.begin);
  if (edit.begin == site.kernel_range.begin) {
    const std::string kernel = without_outer_blanks(before);
    const bool spelled = kernel.find('<') != kernel.npos;
    return "(" + condition + " ? " + edit.text + " : " + kernel + (spelled ? "" : instance) + ")";
  }
  const bool grid = edit.begin == site.grid_range.begin, block = edit.begin == site.block_range.begin;
  const bool number = (!grid && !block) ||
                      (is_number(before, grid ? site.grid_form : site.block_form) && !edit.text.starts_with("dim3("));
  auto dim = [&](const std::string& one) { return number || one.starts_with("dim3(") ? one : "dim3(" + one + ")"; };
  return "(" + condition + ") ? " + dim(edit.text) + " : " + dim(before.empty() ? "0" : before);
}

}  // namespace

void guard_launch(const std::string& source, const LaunchSite& site, const std::string& condition,
                  const std::string& instance, std::vector<ByteEdit>& edits) {
  if (edits.size() > 1)
    if (auto both = statement(source, site, condition, edited(source, site, edits))) {
      edits = {std::move(*both)};
      return;
    }
  for (auto& edit : edits) edit.text = choice(source, site, condition, instance, edit);
}

}  // namespace kernelift::reintegrate
