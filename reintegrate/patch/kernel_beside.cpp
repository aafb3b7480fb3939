// See kernel_beside.h.
#include "reintegrate/patch/kernel_beside.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/compiler/written/source_tokens.h"
#include "core/model/kernel_key.h"
#include "reintegrate/patch/constants/kernel_text.h"
#include "reintegrate/patch/launch/site_terms.h"

namespace kernelift::reintegrate {
namespace {

using Tokens = std::vector<SourceToken>;

/// Index of the kernel's own name in its definition: the first of its occurrences before a parenthesis.
size_t token_of_name(const Tokens& tokens, const std::string& name) {
  for (size_t at = 0; at + 1 < tokens.size(); ++at)
    if (tokens[at].is(name) && tokens[at + 1].is("(")) return at;
  return tokens.size();
}

/// Index of the token behind the `template <…>` that the text may begin with; the number of tokens: its end is not
/// found.
size_t behind_template_heads(const Tokens& tokens) {
  size_t at = 0;
  while (at < tokens.size() && tokens[at].is("template")) {
    int angles = 0, brackets = 0;
    for (++at; at < tokens.size(); ++at) {
      const SourceToken& token = tokens[at];
      if (token.is("(") || token.is("{") || token.is("[")) ++brackets;
      if (token.is(")") || token.is("}") || token.is("]")) --brackets;
      if (brackets > 0) continue;
      if (token.is("<")) ++angles;
      if (token.is(">") || token.is(">>") || token.is(">>>")) angles -= static_cast<int>(token.text.size());
      if (angles <= 0) break;
    }
    ++at;
  }
  return std::min(at, tokens.size());
}

/// A definition or declaration under another name.
Result<std::string> renamed(std::string definition, const std::string& name, const std::string& to, bool visible) {
  const Tokens tokens = source_tokens(definition);
  const size_t own = token_of_name(tokens, name), behind = behind_template_heads(tokens);
  if (own == tokens.size() || behind >= own) return refused("the definition of '" + name + "' does not spell its name");
  const size_t at = tokens[own].offset, first = tokens[behind].offset;
  const std::string_view head = std::string_view(definition).substr(0, at);
  if (head.find("extern \"C\"") != head.npos || (!visible && !whole_words(head, "extern").empty()))
    return refused("'" + name + "' has C linkage, and a second kernel beside it needs a name of its own");
  const bool is_static = !whole_words(head, "static").empty();
  definition.replace(at, name.size(), to);
  if (!is_static && !visible) definition.insert(first, "static ");
  return definition;
}

/// The hunk adds what changes nothing that is there: declarations, directives, hints for loops. A line within a
/// function that the kernel calls would be the original's, too.
bool adds_declarations(const Hunk& hunk, const std::vector<TextLine>& old_lines,
                       const std::vector<TextLine>& new_lines) {
  const bool hints =
      std::all_of(new_lines.begin() + static_cast<ptrdiff_t>(hunk.new_begin),
                  new_lines.begin() + static_cast<ptrdiff_t>(hunk.new_end), [](const TextLine& line) {
                    const auto tokens = source_tokens(line.text);
                    return tokens.size() > 2 && tokens[0].is("#") && tokens[1].is("pragma") && tokens[2].is("unroll");
                  });
  if (hints || old_lines.empty()) return true;
  // The lines are parts of one text.
  const char* begin = old_lines.front().text.data();
  const size_t at = hunk.old_begin < old_lines.size()
                        ? static_cast<size_t>(old_lines[hunk.old_begin].text.data() - begin)
                        : static_cast<size_t>(old_lines.back().text.data() + old_lines.back().text.size() - begin);
  const auto& last = old_lines.back().text;
  return is_at_namespace_scope(std::string(begin, last.data() + last.size()), at);
}

}  // namespace

Result<KernelBeside> kernel_beside(const Mep& mep, const ScanIndex& scan, const ScannedKernel& kernel,
                                   const OpenFile& file, const std::vector<TextLine>& old_lines,
                                   const std::vector<TextLine>& new_lines, const std::vector<Hunk>& hunks,
                                   const std::string& comment, bool visible) {
  const std::string name = own_name(mep.kernel_name);
  const SourceRange& where = kernel.definition;
  if (kernel.through_macro) return refused("a macro writes the definition of '" + name + "'");
  for (auto& other : scan.kernels) {
    if (own_name(other.name) == name && (other.definition.file != where.file || other.definition.begin != where.begin))
      return refused("there are several kernels of the name '" + name + "', between which a launch cannot choose");
    for (auto& setting : scan.settings)
      if (own_name(other.name) == name && std::ranges::find(setting.kernels, other.id) != setting.kernels.end())
        return refused(place_of(setting.range) + " sets an attribute of '" + name +
                       "' that a kernel beside it would not have");
  }
  for (auto& pointer : scan.pointers)
    if (std::ranges::find(pointer.kernels, kernel.id) != pointer.kernels.end())
      return refused(place_of(pointer.range) + " gives '" + name +
                     "' to other code, which may set or ask for what a kernel beside it would not have");
  if (where.end > file.text.size() || where.begin >= where.end || where.line == 0 ||
      where.end_line > file.lines.size() || where.end_line < where.line)
    return refused("the definition of '" + name + "' is not where the scan found it");

  auto is_inside = [&](size_t line) {
    auto& origin = mep.origins[line];
    return origin.file == where.file && origin.line >= where.line && origin.line <= where.end_line;
  };
  size_t begin = 0, end = old_lines.size();
  while (begin < end && !is_inside(begin)) ++begin;
  while (end > begin && !is_inside(end - 1)) --end;
  if (end - begin != where.end_line - where.line + 1)
    return refused("the extracted text does not contain the whole definition of '" + name + "'");

  auto is_of_comment = [&](const TextLine& line) {
    const std::string_view text = trimmed(line.text);
    return text.empty() || text.starts_with("//") || text.starts_with("/*") || text.starts_with("*");
  };
  KernelBeside beside;
  std::string newline(file.newline()), in_front;
  // The new lines of the definition are those between the other hunks' new lines.
  size_t new_begin = begin, new_end = end;
  for (auto& hunk : hunks) {
    const size_t before = hunk.old_end - hunk.old_begin, after = hunk.new_end - hunk.new_begin;
    const bool in_front_of_it = hunk.old_end <= begin, behind = hunk.old_begin >= end;
    if (in_front_of_it || behind) {
      if (before != 0 || !adds_declarations(hunk, old_lines, new_lines))
        return refused("the candidate changes '" +
                       std::string(old_lines[std::min(hunk.old_begin, old_lines.size() - 1)].text) +
                       "' outside of the kernel, which the original beside it uses too");
      // What is added right in front of the kernel is for the one that needs it.
      const bool near = in_front_of_it && std::all_of(old_lines.begin() + static_cast<ptrdiff_t>(hunk.old_end),
                                                      old_lines.begin() + static_cast<ptrdiff_t>(begin), is_of_comment);
      if (!near) beside.added.push_back(hunk);
      for (size_t line = hunk.new_begin; near && line < hunk.new_end; ++line)
        in_front += std::string(new_lines[line].text) + newline;
    } else if (hunk.old_begin < begin || hunk.old_end > end) {
      return refused("the candidate changes lines in and around the kernel together");
    }
    if (in_front_of_it) new_begin += after;
    if (!behind) new_end = new_end + after - before;
  }
  std::string definition;
  for (size_t line = new_begin; line < new_end; ++line)
    definition += (line > new_begin ? newline : "") + std::string(new_lines[line].text);

  beside.name = unused_name(file.text, name + "_tuned");
  KERNELIFT_ASSIGN(std::string tuned, renamed(definition, name, beside.name, visible));
  KERNELIFT_ASSIGN(std::string copy,
                   renamed(file.text.substr(where.begin, where.end - where.begin), name, beside.name, visible));
  const std::string head = newline + newline, about = "// " + comment + newline;
  beside.at = where.end, beside.text = head + in_front + about + tuned, beside.copied = head + about + copy;
  return beside;
}

std::optional<DeclarationBeside> declaration_beside(const std::string& text, const std::string& name,
                                                    const std::string& beside, bool visible) {
  for (size_t at : whole_words(text, name)) {
    const size_t open = text.find_first_not_of(" \t\r\n", at + name.size());
    if (open == text.npos || text[open] != '(') continue;
    const size_t close = closing_bracket(text, open),
                 end = close == text.npos ? text.npos : text.find_first_not_of(" \t\r\n", close + 1);
    if (end == text.npos || text[end] != ';') continue;
    const size_t mark = text.rfind("__global__", at), between = text.find_first_of(";{}", mark);
    if (mark == text.npos || between < at) continue;
    // From the beginning of its line, or of the line before that has its template's head.
    size_t begin = text.rfind('\n', mark);
    begin = begin == text.npos ? 0 : begin + 1;
    if (begin >= 2)
      if (const size_t line = text.rfind('\n', begin - 2), first = line == text.npos ? 0 : line + 1;
          trimmed(std::string_view(text).substr(first, begin - first)).starts_with("template"))
        begin = first;
    const std::string_view head = std::string_view(text).substr(begin, mark - begin);
    if (head.find("//") != head.npos || head.find_first_of("\"*#") != head.npos) continue;
    auto made = renamed(text.substr(begin, end + 1 - begin), name, beside, visible);
    if (made.ok()) return DeclarationBeside{end + 1, "\n" + *made};
  }
  return std::nullopt;
}

std::string own_name(std::string_view kernel_name) {
  return unqualified_name(kernel_name.substr(0, kernel_name.find('<')));
}

}  // namespace kernelift::reintegrate
