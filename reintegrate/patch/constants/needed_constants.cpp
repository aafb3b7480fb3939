// See needed_constants.h.
#include "reintegrate/patch/constants/needed_constants.h"

#include <algorithm>
#include <optional>

#include "reintegrate/patch/constants/kernel_text.h"
#include "reintegrate/patch/kernel_beside.h"

namespace kernelift::reintegrate {
namespace {

/// Whether the kernel's text can name the constant.
Result<bool> is_visible(const std::string& constant, const PatchQuestion& question, const KernelFamily& family,
                        PatchDraft& draft) {
  const auto own = std::ranges::find(question.mep.knobs, constant, &Knob::name);
  if (own != question.mep.knobs.end() && own->in_kernel) return true;
  if (!question.scan || !family.kernel()) return false;
  const SourceRange& definition = family.kernel()->definition;
  for (auto& knob : question.scan->knobs) {
    const SourceRange& where = knob.value_range;
    if (knob.name != constant || !knob.is_macro || where.file.empty()) continue;
    if (where.file == definition.file && where.begin < definition.begin) return true;
    if (where.file == definition.file || draft.is_outside(where.file)) continue;
    KERNELIFT_ASSIGN(OpenFile * file, draft.open(definition.file));
    KERNELIFT_ASSIGN(OpenFile * defining, draft.open(where.file));
    const auto included = draft.included_from(*file);
    if (std::ranges::find(included, defining) != included.end()) return true;
  }
  return false;
}

}  // namespace

Result<std::string> with_needed_constants(std::string text, const PatchQuestion& question, const KernelFamily& family,
                                          PatchDraft& draft) {
  if (question.constants.empty()) return text;
  const std::string name = own_name(question.mep.kernel_name);
  const auto kernel = kernel_text(text, name);
  const auto body = kernel ? std::optional(kernel->body) : std::nullopt;
  // Its kernel serves others, too.
  const bool of_lambda =
      std::ranges::any_of(question.mep.functions, [&](auto& one) { return family.is_own_lambda(one); });
  std::string stated, hidden;
  for (auto& [constant, value] : question.constants) {
    const std::string number = std::to_string(value);
    bool visible = false;
    if (body && !of_lambda) {
      KERNELIFT_ASSIGN(visible, is_visible(constant, question, family, draft));
    }
    if (visible) {
      const size_t line = text.find_first_not_of(" \t\r\n", *body);
      const size_t end = text.find('\n', *body);
      const bool alone = end != text.npos && line != text.npos && line > end;
      // As deep as what is behind it.
      const size_t begin = alone ? text.rfind('\n', line) + 1 : 0;
      stated += (alone ? "\n" + text.substr(begin, line - begin) : " ") + "static_assert(" + constant +
                " == " + number + ", \"this text of " + name + " was judged for " + constant + " = " + number +
                " alone\");";
      draft.notes.push_back("It was judged for " + constant + " = " + number +
                            ", and nothing is known of it with another value: then it does not compile, and says so.");
    } else {
      hidden += (hidden.empty() ? "" : ", ") + constant + " = " + number;
    }
  }
  if (!hidden.empty())
    draft.notes.push_back("It was judged for " + hidden + ", and nothing asks that: its kernel cannot name " +
                          (hidden.find(',') == hidden.npos ? "that." : "them."));
  if (body) text.insert(*body, stated);
  return text;
}

}  // namespace kernelift::reintegrate
