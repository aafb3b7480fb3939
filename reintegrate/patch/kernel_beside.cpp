// See kernel_beside.h.
#include "reintegrate/patch/kernel_beside.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/model/kernel_key.h"

namespace kernelift::reintegrate {
namespace {

/// Offset of the kernel's own name in its definition: the first of its occurrences before a parenthesis.
size_t place_of_name(const std::string& definition, const std::string& name) {
  for (size_t at : whole_words(definition, name)) {
    const size_t behind = definition.find_first_not_of(" \t\r\n", at + name.size());
    if (behind != definition.npos && definition[behind] == '(') return at;
  }
  return definition.npos;
}

/// The definition under another name, visible in its unit alone.
Result<std::string> renamed(std::string definition, const std::string& name, const std::string& to) {
  const size_t at = place_of_name(definition, name);
  if (at == definition.npos) return refused("the definition of '" + name + "' does not spell its name");
  const std::string_view head = std::string_view(definition).substr(0, at);
  if (!whole_words(head, "extern").empty())
    return refused("'" + name + "' has C linkage, and a second kernel beside it needs a name of its own");
  const bool is_static = !whole_words(head, "static").empty();
  definition.replace(at, name.size(), to);
  const size_t first = definition.find_first_not_of(" \t\r\n");
  if (!is_static) definition.insert(first, "static ");
  return definition;
}

}  // namespace

Result<KernelBeside> kernel_beside(const Mep& mep, const ScanIndex& scan, const ScannedKernel& kernel,
                                   const OpenFile& file, const std::vector<TextLine>& old_lines,
                                   const std::vector<TextLine>& new_lines, const std::vector<Hunk>& hunks,
                                   const std::string& comment) {
  const std::string name = unqualified_name(mep.kernel_name);
  const SourceRange& where = kernel.definition;
  if (kernel.is_template || mep.kernel_name.find('<') != std::string::npos)
    return refused("'" + mep.kernel_name + "' is a template, beside which no second one can be launched yet");
  if (kernel.through_macro) return refused("a macro writes the definition of '" + name + "'");
  for (auto& other : scan.kernels)
    if (other.id != kernel.id && unqualified_name(other.name) == name)
      return refused("there are several kernels of the name '" + name + "', between which a launch cannot choose");
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

  KernelBeside beside;
  // The new lines of the definition are those between the other hunks' new lines.
  size_t new_begin = begin, new_end = end;
  for (auto& hunk : hunks) {
    const size_t before = hunk.old_end - hunk.old_begin, after = hunk.new_end - hunk.new_begin;
    const bool in_front = hunk.old_end <= begin, behind = hunk.old_begin >= end;
    if (in_front || behind) {
      if (before != 0)
        return refused("the candidate changes '" + std::string(old_lines[hunk.old_begin].text) +
                       "' outside of the kernel, which the original beside it uses too");
      beside.added.push_back(hunk);
    } else if (hunk.old_begin < begin || hunk.old_end > end) {
      return refused("the candidate changes lines in and around the kernel together");
    }
    if (in_front) new_begin += after;
    if (!behind) new_end = new_end + after - before;
  }
  std::string definition, newline(file.newline());
  for (size_t line = new_begin; line < new_end; ++line)
    definition += (line > new_begin ? newline : "") + std::string(new_lines[line].text);

  beside.name = name + "_tuned";
  for (int number = 2; !whole_words(file.text, beside.name).empty(); ++number)
    beside.name = name + "_tuned" + std::to_string(number);
  KERNELIFT_ASSIGN(std::string tuned, renamed(definition, name, beside.name));
  KERNELIFT_ASSIGN(std::string copy,
                   renamed(file.text.substr(where.begin, where.end - where.begin), name, beside.name));
  const std::string head = newline + newline + "// " + comment + newline;
  beside.at = where.end, beside.text = head + tuned, beside.copied = head + copy;
  return beside;
}

}  // namespace kernelift::reintegrate
