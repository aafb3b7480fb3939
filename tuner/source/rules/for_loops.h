// Counted loops that are written with while and do: `int i = a; … while (i < n) { …; i += s; }`. Rules know counted
// loops by their for statements.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {

/// The text with the kernel's counted loops as for loops, `for (int i = a; i < n; i += s) { … }`; nullopt: they are, or
/// have another form. A do loop is one behind its own condition, `if (i < n) do { … } while (i < n);`.
std::optional<std::string> with_for_loops(const KernelSource& source, const std::string& kernel);

/// The text in the form that rules know best: the kernel's statements on lines of their own (own_lines.h), its counted
/// loops as for loops.
struct UsualForm {
  using Parse = std::function<Result<KernelSource>(const std::string& text)>;

  KernelSource source;
  bool loops = false;  ///< Some are other loops in the original text.
  /// nullopt: the text is in that form, or does not parse in it.
  static std::optional<UsualForm> of(const KernelSource& source, const std::string& kernel, const Parse& parse);
  /// What the rule finds in this form and not in the text as it is, where it has `found` something. A form without
  /// other loops is for rules that have found nothing: patches contain no needless changes.
  std::vector<Opportunity> further(const Rule& rule, const RuleContext& facts,
                                   const std::vector<Opportunity>& found) const;
};

}  // namespace kernelift::tuner
