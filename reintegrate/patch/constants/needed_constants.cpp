// See needed_constants.h.
#include "reintegrate/patch/constants/needed_constants.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/model/knob/knob_text.h"
#include "reintegrate/patch/constants/kernel_text.h"
#include "reintegrate/patch/kernel_beside.h"

namespace kernelift::reintegrate {
namespace {

/// Whether the kernel's text can name the constant, which is a knob of the scan.
Result<bool> is_in_front(const Knob& knob, const SourceRange& definition, PatchDraft& draft) {
  const SourceRange& where = knob.value_range;
  if (where.file.empty()) return knob.is_macro;  // Of the command line.
  if (where.file == definition.file) return where.begin < definition.begin;
  if (draft.is_outside(where.file)) return false;
  KERNELIFT_ASSIGN(OpenFile * file, draft.open(definition.file));
  KERNELIFT_ASSIGN(OpenFile * defining, draft.open(where.file));
  const auto included = draft.included_from(*file);
  return std::ranges::find(included, defining) != included.end();
}

/// Where the kernel's text can ask for the constant: behind the brace that opens its body, or, of a variable of its
/// own, behind that one's declaration; nullopt: it cannot name it.
Result<std::optional<size_t>> place_to_ask(const std::string& constant, int64_t value, const std::string& text,
                                           const KernelText& kernel, const PatchQuestion& question,
                                           const KernelFamily& family, PatchDraft& draft) {
  const auto own = std::ranges::find(question.mep.knobs, constant, &Knob::name);
  if (own != question.mep.knobs.end() && own->in_kernel) {
    if (!own->is_local) return std::optional(kernel.body);
    const auto defined = find_knob(text, constant, value);
    const size_t end = defined ? text.find(';', defined->end) : text.npos;
    const bool inside = defined && defined->begin > kernel.body && end < kernel.end;
    return inside ? std::optional(end + 1) : std::nullopt;
  }
  if (!question.scan || !family.kernel()) return std::optional<size_t>();
  for (auto& knob : question.scan->knobs) {
    if (knob.name != constant || knob.is_local) continue;
    KERNELIFT_ASSIGN(bool visible, is_in_front(knob, family.kernel()->definition, draft));
    if (visible) return std::optional(kernel.body);
  }
  return std::optional<size_t>();
}

}  // namespace

Result<std::string> with_needed_constants(std::string text, const PatchQuestion& question, const KernelFamily& family,
                                          PatchDraft& draft) {
  if (question.constants.empty()) return text;
  const std::string name = own_name(question.mep.kernel_name);
  const auto kernel = kernel_text(text, name);
  // Its kernel serves others, too.
  const bool of_lambda =
      std::ranges::any_of(question.mep.functions, [&](auto& one) { return family.is_own_lambda(one); });
  std::string hidden;
  std::map<size_t, std::string> stated;  // By where it is put.
  for (auto& [constant, value] : question.constants) {
    const std::string number = std::to_string(value);
    std::optional<size_t> place;
    if (kernel && !of_lambda) {
      KERNELIFT_ASSIGN(place, place_to_ask(constant, value, text, *kernel, question, family, draft));
    }
    if (place) {
      const size_t line = text.find_first_not_of(" \t\r\n", *place);
      const size_t end = text.find('\n', *place);
      const bool alone = end != text.npos && line != text.npos && line > end;
      // As deep as what is behind it.
      const size_t begin = alone ? text.rfind('\n', line) + 1 : 0;
      stated[*place] += (alone ? "\n" + text.substr(begin, line - begin) : " ") + "static_assert(" + constant +
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
  for (auto one = stated.rbegin(); one != stated.rend(); ++one) text.insert(one->first, one->second);
  return text;
}

}  // namespace kernelift::reintegrate
