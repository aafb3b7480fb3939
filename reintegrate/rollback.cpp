// Which programs are the original's is known by content where both builds had been saved, else by time: what was built
// after the patch was written and not again after the originals were restored is not the original's.
#include "reintegrate/rollback.h"

#include <algorithm>

#include "core/base/file.h"
#include "core/base/locks/abandoned_folders.h"
#include "core/base/words.h"
#include "reintegrate/app_commands.h"
#include "reintegrate/apply_report.h"
#include "reintegrate/interruption.h"
#include "reintegrate/tree/build_products.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

std::string names(const std::vector<std::string>& list) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < list.size() && i < kShown; ++i) text += (i ? ", " : "") + list[i];
  if (list.size() > kShown) text += " and " + std::to_string(list.size() - kShown) + " more";
  return text;
}

std::vector<std::string> strings(const std::vector<fs::path>& paths) {
  std::vector<std::string> list;
  for (auto& path : paths) list.push_back(path.string());
  return list;
}

/// Pays a ProgramDebt.
class ProgramRestoration {
 public:
  ProgramRestoration(const ProgramDebt& debt, PatchJournal& journal, Restoration& result, const TellProgress& progress)
      : debt_(debt), journal_(journal), result_(result), progress_(progress), products_(debt.folder / "products") {}

  Status run() {
    saved_ = products_.load().ok();
    if (debt_.programs == Programs::Swapped && saved_ && put_back()) return done();
    return build();
  }

 private:
  /// Enough if nobody has built anything since: then objects and sources are the original's already.
  bool put_back() {
    auto before = products_.against_files();
    if (!before.other.empty() || !products_.put_back().ok() || !products_.against_files().original()) return false;
    tell(true, "The programs are the original's, byte for byte as they were built before (" +
                   counted(products_.count(), "file") + ", of which " + std::to_string(before.after.size()) +
                   " held the patched build until now).");
    return true;
  }

  Status build() {
    const AppBuild& how = debt_.build;
    const std::string command = "`" + how.command + "` in " + how.folder.string();
    if (progress_) progress_("building the original again: " + how.command);
    auto environment = how.environment;
    environment.push_back(journal_.mark());
    if (debt_.programs == Programs::Swapped) journal_.touch_unsettled();
    auto unrestored = list_files(how.roots, how.without);
    auto built = AppCommands(how.folder, environment, debt_.folder).run("build-recovered", how.command);
    if (InterruptGuard::interrupted()) {
      products_.leave();
      return Error{"interrupted while the original was being built again; `kernelift apply --rollback` goes on",
                   Exit::Interrupted};
    }
    if (!built.ok() || !built->ok) return failed(command, built.ok() ? built->why : built.error().message);
    find_strays(unrestored);
    if (!saved_) {
      // Nothing tells whether these are the original's: perhaps the build does not go by the times of files.
      const auto& left = result_.strays;
      if (left.empty()) tell(true, "The original was built again, by " + command + ".");
      else
        tell(false, command +
                        " was run for the original, but did not write again what was built while the patch was in: " +
                        names(left) + ". Remove it, or clean, and build again.");
      return done();
    }
    auto now = products_.against_files();
    // What this build considered up to date although the patch was in it.
    const bool stale = !now.after.empty();
    if (stale && (!products_.put_back().ok() || !products_.against_files().after.empty())) {
      tell(false, command + " left " + names(strings(now.after)) +
                      " as the patch had built it, and it could not be put back: clean and build again.");
      return done();
    }
    std::string text = "The original was built again, by " + command;
    if (stale) text += "; it left alone " + names(strings(now.after)) + ", put back from before the patch";
    else if (now.original()) text += "; what it made is byte for byte what was there before the patch";
    tell(true, text + ".");
    return done();
  }

  Status failed(const std::string& command, const std::string& why) {
    std::string advice = " failed: " + why +
                         ". Run it yourself once it works: the restored sources are newer than all "
                         "that was built from the patch.";
    if (saved_ && products_.put_back().ok() && products_.against_files().after.empty())
      tell(true, "The programs are the original's, put back as they were before the patch; building them again by " +
                     command + advice);
    else tell(false, "The programs may still be those of the patch, because " + command + advice);
    return done();
  }

  /// Built while the patch was in, and not again since. Not removed: they may be the application's own output.
  void find_strays(const Result<Listing>& before) {
    auto after = list_files(debt_.build.roots, debt_.build.without);
    if (!before.ok() || !after.ok()) return;
    for (auto& [path, stamp] : *after) {
      auto old = before->find(path);
      bool since =
          stamp.seconds > debt_.since || (stamp.seconds == debt_.since && stamp.nanoseconds >= debt_.since_nanoseconds);
      if (since && old != before->end() && old->second == stamp && is_built(path))
        result_.strays.push_back(path.string());
    }
  }

  void tell(bool restored, std::string text) {
    result_.programs_restored = restored;
    result_.programs = std::move(text);
  }

  const ProgramDebt& debt_;
  PatchJournal& journal_;
  Restoration& result_;
  const TellProgress& progress_;
  BuildProducts products_;
  bool saved_ = false;  ///< Both builds' products are known.
};

}  // namespace

Result<PatchJournal> open_restored(const fs::path& state, Restoration& leftovers, const TellProgress& progress) {
  KERNELIFT_ASSIGN(PatchJournal journal, PatchJournal::open(state, leftovers));
  if (leftovers.debt) {
    KERNELIFT_TRY(ProgramRestoration(*leftovers.debt, journal, leftovers, progress).run());
    KERNELIFT_TRY(journal.settle());
  }
  return journal;
}

Result<Restoration> roll_back_interrupted(const fs::path& state, const TellProgress& progress) {
  InterruptGuard guard;
  std::error_code code;
  if (fs::path temporary = fs::temp_directory_path(code); !code) sweep_abandoned_folders(temporary);
  Restoration leftovers;
  KERNELIFT_ASSIGN(PatchJournal journal, open_restored(state, leftovers, progress));
  return leftovers;
}

std::vector<std::string> restoration_notes(const Restoration& leftovers) {
  std::vector<std::string> notes;
  const bool undone = !leftovers.folder.empty();  // A patch that had been kept, and not an interrupted one.
  if (leftovers.needed && !undone)
    notes.push_back(leftovers.kept ? "An earlier apply had been interrupted after its commit; it was completed."
                                   : "An earlier apply had been interrupted; its files were restored first.");
  if (!leftovers.ended.empty())
    notes.push_back("Processes of that apply were still running and were ended: " + names(leftovers.ended) + ".");
  if (!leftovers.programs.empty()) notes.push_back(leftovers.programs);
  if (!leftovers.strays.empty() && leftovers.programs_restored)
    notes.push_back("Built while the patch was in, and not by the original's build: " + names(leftovers.strays) +
                    ". Remove what you do not know.");
  for (auto& file : leftovers.left)
    notes.push_back(std::string("Left alone, because it was changed since ") +
                    (undone ? "it was patched: " : "that interruption: ") + file);
  std::error_code code;
  if (const fs::path diff = leftovers.folder / "patch.diff";
      undone && !leftovers.left.empty() && fs::exists(diff, code))
    notes.push_back("The patch alone is taken out of it by: patch -R -p1 < " + diff.string());
  return notes;
}

Result<Restoration> undo_last(const fs::path& state, const TellProgress& progress) {
  InterruptGuard guard;
  Restoration leftovers;
  KERNELIFT_ASSIGN(PatchJournal journal, open_restored(state, leftovers, progress));
  KERNELIFT_ASSIGN(Restoration undone_now, journal.undo_last());
  if (undone_now.debt) KERNELIFT_TRY(ProgramRestoration(*undone_now.debt, journal, undone_now, progress).run());
  fs::path file = undone_now.folder / "report.json";
  // A missing report needs no correction; one that cannot be rewritten still has the date on which it was true.
  if (auto report = read_json(file); undone_now.left.empty() && report.ok() && report->is_object())
    (void)write_json(file, undone(*report));
  return undone_now;
}

}  // namespace kernelift::reintegrate
