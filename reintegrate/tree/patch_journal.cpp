// Layout under the state folder: apply/lock, apply/journal.json (exists only while a patch is unfinished), and
// apply/<n>/ with original-<k>, patched-<k>, patch.diff and logs. Files are replaced by rename, so that a reader sees
// one version or the other, and keep their permissions. A patched file gets a new time stamp: otherwise the
// application's build would not notice the change. After an interruption that may have built something with the patch,
// restored files, and those that were restored before, become newer than every product.
#include "reintegrate/tree/patch_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <random>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/process_tree.h"
#include "reintegrate/tree/build_products.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

constexpr const char* kFormat = "kernelift-apply-journal";
constexpr int kVersion = 3;
constexpr const char* kMark = "KERNELIFT_APPLY";
constexpr const char* kBuildYourself =
    "The programs may still be those of the patch: run the application's build command; the restored sources are newer "
    "than everything that was built from the patch.";

const char* name(Programs programs) {
  switch (programs) {
    case Programs::Original: return "original";
    case Programs::Swapped: return "swapped";
    case Programs::Unknown: return "unknown";
  }
  return "unknown";
}

Programs programs_named(const std::string& text) {
  for (Programs programs : {Programs::Original, Programs::Swapped})
    if (text == name(programs)) return programs;
  return Programs::Unknown;
}

std::string new_mark() {
  std::random_device source;
  char text[40];
  std::snprintf(text, sizeof text, "%08x%08x%08x", source(), source(), source());
  return text;
}

/// The kernel's own stamps of files lag behind the clock by up to one of its ticks.
timespec clock_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

/// `nanoseconds`: 10^9 is the next second.
void set_time(const fs::path& path, int64_t seconds, int64_t nanoseconds) {
  constexpr int64_t kSecond = 1'000'000'000;
  timespec times[2] = {
      {0, UTIME_OMIT},
      {static_cast<time_t>(seconds + nanoseconds / kSecond), static_cast<long>(nanoseconds % kSecond)}};
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
      lock_(std::exchange(other.lock_, std::nullopt)),
      number_(other.number_),
      open_(std::exchange(other.open_, false)),
      entries_(std::move(other.entries_)),
      branch_(std::move(other.branch_)),
      commits_(std::move(other.commits_)),
      build_(std::move(other.build_)),
      programs_(other.programs_),
      since_(other.since_),
      since_nanoseconds_(other.since_nanoseconds_),
      mark_(std::move(other.mark_)),
      unsettled_(std::move(other.unsettled_)) {}

PatchJournal::~PatchJournal() {
  // A recorded commit is completed by the next open(); anything else is restored now.
  if (open_ && commits_.empty())
    if (auto restored = restore(false);
        restored.ok() && restored->left.empty() && (programs_ == Programs::Original || build_.command.empty()))
      (void)finish(false);
  if (lock_) rmdir(folder_.c_str());  // Succeeds only if the folder is empty.
}

Result<PatchJournal> PatchJournal::open(const fs::path& state, Restoration& leftovers) {
  PatchJournal journal;
  KERNELIFT_TRY(create_state_folder(state));
  journal.state_ = state / "apply";
  std::error_code code;
  fs::create_directories(journal.state_, code);
  fs::path lock = journal.state_ / "lock";
  KERNELIFT_ASSIGN(journal.lock_, Lock::try_take(lock));
  if (!journal.lock_) return already_running(lock);
  KERNELIFT_ASSIGN(leftovers, journal.recover());
  journal.mark_ = new_mark();
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
  return Lock::is_held(lock) ? already_running(lock) : done();
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

std::pair<std::string, std::string> PatchJournal::mark() const { return {kMark, mark_}; }

Status PatchJournal::begin(const SourcePatch& patch, const AppBuild& build) {
  KERNELIFT_ASSERT(!unsettled_, "an interrupted patch must be settled before the next one begins");
  entries_.clear();
  build_ = build, programs_ = Programs::Original;
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
  Json document = artefact(kFormat, kVersion, 3), files = Json::array();
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
  Json commits = Json::array();
  for (auto& one : commits_) {
    Json of_patch = Json::array();
    for (auto& file : one.files) of_patch.push_back(file.string());
    commits.push_back(
        {{"top", one.top.string()}, {"commit", one.commit}, {"previous", one.previous}, {"files", of_patch}});
  }
  document["git"] = {{"branch", branch_}, {"commits", commits}};
  Json environment = Json::array(), roots = Json::array(), without = Json::array();
  for (auto& [key, value] : build_.environment) environment.push_back({key, value});
  for (auto& folder : build_.roots) roots.push_back(folder.string());
  for (auto& folder : build_.without) without.push_back(folder.string());
  document["build"] = {{"command", build_.command},
                       {"folder", build_.folder.string()},
                       {"environment", environment},
                       {"roots", roots},
                       {"without", without}};
  document["programs"] = {
      {"are", name(programs_)}, {"since", since_}, {"since_nanoseconds", since_nanoseconds_}, {"mark", mark_}};
  document["checksum"] = hash_text(compact(document.at("build")) + compact(document.at("programs"))).hex();
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
  timespec now = clock_now();
  if (since_ == 0) since_ = now.tv_sec, since_nanoseconds_ = now.tv_nsec;
  KERNELIFT_TRY(note_programs(Programs::Unknown));
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

Result<std::vector<std::string>> PatchJournal::write_patched_again() {
  std::vector<std::string> copies;
  for (size_t i = 0; i < entries_.size(); ++i) {
    auto now = read_text(entries_[i].path);
    if (now.ok() && hash_text(*now).hex() == entries_[i].after) continue;
    fs::path copy = folder_ / ("changed-" + std::to_string(i));
    KERNELIFT_TRY(write_atomically(copy, now.ok() ? *now : ""));
    KERNELIFT_ASSIGN(std::string patched, read_text(entries_[i].patched));
    KERNELIFT_TRY(write_atomically(entries_[i].path, patched));
    copies.push_back(copy.string());
  }
  return copies;
}

Status PatchJournal::note_programs(Programs programs) {
  programs_ = programs;
  return save();
}

Result<Restoration> PatchJournal::write_originals(bool stamps) { return restore(stamps); }

Result<Restoration> PatchJournal::restore(bool stamps) {
  Restoration result;
  result.needed = true;
  for (auto& entry : entries_) {
    if (entry.created) continue;
    auto now = read_text(entry.path);
    std::string hash = now.ok() ? hash_text(*now).hex() : "";
    // One that does not change is in the patch to be compiled again.
    if (hash == entry.after && (entry.after != entry.before || !stamps)) {
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

void PatchJournal::touch_all() const {
  timespec newest = clock_now();
  auto later = [](const timespec& a, int64_t seconds, int64_t nanoseconds) {
    return a.tv_sec > seconds || (a.tv_sec == seconds && a.tv_nsec > nanoseconds);
  };
  auto listed = list_files(build_.roots, build_.without);  // Without a list, now is late enough, unless clocks differ.
  if (listed.ok())
    for (auto& [path, stamp] : *listed)
      if (!later(newest, stamp.seconds, stamp.nanoseconds) &&
          std::none_of(entries_.begin(), entries_.end(), [&](auto& entry) { return entry.path == path; }))
        newest = {static_cast<time_t>(stamp.seconds), static_cast<long>(stamp.nanoseconds) + 1};
  for (auto& entry : entries_)
    if (!entry.created) set_time(entry.path, newest.tv_sec, newest.tv_nsec);
}

/// What write_atomically() leaves when it is killed, with the beginning of either text.
void PatchJournal::remove_temporaries() const {
  std::error_code code;
  for (auto& entry : entries_) {
    const std::string prefix = "." + entry.path.filename().string() + kTemporaryMark;
    auto original = read_text(entry.original), patched = read_text(entry.patched);
    std::vector<fs::path> found;
    for (fs::directory_iterator at(entry.path.parent_path(), code), end; !code && at != end; at.increment(code)) {
      std::string name = at->path().filename();
      if (!name.starts_with(prefix) || name.size() != prefix.size() + kTemporaryLetters) continue;
      auto text = read_text(at->path());
      if (text.ok() &&
          ((original.ok() && original->starts_with(*text)) || (patched.ok() && patched->starts_with(*text))))
        found.push_back(at->path());
    }
    for (auto& path : found) fs::remove(path, code);
  }
}

ProgramDebt PatchJournal::debt() const { return {build_, programs_, folder_, since_, since_nanoseconds_}; }

void PatchJournal::remove_created() const {
  std::error_code code;
  for (auto& entry : entries_) {
    if (!entry.created) continue;
    auto now = read_text(entry.path);
    if (now.ok() && hash_text(*now).hex() == entry.after) fs::remove(entry.path, code);
  }
}

Status PatchJournal::note_commits(const std::string& branch, const std::vector<PatchCommit>& commits) {
  branch_ = branch, commits_ = commits;
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
    const Json& git = document.at("git");
    branch_ = git.at("branch");
    auto add_commit = [&](const Json& from) -> PatchCommit& {
      return commits_.emplace_back(
          PatchCommit{from.at("top").get<std::string>(), from.at("commit"), from.value("previous", ""), {}});
    };
    if (!git.contains("commits")) {  // Earlier formats knew of one repository.
      if (!git.at("commit").get<std::string>().empty())
        for (PatchCommit& one = add_commit(git); auto& entry : entries_) one.files.push_back(entry.path);
    } else {
      for (auto& from : git.at("commits"))
        for (PatchCommit& one = add_commit(from); auto& file : from.at("files"))
          one.files.emplace_back(file.get<std::string>());
    }
    programs_ = Programs::Unknown;
    if (!document.contains("build")) return true;  // Format 1 knew of sources only.
    // The sources have hashes of their own. A command that may be damaged is not run.
    if (document.value("checksum", "") !=
        hash_text(compact(document.at("build")) + compact(document.at("programs"))).hex())
      return true;
    const Json &build = document.at("build"), &programs = document.at("programs");
    build_.command = build.at("command"), build_.folder = build.at("folder").get<std::string>();
    for (auto& pair : build.at("environment")) build_.environment.emplace_back(pair.at(0), pair.at(1));
    for (auto& folder : build.at("roots")) build_.roots.push_back(folder.get<std::string>());
    for (auto& folder : build.at("without")) build_.without.push_back(folder.get<std::string>());
    programs_ = programs_named(programs.at("are"));
    since_ = programs.at("since"), since_nanoseconds_ = programs.at("since_nanoseconds");
    mark_ = programs.at("mark");
    return true;
  });
  return filled.ok() ? done() : Status(std::move(filled).error());
}

Result<Restoration> PatchJournal::recover() {
  fs::path file = state_ / "journal.json";
  std::error_code code;
  if (!fs::exists(file, code)) return Restoration{};
  auto old = std::unique_ptr<PatchJournal>(new PatchJournal);
  old->state_ = state_;
  if (Status loaded = old->load(file); !loaded.ok())
    return std::move(loaded).error().in(
        "an interrupted patch cannot be undone automatically (its originals are under " + state_.string() +
        "; restore them by hand, then remove " + file.string() + ")");
  // First of all: a build that still runs would write patched programs over whatever is restored.
  std::vector<std::string> ended;
  if (!old->mark_.empty()) ended = end_processes_with(std::string(kMark) + "=" + old->mark_);
  old->remove_temporaries();
  Restoration result;
  if (!old->commits_.empty()) {
    KERNELIFT_ASSIGN(result, old->finish_commits());
    std::erase_if(old->entries_, [](auto& entry) { return entry.created; });  // So that finish() keeps these files.
  } else {
    KERNELIFT_ASSIGN(result, old->restore(false));
    // A file that the user has edited since is the user's, and so is the decision when to build it.
    const bool whole = result.left.empty();
    if (old->programs_ == Programs::Unknown && whole) old->touch_all();
    if (old->programs_ != Programs::Original) {
      if (whole && !old->build_.command.empty()) result.debt = old->debt();
      result.programs_restored = false;
      result.programs = kBuildYourself;
    }
  }
  result.ended = std::move(ended);
  old->open_ = true;
  if (result.debt) {
    unsettled_ = std::move(old);
    unsettled_->open_ = false;  // Its destructor has nothing to restore.
    return result;
  }
  KERNELIFT_TRY(old->finish(result.kept && !old->folder_.empty()));
  return result;
}

Status PatchJournal::settle() {
  if (!unsettled_) return done();
  unsettled_->open_ = true;
  KERNELIFT_TRY(unsettled_->finish(false));
  unsettled_.reset();
  return done();
}

Result<Restoration> PatchJournal::finish_commits() const {
  // The patch had been proven and committed; only git's references may still have to move.
  Restoration result;
  result.needed = result.kept = true;
  for (auto& [top, commit, previous, files] : commits_) {
    GitTree tree = GitTree::at(top);
    KERNELIFT_ASSIGN(std::string head, tree.checked_out());
    const bool held = tree.branch_holds(branch_, commit);
    if (head == branch_ && held) continue;
    if ((previous.empty() || head == previous) && tree.is_on_head(commit) &&
        (!held || tree.branch_is_at(branch_, commit))) {
      KERNELIFT_TRY(tree.switch_to(branch_, commit, files));
      continue;
    }
    if (!held) KERNELIFT_TRY(tree.create_branch(branch_, commit));
    result.left.push_back("the checkout in " + top.string() + ", which is at " + head + " (the patch is commit " +
                          commit.substr(0, 10) + " on branch " + branch_ + ")");
  }
  return result;
}

Result<Restoration> PatchJournal::undo_last() {
  std::error_code code;
  for (int n = number_ - 1; n > 0; --n) {
    fs::path filed = state_ / std::to_string(n) / "journal.json";
    if (!fs::exists(filed, code)) continue;
    PatchJournal past;
    KERNELIFT_TRY(past.load(filed));
    if (!past.commits_.empty()) {
      std::string where, how;
      for (auto& one : past.commits_)
        where += (where.empty() ? "commit " : " and commit ") + one.commit.substr(0, 10) + " on branch " +
                 past.branch_ + " of " + one.top.string(),
            how += (how.empty() ? "git revert " : " and git revert ") + one.commit.substr(0, 10);
      return refused("the last patch that was kept is " + where + ": undo it there with git (" + how +
                     ", or switch to another branch)");
    }
    KERNELIFT_ASSIGN(Restoration result, past.restore(false));
    result.folder = filed.parent_path();
    past.programs_ = Programs::Unknown;
    result.programs_restored = false, result.programs = kBuildYourself;
    if (result.left.empty() && !past.build_.command.empty()) past.touch_all(), result.debt = past.debt();
    if (result.left.empty()) past.remove_created();
    if (result.left.empty()) fs::rename(filed, state_ / std::to_string(n) / "undone.json", code);
    return result;
  }
  return answer_is_no("no patch has been kept here: there is nothing to undo");
}

}  // namespace kernelift::reintegrate
