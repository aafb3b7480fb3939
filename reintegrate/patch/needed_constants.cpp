// See needed_constants.h.
#include "reintegrate/patch/needed_constants.h"

#include <algorithm>
#include <optional>

#include "core/compiler/written/source_tokens.h"
#include "reintegrate/patch/kernel_beside.h"

namespace kernelift::reintegrate {
namespace {

/// Index of the token behind the bracket that closes the one at `open`.
size_t behind_bracket(const std::vector<SourceToken>& tokens, size_t open) {
  int depth = 0;
  for (size_t at = open; at < tokens.size(); ++at) {
    if (tokens[at].is("(")) ++depth;
    if (tokens[at].is(")") && --depth == 0) return at + 1;
  }
  return tokens.size();
}

/// The offset behind the brace that opens the kernel's body.
std::optional<size_t> begin_of_body(const std::string& text, const std::string& name) {
  const auto tokens = source_tokens(text);
  for (size_t at = 0; at + 1 < tokens.size(); ++at) {
    if (!tokens[at].is(name) || !tokens[at + 1].is("(")) continue;
    const size_t behind = behind_bracket(tokens, at + 1);
    if (behind < tokens.size() && tokens[behind].is("{")) return tokens[behind].end;
  }
  return std::nullopt;
}

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
  const auto body = begin_of_body(text, name);
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
