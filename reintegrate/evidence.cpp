// See evidence.h.
#include "reintegrate/evidence.h"

#include <algorithm>

namespace kernelift::reintegrate {
namespace {

std::string proof_note(const OtherSizes& sizes, bool guarded) {
  const std::string what = std::string(": it uses memory as the original does") +
                           (sizes.same_values ? ", and computes the same values" : "") +
                           (sizes.assumptions.empty() ? "" : ", " + sizes.assumed()) +
                           (sizes.same_values ? "." : "; its values were compared where it was run.");
  switch (sizes.known) {
    case OtherSizes::Known::Proven: return "Proven at all sizes" + what;
    case OtherSizes::Known::UnderPremise:
      return "Proven where " + sizes.premise->text() + what +
             (guarded ? " The launch asks that; elsewhere the original launch runs."
                      : std::string(" Nothing asks that (--no-guards); elsewhere ") +
                            (sizes.wrong_elsewhere ? "it can be wrong: " : "nothing is known: ") + sizes.why + ".");
    default:
      return "It was judged at the recorded sizes. Of others nothing is proven: " + sizes.why + "." +
             (!sizes.premise ? ""
                             : " It can be wrong where " + sizes.premise->text() + " does not hold, " +
                                   (guarded ? "which the launch asks; there the original launch runs."
                                            : "and nothing asks that (--no-guards)."));
  }
}

std::string sizes_note(const std::optional<SizesRun>& run) {
  if (!run) return "It was run at the recorded sizes only.";
  if (run->right.empty() && run->unshown.empty()) return "It was " + run->text() + ".";
  return "Beside the original it was run at sizes that were not recorded: " + run->text() + ".";
}

}  // namespace

std::vector<std::string> evidence_notes(const Verdict& figures, bool guarded) {
  std::vector<std::string> notes;
  if (figures.tolerance > 0) notes.push_back("Its results were compared " + figures.tolerance_text() + ".");
  if (figures.further_inputs && *figures.further_inputs == 0)
    notes.push_back(std::string("With values that were not recorded it was ") + kNoFurtherInputs + ".");
  if (figures.other_sizes) notes.push_back(proof_note(*figures.other_sizes, guarded));
  notes.push_back(sizes_note(figures.sizes_run));
  if (auto* code = figures.untried_code())
    notes.push_back("No launch in check mode came to " + code->text() + ": nothing is known of what it does there.");
  if (auto& field = figures.field)
    notes.push_back(std::string("In exact arithmetic") +
                    (field->found == FieldEquality::Found::Equal ? " it computes " : ": ") + field->text() + ".");
  if (auto& sanitized = figures.sanitized)
    notes.push_back("On a recorded input, NVIDIA's compute-sanitizer: " + sanitized->text() + ".");
  return notes;
}

const OtherSizes* settled_sizes(const Candidate& candidate, const Verdict& figures) {
  if (!figures.ok() || !figures.other_sizes || !figures.other_sizes->same_values) return nullptr;
  const OtherSizes& sizes = *figures.other_sizes;
  if (!sizes.proven()) return nullptr;
  const bool in_words = std::ranges::any_of(candidate.steps, [](auto& step) {
    return std::ranges::any_of(step.premises, [](auto& one) { return one.kind == Premise::Kind::Words; });
  });
  return in_words ? nullptr : &sizes;
}

}  // namespace kernelift::reintegrate
