// The change of one kernel, of which a patch has one or several: the candidate, where it comes from, what is known of
// it.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "core/model/verdict/verdict.h"
#include "reintegrate/apply_report.h"
#include "reintegrate/commit_message.h"
#include "reintegrate/embed/embedded_code.h"
#include "reintegrate/flags/flag_watch.h"
#include "reintegrate/patch/source_patch.h"

namespace kernelift::reintegrate {

struct KernelChange {
  Mep mep;
  std::string original;  ///< The MEP's kernel.cu.
  Candidate candidate;
  int64_t candidate_id = 0;              ///< The candidate's number in the run; 0: not known.
  std::string run_file = {};             ///< The run's name, without its folder; empty: not known.
  std::optional<EmbeddedCode> embedded;  ///< PTX to embed in a generated header instead of patching the source.
  std::optional<Expression> where = {};  ///< The launches for which it is chosen (shape_choice.h); absent: all.
  Prediction predicted;                  ///< From the run and the capture's profile.
  std::optional<Verdict> figures;      ///< Of the candidate, for notes, guards and the certificate; absent: not known.
  std::optional<SourcePatch> planned;  ///< Its patch, where that was planned before; absent: apply() plans it.
  Bindings constants = {};             ///< PatchQuestion::constants.

  Verdict known_figures() const { return figures ? *figures : Verdict(); }
};

/// What is predicted of all changes together; nothing if it is not known of one of them.
Prediction predicted_together(const std::vector<const KernelChange*>& changes);

/// For the build with these changes: where the flags that they give to files arrive. Reads the commands of before.
FlagWatch watch_flags(const std::filesystem::path& state, const std::vector<const KernelChange*>& changes);

/// What a commit message says of the change. `step`: its patch; `guards`: launches ask the premise of a proof.
CommittedKernel committed_kernel(const KernelChange& change, const SourcePatch& step, bool guards);
/// Where the change comes from, as git's trailers. `certificate`: its file; used if there are figures.
std::vector<std::pair<std::string, std::string>> trailers_of(const KernelChange& change,
                                                             const std::string& certificate);

}  // namespace kernelift::reintegrate
