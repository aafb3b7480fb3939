// Of several changes together, the kernels count as one whose share is the sum of theirs.
#include "reintegrate/kernel_change.h"

#include <algorithm>
#include <regex>

#include "reintegrate/evidence.h"
#include "reintegrate/flags/build_line.h"

namespace kernelift::reintegrate {

Prediction predicted_together(const std::vector<const KernelChange*>& changes) {
  if (changes.size() == 1) return changes[0]->predicted;
  double before = 0, after = 0;
  for (auto* change : changes) {
    const Prediction& one = change->predicted;
    if (!one.whole()) return {};
    before += one.kernel_share;
    after += one.kernel_share / equivalent_gain(one.kernel_gain, one.kernel_share, one.others);
  }
  return {before / after, std::min(before, 1.0)};
}

FlagWatch watch_flags(const std::filesystem::path& state, const std::vector<const KernelChange*>& changes) {
  FlagWatch watch(state / "compile_commands.json");
  for (auto* change : changes) {
    const UnitFlags& flags = change->candidate.recipe.unit_flags;
    if (change->embedded) continue;
    for (auto& knob : change->mep.knobs) {
      auto value = change->candidate.values.find(knob.name);
      if (!knob.value_range.file.empty() || value == change->candidate.values.end() || value->second == knob.value)
        continue;
      if (auto before = defined_by(change->mep.compile_command, knob.name))
        watch.expect({knob.name, *before, std::to_string(value->second)});
    }
    if (flags.is_default()) continue;
    if (auto unit = CompiledUnit::of(change->mep); unit.ok()) watch.expect(unit->unit, flags.nvcc_words());
  }
  return watch;
}

CommittedKernel committed_kernel(const KernelChange& change, const SourcePatch& step, bool guards) {
  CommittedKernel tuned{change.mep.kernel_name, change.candidate.steps, {}};
  if (step.embeds()) tuned.knowledge.push_back(step.notes[0]);
  // The lines are those of the MEP's text, which readers of the commit do not have.
  static const std::regex line(" (in line |at kernel\\.cu:)[0-9]+");
  for (auto& note : evidence_notes(change.known_figures(), guards))
    tuned.knowledge.push_back(std::regex_replace(note, line, ""));
  return tuned;
}

std::vector<std::pair<std::string, std::string>> trailers_of(const KernelChange& change,
                                                             const std::string& certificate) {
  std::vector<std::pair<std::string, std::string>> trailers;
  if (!change.run_file.empty())
    trailers.emplace_back("Kernelift-Run", change.run_file + " #" + std::to_string(change.candidate_id));
  if (!change.candidate.proposer.empty()) trailers.emplace_back("Kernelift-Proposer", change.candidate.proposer);
  if (change.figures) trailers.emplace_back("Kernelift-Certificate", certificate);
  return trailers;
}

}  // namespace kernelift::reintegrate
