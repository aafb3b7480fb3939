// Layout under the state folder: apply/lock, apply/journal.json (exists only while a patch is unfinished), and
// apply/<n>/ with original-<k>, patched-<k>, patch.diff and logs. Files are replaced by rename, so that a reader sees
// one version or the other, and keep their permissions. A patched file gets a new time stamp: otherwise the
// application's build would not notice the change.
#include "reintegrate/tree/patch_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "reintegrate/tree/git_tree.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

constexpr const char* kFormat = "kernelift-apply-journal";
constexpr int kVersion = 1;

void set_time(const fs::path& path, int64_t seconds, int64_t nanoseconds) {
  timespec times[2] = {{0, UTIME_OMIT}, {static_cast<time_t>(seconds), static_cast<long>(nanoseconds)}};
  utimensat(AT_FDCWD, path.c_str(), times, 0);
}

Error already_running(const fs::path& lock) {
  return refused("another `kernelift apply` is running on this application (" + lock.string() +
                 " is locked): wait for it to end");
}

}  // namespace

PatchJournal::PatchJournal(PatchJournal&& other) noexcept
    : state_(std::move(other.state_)),
      folder_(std::move(other.folder_)),
      lock_(std::exchange(other.lock_, -1)),
      number_(other.number_),
      open_(std::exchange(other.open_, false)),
      entries_(std::move(other.entries_)),
      top_(std::move(other.top_)),
      branch_(std::move(other.branch_)),
      commit_(std::move(other.commit_)),
      previous_(std::move(other.previous_)) {}

PatchJournal::~PatchJournal() {
  // A recorded commit is completed by the next open(); anything else is restored now.
  if (open_ && commit_.empty())
    if (auto restored = restore(false); restored.ok() && restored->left.empty()) (void)finish(false);
  if (lock_ >= 0) {
    rmdir(folder_.c_str());  // Succeeds only if the folder is empty.
    close(lock_);
  }
}

Result<PatchJournal> PatchJournal::open(const fs::path& state, Restoration& leftovers) {
  PatchJournal journal;
  KERNELIFT_TRY(create_state_folder(state));
  journal.state_ = state / "apply";
  std::error_code code;
  fs::create_directories(journal.state_, code);
  fs::path lock = journal.state_ / "lock";
  journal.lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (journal.lock_ < 0) return file_error("write", lock);
  if (flock(journal.lock_, LOCK_EX | LOCK_NB) != 0) return already_running(lock);
  KERNELIFT_ASSIGN(leftovers, recover(journal.state_));
  for (int n = 1;; ++n) {
    journal.folder_ = journal.state_ / std::to_string(n);
    journal.number_ = n;
    if (mkdir(journal.folder_.c_str(), 0755) == 0) break;
    if (errno != EEXIST) return file_error("create", journal.folder_);
  }
  return journal;
}

bool PatchJournal::interrupted(const fs::path& state) {
  std::error_code code;
  return fs::exists(state / "apply" / "journal.json", code) && check_not_running(state).ok();
}

Status PatchJournal::check_not_running(const fs::path& state) {
  fs::path lock = state / "apply" / "lock";
  int file = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
  bool held = file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0;
  if (file >= 0) close(file);
  return held ? already_running(lock) : done();
}

Status PatchJournal::check_writable(const SourcePatch& patch) {
  for (auto& change : patch.changes) {
    struct stat info{};
    if (change.created) {
      if (lstat(change.path.c_str(), &info) == 0)
        return refused(change.path.string() + " already exists: the patch would create a file of that name");
      info.st_mode = 0222;
    } else if (stat(change.path.c_str(), &info) != 0) {
      return file_error("read", change.path);
    }
    bool read_only = !change.created && ((info.st_mode & 0222) == 0 || access(change.path.c_str(), W_OK) != 0);
    if (read_only)
      return refused(change.path.string() + " is read-only: make it writable (chmod u+w) to have it patched");
    fs::path folder = change.path.parent_path();
    if (stat(folder.c_str(), &info) != 0) return file_error("read", folder);
    if ((info.st_mode & 0222) == 0 || access(folder.c_str(), W_OK) != 0)
      return refused(folder.string() + " is read-only: " + change.name + " cannot be patched in it");
  }
  return done();
}

Status PatchJournal::begin(const SourcePatch& patch) {
  entries_.clear();
  for (auto& change : patch.changes) {
    std::string k = std::to_string(entries_.size());
    Entry entry{change.path, folder_ / ("original-" + k), folder_ / ("patched-" + k), hash_text(change.before).hex(),
                hash_text(change.after).hex()};
    struct stat info{};
    entry.created = change.created;
    if (!entry.created && stat(change.path.c_str(), &info) != 0) return file_error("read", change.path);
    entry.seconds = info.st_mtim.tv_sec, entry.nanoseconds = info.st_mtim.tv_nsec;
    KERNELIFT_TRY(write_atomically(entry.original, change.before));
    KERNELIFT_TRY(write_atomically(entry.patched, change.after));
    entries_.push_back(entry);
  }
  KERNELIFT_TRY(write_atomically(folder_ / "patch.diff", patch.diff()));
  KERNELIFT_TRY(save());
  open_ = true;
  return done();
}

Status PatchJournal::save() const {
  Json document = artefact(kFormat, kVersion, 1), files = Json::array();
  for (auto& entry : entries_)
    files.push_back({{"path", entry.path.string()},
                     {"original", entry.original.string()},
                     {"patched", entry.patched.string()},
                     {"before", entry.before},
                     {"after", entry.after},
                     {"seconds", entry.seconds},
                     {"nanoseconds", entry.nanoseconds},
                     {"created", entry.created}});
  document["files"] = files;
  document["git"] = {{"top", top_}, {"branch", branch_}, {"commit", commit_}, {"previous", previous_}};
  return write_json(state_ / "journal.json", document);
}

Status PatchJournal::check_originals() const {
  std::error_code code;
  for (auto& entry : entries_) {
    if (entry.created && !fs::exists(entry.path, code)) continue;
    KERNELIFT_ASSIGN(std::string now, read_text(entry.path));
    if (hash_text(now).hex() != (entry.created ? entry.after : entry.before))
      return refused(
          entry.path.string() +
          " was changed while `kernelift apply` was running; nothing was written: run it again once the file "
          "is as it was when it was scanned");
  }
  return done();
}

Status PatchJournal::check_patched() const {
  for (auto& entry : entries_) {
    auto now = read_text(entry.path);
    if (!now.ok() || hash_text(*now).hex() != entry.after)
      return refused(entry.path.string() +
                     " was changed while the patched application was built and checked for the last time");
  }
  return done();
}

Status PatchJournal::write_patched() {
  if (Status same = check_originals(); !same.ok()) {
    KERNELIFT_TRY(finish(false));
    return same;
  }
  for (auto& entry : entries_) {
    KERNELIFT_ASSIGN(std::string text, read_text(entry.patched));
    Status written = hash_text(text).hex() == entry.after
                         ? write_atomically(entry.path, text)
                         : Status(environment_error(entry.patched.string() + " is damaged"));
    if (written.ok()) continue;
    if (restore(true).ok()) {
      KERNELIFT_TRY(finish(false));
      return written;
    }
    // The journal stays, and the next apply restores the files by it.
    return std::move(written).error().in(
        "some files are still patched; free some disk space, then run kernelift apply again, which restores them "
        "first");
  }
  return done();
}

Result<Restoration> PatchJournal::write_originals(bool stamps) { return restore(stamps); }

Result<Restoration> PatchJournal::restore(bool stamps) {
  Restoration result;
  result.needed = true;
  for (auto& entry : entries_) {
    if (entry.created) continue;
    auto now = read_text(entry.path);
    std::string hash = now.ok() ? hash_text(*now).hex() : "";
    if (hash == entry.after && entry.after != entry.before) {
      KERNELIFT_ASSIGN(std::string text, read_text(entry.original));
      if (hash_text(text).hex() != entry.before)
        return environment_error("the saved original " + entry.original.string() + " is damaged; " +
                                 entry.path.string() + " still holds the patch");
      KERNELIFT_TRY(write_atomically(entry.path, text));
      result.restored.push_back(entry.path.string());
    } else if (hash != entry.before) {
      result.left.push_back(entry.path.string() + " (original saved as " + entry.original.string() + ")");
      continue;
    }
    if (stamps) set_time(entry.path, entry.seconds, entry.nanoseconds);
  }
  return result;
}

void PatchJournal::remove_created() const {
  std::error_code code;
  for (auto& entry : entries_) {
    if (!entry.created) continue;
    auto now = read_text(entry.path);
    if (now.ok() && hash_text(*now).hex() == entry.after) fs::remove(entry.path, code);
  }
}

Status PatchJournal::note_commit(const std::string& top, const std::string& branch, const std::string& commit,
                                 const std::string& previous) {
  top_ = top, branch_ = branch, commit_ = commit, previous_ = previous;
  return save();
}

Status PatchJournal::finish(bool kept) {
  fs::path journal = state_ / "journal.json", filed = folder_ / "journal.json";
  if (open_ && !kept) remove_created();
  if (open_ && (kept ? rename(journal.c_str(), filed.c_str()) : unlink(journal.c_str())) != 0 && errno != ENOENT)
    return file_error("remove", journal);
  open_ = false;
  return done();
}

Status PatchJournal::load(const fs::path& file) {
  KERNELIFT_ASSIGN(Json document, read_json(file));
  KERNELIFT_TRY(check_artefact(document, kFormat, kVersion, file.string()));
  auto filled = reading(file.string(), [&] {
    for (auto& from : document.at("files"))
      entries_.push_back({from.at("path").get<std::string>(), from.at("original").get<std::string>(),
                          from.at("patched").get<std::string>(), from.at("before"), from.at("after"),
                          from.at("seconds"), from.at("nanoseconds"), from.value("created", false)});
    if (!entries_.empty()) folder_ = entries_.front().original.parent_path();
    top_ = document.at("git").at("top"), branch_ = document.at("git").at("branch"),
    commit_ = document.at("git").at("commit");
    previous_ = document.at("git").value("previous", "");
    return true;
  });
  return filled.ok() ? done() : Status(std::move(filled).error());
}

Result<Restoration> PatchJournal::recover(const fs::path& state) {
  fs::path file = state / "journal.json";
  std::error_code code;
  if (!fs::exists(file, code)) return Restoration{};
  PatchJournal journal;
  journal.state_ = state;
  if (Status loaded = journal.load(file); !loaded.ok())
    return std::move(loaded).error().in(
        "an interrupted patch cannot be undone automatically (its originals are under " + state.string() +
        "; restore them by hand, then remove " + file.string() + ")");
  Restoration result;
  if (!journal.commit_.empty()) {
    KERNELIFT_ASSIGN(result, journal.finish_commit());
    std::erase_if(journal.entries_, [](auto& entry) { return entry.created; });  // So that finish() keeps these files.
  } else {
    KERNELIFT_ASSIGN(result, journal.restore(false));
  }
  journal.open_ = true;
  KERNELIFT_TRY(journal.finish(result.kept && !journal.folder_.empty()));
  return result;
}

Result<Restoration> PatchJournal::finish_commit() const {
  // The patch had been proven and committed; only git's references may still have to move.
  Restoration result;
  result.needed = result.kept = true;
  std::vector<fs::path> files;
  for (auto& entry : entries_) files.push_back(entry.path);
  GitTree tree = GitTree::at(top_);
  KERNELIFT_ASSIGN(std::string head, tree.checked_out());
  const bool held = tree.branch_holds(branch_, commit_);
  if (head == branch_ && held) return result;
  if ((previous_.empty() || head == previous_) && (!held || tree.branch_is_at(branch_, commit_))) {
    KERNELIFT_TRY(tree.switch_to(branch_, commit_, files));
    return result;
  }
  if (!held) KERNELIFT_TRY(tree.create_branch(branch_, commit_));
  result.left.push_back("the checkout in " + top_ + ", which is at " + head + " (the patch is commit " +
                        commit_.substr(0, 10) + " on branch " + branch_ + ")");
  return result;
}

Result<Restoration> PatchJournal::undo_last() {
  std::error_code code;
  for (int n = number_ - 1; n > 0; --n) {
    fs::path filed = state_ / std::to_string(n) / "journal.json";
    if (!fs::exists(filed, code)) continue;
    PatchJournal past;
    KERNELIFT_TRY(past.load(filed));
    if (!past.commit_.empty())
      return refused("the last patch that was kept is commit " + past.commit_.substr(0, 10) + " on branch " +
                     past.branch_ + ": undo it with git (git revert " + past.commit_.substr(0, 10) +
                     ", or switch to another branch)");
    KERNELIFT_ASSIGN(Restoration result, past.restore(false));
    result.folder = filed.parent_path();
    if (result.left.empty()) past.remove_created();
    if (result.left.empty()) fs::rename(filed, state_ / std::to_string(n) / "undone.json", code);
    return result;
  }
  return answer_is_no("no patch has been kept here: there is nothing to undo");
}

}  // namespace kernelift::reintegrate
