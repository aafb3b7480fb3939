// The only code that writes the application's files. A lock allows one patch at a time. Before the first write the
// originals are saved and a journal names every file with the hashes of both versions, so that however this process
// ends, the next one knows what to restore. A file that is neither the original nor the patched version was edited by
// the user: it is left alone and named. The journal also says whose programs the tree may hold: restored sources alone
// do not make the original run again.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/locks/lock.h"
#include "core/base/result.h"
#include "reintegrate/patch/source_patch.h"
#include "reintegrate/tree/git_trees.h"

namespace kernelift::reintegrate {

/// How the application is built, so that a later process can build the original again.
struct AppBuild {
  std::string command = {};  ///< A shell line; empty: not known.
  std::filesystem::path folder = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::filesystem::path> roots = {}, without = {};  ///< For list_files(): where the build writes.
};

/// Whose programs the tree may hold while a patch is tried.
enum class Programs {
  Original,  ///< The original's: nothing was built with the patch yet.
  Swapped,   ///< Of both builds, all of which are saved; sources and link inputs are the original's.
  Unknown,   ///< Anything that a build with the patch may have left.
};

/// Programs that may still be those of a patch whose sources were restored.
struct ProgramDebt {
  AppBuild build;
  Programs programs = Programs::Unknown;
  std::filesystem::path folder;              ///< The patch's folder; its products/ may hold both builds.
  int64_t since = 0, since_nanoseconds = 0;  ///< When the patch was written: later products may be its.
};

/// The result of restoring files.
struct Restoration {
  bool needed = false;                   ///< There was an unfinished patch.
  bool kept = false;                     ///< The patch had been committed already and stays.
  std::vector<std::string> restored;     ///< Files that hold their original text again.
  std::vector<std::string> left;         ///< Files that were changed since, each with the path of the saved original.
  std::filesystem::path folder = {};     ///< From undo_last(): the folder of the undone patch, with its report.
  std::vector<std::string> ended = {};   ///< Programs of the interrupted patch that were still running and were ended.
  std::optional<ProgramDebt> debt = {};  ///< The programs are still to be restored; then PatchJournal::settle().
  std::string programs = {};             ///< What was done about them, in a sentence; empty: nothing had to be.
  bool programs_restored = true;         ///< What runs is the original.
  std::vector<std::string> strays = {};  ///< Products that the patched build made and the original's did not.
};

class PatchJournal {
 public:
  /// Takes the lock of `state` and restores what an interrupted patch left behind. Refuses while another apply runs.
  static Result<PatchJournal> open(const std::filesystem::path& state, Restoration& leftovers);
  /// True if a patch is unfinished and no apply is running: open() would restore files.
  static bool interrupted(const std::filesystem::path& state);
  /// Refused while an apply is running: its patch may be in the sources or in the programs built from them.
  static Status check_not_running(const std::filesystem::path& state);
  PatchJournal(PatchJournal&&) noexcept;
  ~PatchJournal();  ///< Restores the originals if the patch is unfinished.

  /// The new numbered folder for this patch's originals, logs and report.
  const std::filesystem::path& folder() const { return folder_; }
  int number() const { return number_; }

  /// Refuses, by name, a file or folder that cannot be written.
  static Status check_writable(const SourcePatch& patch);
  /// "NAME=value" for the environment of all commands that are run for this patch: what an interruption leaves running
  /// is found by it.
  std::pair<std::string, std::string> mark() const;
  /// Saves the originals and writes the journal; no file of the user's is written yet.
  Status begin(const SourcePatch& patch, const AppBuild& build = {});
  /// From write_patched() on the journal says Unknown.
  Status note_programs(Programs programs);
  /// Checks that every file is still the original, then writes the patched texts. If one cannot be written, the others
  /// are restored and the journal ends; if that fails too, the journal stays, for the next open() to try again.
  Status write_patched();
  /// Refuses, by name, a file that has changed since write_patched().
  Status check_patched() const;
  /// Files that are not as write_patched() wrote them are copied to folder() and written again: for changes by a
  /// program that was run for the patch. The names of the copies.
  Result<std::vector<std::string>> write_patched_again();
  /// Restores the originals of files that still hold the patched text; with `stamps`, also their times of last change.
  /// Files that the patch created stay until finish(): a build that recorded them as dependencies must run once more
  /// before they go.
  Result<Restoration> write_originals(bool stamps);
  /// Records the commits, of all repositories that the patch changes, before git's references move. After an
  /// interruption beyond this point the next open() completes all of them instead of restoring the originals. Without
  /// commits: there is none any more.
  Status note_commits(const std::string& branch, const std::vector<PatchCommit>& commits);
  /// Ends the journal. With `kept` it is moved to folder(), beside the originals, so that the patch can be undone
  /// later.
  Status finish(bool kept);
  /// Leaves the journal as it is, after the sources were restored and not the programs: for the next open().
  void leave_debt() { open_ = false; }
  /// Makes the restored sources newer than everything that was built, if that is not done yet.
  void touch_unsettled() const {
    if (unsettled_) unsettled_->touch_all();
  }
  /// Ends the journal of the interrupted patch, after its Restoration::debt was paid.
  Status settle();
  /// Restores the originals of the last patch that was kept without git.
  Result<Restoration> undo_last();

 private:
  struct Entry {
    std::filesystem::path path, original, patched;  ///< The application's file; both its versions under folder().
    std::string before, after;                      ///< Hashes of the original and the patched text.
    int64_t seconds = 0, nanoseconds = 0;           ///< The original's time of last change.
    bool created = false;                           ///< The patch creates the file.
  };
  PatchJournal() = default;
  Status save() const;
  Status check_originals() const;
  Result<Restoration> restore(bool stamps);
  /// Makes the files newer than everything that was built, so that every build system compiles them again.
  void touch_all() const;
  void remove_temporaries() const;
  void remove_created() const;
  ProgramDebt debt() const;
  Status load(const std::filesystem::path& file);
  Result<Restoration> recover();
  /// Moves git's references to the commits. Where the user has checked out something else since, HEAD stays there, the
  /// branch gets the commit, and the result says so.
  Result<Restoration> finish_commits() const;

  std::filesystem::path state_, folder_;
  std::optional<Lock> lock_;
  int number_ = 0;
  bool open_ = false;  ///< The journal file exists.
  std::vector<Entry> entries_;
  std::string branch_;
  std::vector<PatchCommit> commits_;
  AppBuild build_;
  Programs programs_ = Programs::Original;
  int64_t since_ = 0, since_nanoseconds_ = 0;
  std::string mark_;                         ///< The value of the variable that marks this patch's processes.
  std::unique_ptr<PatchJournal> unsettled_;  ///< The interrupted one, until settle().
};

}  // namespace kernelift::reintegrate
