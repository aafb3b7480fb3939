// The only code that writes the application's files. A lock allows one patch at a time. Before the first write the
// originals are saved and a journal names every file with the hashes of both versions, so that however this process
// ends, the next one knows what to restore. A file that is neither the original nor the patched version was edited by
// the user: it is left alone and named.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "reintegrate/patch/source_patch.h"

namespace kernelift::reintegrate {

/// The result of restoring files.
struct Restoration {
  bool needed = false;                ///< There was an unfinished patch.
  bool kept = false;                  ///< The patch had been committed already and stays.
  std::vector<std::string> restored;  ///< Files that hold their original text again.
  std::vector<std::string> left;      ///< Files that were changed since, each with the path of the saved original.
  std::filesystem::path folder = {};  ///< From undo_last(): the folder of the undone patch, with its report.
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
  /// Saves the originals and writes the journal; no file of the user's is written yet.
  Status begin(const SourcePatch& patch);
  /// Checks that every file is still the original, then writes the patched texts. If one cannot be written, the others
  /// are restored and the journal ends; if that fails too, the journal stays, for the next open() to try again.
  Status write_patched();
  /// Refuses, by name, a file that has changed since write_patched().
  Status check_patched() const;
  /// Restores the originals of files that still hold the patched text; with `stamps`, also their times of last change.
  /// Files that the patch created stay until finish(): a build that recorded them as dependencies must run once more
  /// before they go.
  Result<Restoration> write_originals(bool stamps);
  /// Records the commit before git's references move from `previous`. After an interruption beyond this point the next
  /// open() completes the commit instead of restoring the originals.
  Status note_commit(const std::string& top, const std::string& branch, const std::string& commit,
                     const std::string& previous);
  /// Ends the journal. With `kept` it is moved to folder(), beside the originals, so that the patch can be undone
  /// later.
  Status finish(bool kept);
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
  void remove_created() const;
  Status load(const std::filesystem::path& file);
  static Result<Restoration> recover(const std::filesystem::path& state);
  /// Moves git's references to the commit. If the user has checked out something else since, HEAD stays there, the
  /// branch gets the commit, and the result says so.
  Result<Restoration> finish_commit() const;

  std::filesystem::path state_, folder_;
  int lock_ = -1, number_ = 0;
  bool open_ = false;  ///< The journal file exists.
  std::vector<Entry> entries_;
  std::string top_, branch_, commit_, previous_;
};

}  // namespace kernelift::reintegrate
