// Undoes a patch that an earlier process left unfinished, or that was kept without git: in the sources, which is the
// journal's work, and in the programs, so that what runs afterwards is the original.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "reintegrate/tree/patch_journal.h"

namespace kernelift::reintegrate {

using TellProgress = std::function<void(const std::string&)>;

/// PatchJournal::open(), and the programs too: the saved ones of the original are put back where they are all that is
/// missing, else the application's own build command is run. An Error only if that was interrupted; a build that fails
/// is told in the Restoration. EXPECTS: an InterruptGuard exists.
Result<PatchJournal> open_restored(const std::filesystem::path& state, Restoration& leftovers,
                                   const TellProgress& progress = {});
/// The same without a new patch; `needed` is false when nothing had been interrupted.
Result<Restoration> roll_back_interrupted(const std::filesystem::path& state, const TellProgress& progress = {});
/// What the user should know about the restoration, one sentence each; empty when nothing had to be restored.
std::vector<std::string> restoration_notes(const Restoration& leftovers);
/// Restores the originals of the last patch that was kept without git, builds them, and marks its report as undone.
/// Files that were changed since are left alone and named.
Result<Restoration> undo_last(const std::filesystem::path& state, const TellProgress& progress = {});

}  // namespace kernelift::reintegrate
