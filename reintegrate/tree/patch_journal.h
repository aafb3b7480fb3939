// The only writer of the application's files. One patch at a time, under a lock; before the first byte is written the
// originals are saved and a journal names every file with the hashes of both versions, so that whatever ends this
// process, the next one knows what to put back. A file that is neither the original nor the patched version any more
// belongs to the user: it is left alone and named.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "reintegrate/patch/source_patch.h"

namespace kernelift {

/// What putting things back did.
struct Restoration {
  bool needed = false;                ///< There was an unfinished patch.
  bool kept = false;                  ///< It had been committed already; the patch stays.
  std::vector<std::string> restored;  ///< Files that hold their original text again.
  std::vector<std::string> left;      ///< Files that somebody else has changed since, with where the original is.
  std::filesystem::path folder = {};  ///< Of undo_last(): the patch's, with its report.
};

class PatchJournal {
 public:
  /// Takes the lock of `state` and puts back what an interrupted patch left behind. Refuses while another one works.
  static Result<PatchJournal> open(const std::filesystem::path& state, Restoration& leftovers);
  /// True where a patch is unfinished and nobody is at work on it: open() would put files back.
  static bool interrupted(const std::filesystem::path& state);
  /// Refused while an apply is at work: its patch may stand in the sources, or in what was built of them.
  static Status none_at_work(const std::filesystem::path& state);
  PatchJournal(PatchJournal&&) noexcept;
  ~PatchJournal();  ///< Puts back what is not finished.

  /// A fresh numbered folder for this patch's originals, logs and report.
  const std::filesystem::path& folder() const { return folder_; }
  int number() const { return number_; }

  /// Refuses, by name, a file or folder that cannot be written.
  static Status check_writable(const SourcePatch& patch);
  /// Saves the originals and writes the journal; still nothing of the user's is touched.
  Status begin(const SourcePatch& patch);
  /// Checks that every file still is the original, then writes the patched texts. All or none, and the journal ends;
  /// but where what was written could not be taken back, it stays, for the next open() to try again.
  Status write_patched();
  /// Refuses, by name, a file that is not as write_patched() left it.
  Status patches_stand() const;
  /// Puts the originals back where the patched text still stands. With `stamps`, also their times of last change. Files
  /// that the patch brought stay until finish(): a build that has noted them as dependencies must run once without
  /// them.
  Result<Restoration> write_originals(bool stamps);
  /// Noted before references move from `previous`, so that an interruption after it finishes forward.
  Status note_commit(const std::string& top, const std::string& branch, const std::string& commit,
                     const std::string& previous);
  /// The journal ends. With `kept` it is filed in folder(), beside the originals, so that the patch can be undone
  /// later.
  Status finish(bool kept);
  /// Puts back the originals of the last patch that was kept without git.
  Result<Restoration> undo_last();

 private:
  struct Entry {
    std::filesystem::path path, original, patched;  ///< The file; its two versions under folder().
    std::string before, after;                      ///< Hashes.
    int64_t seconds = 0, nanoseconds = 0;           ///< When the user last changed it.
    bool created = false;                           ///< The patch brings it.
  };
  PatchJournal() = default;
  Status save() const;
  Status originals_stand() const;
  Result<Restoration> restore(bool stamps);
  void remove_created() const;
  Status load(const std::filesystem::path& file);
  static Result<Restoration> recover(const std::filesystem::path& state);
  /// References move, unless the user has gone elsewhere since: then the branch has the commit, and that is said.
  Result<Restoration> finish_commit() const;

  std::filesystem::path state_, folder_;
  int lock_ = -1, number_ = 0;
  bool open_ = false;  ///< The journal file exists.
  std::vector<Entry> entries_;
  std::string top_, branch_, commit_, previous_;
};

}  // namespace kernelift
