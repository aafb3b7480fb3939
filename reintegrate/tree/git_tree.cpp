// Each query is one git command with fixed arguments; paths are passed after "--" and read back NUL-separated. Locale
// and user configuration that would change the output of plumbing commands are switched off.
#include "reintegrate/tree/git_tree.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/process.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

using GitWords = std::vector<std::string>;

Result<ProcessOutcome> git(const fs::path& folder, const GitWords& words, const fs::path& index = {}) {
  GitWords argv = {"git", "-c", "core.quotepath=off", "-c", "core.fsmonitor=false"};
  argv.insert(argv.end(), words.begin(), words.end());
  ProcessOptions options;
  options.folder = folder;
  options.output_limit = 256 << 20;
  options.environment = {{"LC_ALL", "C"}, {"GIT_OPTIONAL_LOCKS", "0"}, {"GIT_LITERAL_PATHSPECS", "1"}};
  if (!index.empty()) options.environment.emplace_back("GIT_INDEX_FILE", index.string());
  return run_process(argv, options);
}

std::string trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text;
}

/// The command's output, or an Error with git's own message.
Result<std::string> ask(const fs::path& folder, const GitWords& words, const fs::path& index = {}) {
  KERNELIFT_ASSIGN(ProcessOutcome outcome, git(folder, words, index));
  if (outcome.ok()) return outcome.out;
  return environment_error("git " + words[0] + " failed in " + folder.string() + ": " + trimmed(outcome.err));
}

/// The user's uncommitted work, of which there is no second copy: the tracked files that differ from HEAD, and their
/// contents. Nothing for the content of one that cannot be read.
class UncommittedWork {
 public:
  /// Leaves out `files`, which are the patch's.
  UncommittedWork(fs::path top, const std::vector<fs::path>& files) : top_(std::move(top)), files_(files) {
    for (auto& name : names()) before_.emplace(name, content(name));
  }
  /// Names of the files that have another content than before.
  std::string changed() const {
    std::string text;
    std::set<std::string> all = names();
    for (auto& [name, hash] : before_) all.insert(name);
    for (auto& name : all) {
      auto known = before_.find(name);
      if (known == before_.end() || known->second != content(name)) text += (text.empty() ? "" : ", ") + name;
    }
    return text;
  }

 private:
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (auto& name : GitTree::changed_files(top_))
      if (std::ranges::find(files_, top_ / name) == files_.end()) all.insert(name);
    return all;
  }
  std::optional<Hash> content(const std::string& name) const {
    auto text = read_text(top_ / name);
    return text.ok() ? std::optional(hash_text(*text)) : std::nullopt;
  }

  const fs::path top_;
  const std::vector<fs::path>& files_;
  std::map<std::string, std::optional<Hash>> before_;
};

/// Checks the permission bits as well as access(), because access() always succeeds for root.
bool is_read_only(const fs::path& folder) {
  std::error_code code;
  constexpr auto kWrite = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  auto permissions = fs::status(folder, code).permissions();
  return (!code && (permissions & kWrite) == fs::perms::none) || access(folder.c_str(), W_OK) != 0;
}

/// Editors and prompts ask git for its state all the time, and hold its lock for a moment.
constexpr std::chrono::seconds kShortWait{3}, kLongWait{30};

/// Waits until no other git process has the file locked.
Status wait_for_lock(const fs::path& top, const std::string& name, std::chrono::seconds limit) {
  auto path = ask(top, {"rev-parse", "--git-path", name});
  if (!path.ok()) return path.error();
  const fs::path lock = top / trimmed(*path);
  std::error_code code;
  for (auto end = std::chrono::steady_clock::now() + limit; fs::exists(lock, code);) {
    if (std::chrono::steady_clock::now() > end)
      return environment_error(lock.string() +
                               " exists: another git process is at work in this repository, or was killed there; wait "
                               "for it to end, or remove that file if there is none");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return done();
}

/// Options for the identity of a commit. Users without a configured name get Kernelift's instead of a failure at the
/// very end. Signing is off: it might wait for a passphrase, which older versions of git ask for.
GitWords identity(const fs::path& top) {
  auto known = git(top, {"var", "GIT_COMMITTER_IDENT"});
  if (known.ok() && known->ok()) return {"-c", "commit.gpgsign=false"};
  return {"-c", "commit.gpgsign=false", "-c", "user.name=Kernelift", "-c", "user.email=kernelift@localhost"};
}

}  // namespace

std::vector<std::string> GitTree::changed_files(const fs::path& folder) {
  std::vector<std::string> files;
  if (!find_program("git")) return files;
  auto names = ask(folder, {"diff", "--name-only", "--relative", "-z", "HEAD"});
  if (!names.ok()) return files;
  for (size_t at = 0, end; (end = names->find('\0', at)) != names->npos; at = end + 1)
    files.push_back(names->substr(at, end - at));
  return files;
}

Result<fs::path> GitTree::top_around(const fs::path& folder) {
  if (!find_program("git")) return fs::path();
  KERNELIFT_ASSIGN(ProcessOutcome top, git(folder, {"rev-parse", "--show-toplevel"}));
  if (top.ok()) return fs::path(trimmed(top.out));
  if (top.err.find("dubious ownership") != std::string::npos)
    return refused("git does not trust the owner of " + folder.string() + ": " + trimmed(top.err));
  return fs::path();
}

Result<GitTree> GitTree::inspect(const fs::path& top, const std::vector<fs::path>& files) {
  GitTree tree;
  tree.top_ = top;
  KERNELIFT_ASSIGN(ProcessOutcome commit, git(tree.top_, {"rev-parse", "--verify", "-q", "HEAD^{commit}"}));
  if (!commit.ok()) return tree;

  GitWords untracked;
  for (auto& file : files) {
    KERNELIFT_ASSIGN(ProcessOutcome listed, git(tree.top_, {"ls-files", "--error-unmatch", "--", file.string()}));
    if (!listed.ok()) untracked.push_back(file.string());
  }
  if (!files.empty() && untracked.size() == files.size()) return tree;
  if (!untracked.empty())
    return refused(untracked[0] +
                   " is not tracked by git, though other files of the patch are: `git add` and commit it first");

  GitWords question = {"status", "--porcelain", "-z", "--untracked-files=no", "--"};
  for (auto& file : files) question.push_back(file.string());
  KERNELIFT_ASSIGN(std::string dirty, ask(tree.top_, question));
  if (!files.empty() && !dirty.empty())
    return refused(dirty.substr(3, dirty.find('\0') - 3) +
                   " has uncommitted changes, and the patch would touch it: commit or stash them first");
  // Of what git was told not to look at, it says nothing.
  question = {"ls-files", "-v", "-z", "--"};
  for (auto& file : files) question.push_back(file.string());
  KERNELIFT_ASSIGN(std::string tags, ask(tree.top_, question));
  for (size_t at = 0, end; !files.empty() && (end = tags.find('\0', at)) != tags.npos; at = end + 1)
    if (tags[at] != 'H')
      return refused(tags.substr(at + 2, end - at - 2) +
                     " may have changes that git does not see (skip-worktree or assume-unchanged), and the patch would "
                     "touch it: `git update-index --no-skip-worktree --no-assume-unchanged` on it first");
  KERNELIFT_ASSIGN(fs::path git_folder, tree.git_folder());
  for (auto [name, what] : {std::pair{"MERGE_HEAD", "merge"},
                            {"rebase-merge", "rebase"},
                            {"rebase-apply", "rebase"},
                            {"CHERRY_PICK_HEAD", "cherry-pick"},
                            {"REVERT_HEAD", "revert"},
                            {"BISECT_LOG", "bisect"}})
    if (fs::exists(git_folder / name))
      return refused(std::string("a ") + what + " is in progress in " + tree.top_.string() + ": finish it first");
  // Checked now, so that it does not fail after the patch has been proven.
  KERNELIFT_ASSIGN(std::string objects, ask(tree.top_, {"rev-parse", "--git-path", "objects"}));
  for (auto& folder : {git_folder, tree.top_ / trimmed(objects)})
    if (is_read_only(folder))
      return refused(folder.string() +
                     " is read-only, but the patch must be committed: make it writable for git first");

  for (const char* lock : {"index.lock", "HEAD.lock"}) KERNELIFT_TRY(wait_for_lock(tree.top_, lock, kShortWait));

  KERNELIFT_ASSIGN(tree.head_, tree.checked_out());
  tree.kind_ = Kind::Tracked;
  return tree;
}

Result<GitTree> GitTree::around(const fs::path& folder) {
  auto top = top_around(folder);
  if (!top.ok() || top->empty()) return GitTree();
  GitTree tree = at(*top);
  for (const char* lock : {"index.lock", "HEAD.lock"}) KERNELIFT_TRY(wait_for_lock(tree.top_, lock, kShortWait));
  return tree;
}

GitTree GitTree::at(const fs::path& top) {
  GitTree tree;
  tree.top_ = top;
  tree.kind_ = Kind::Tracked;
  return tree;
}

bool GitTree::has_branch(const std::string& name) const {
  auto found = git(top_, {"show-ref", "--verify", "-q", "refs/heads/" + name});
  return found.ok() && found->ok();
}

Status GitTree::check_new_branch(const std::string& name) const {
  KERNELIFT_ASSIGN(ProcessOutcome legal, git(top_, {"check-ref-format", "--branch", name}));
  if (!legal.ok()) return usage_error("'" + name + "' cannot be the name of a git branch");
  if (has_branch(name)) return refused("the branch '" + name + "' exists already: choose another with --branch NAME");
  return done();
}

Result<fs::path> GitTree::git_folder() const {
  KERNELIFT_ASSIGN(std::string folder, ask(top_, {"rev-parse", "--absolute-git-dir"}));
  return fs::path(trimmed(folder));
}

GitHooks GitTree::hooks() const {
  if (kind_ == Kind::None) return {};
  auto folder = ask(top_, {"rev-parse", "--git-path", "hooks"});
  return folder.ok() ? GitHooks(top_, top_ / trimmed(*folder)) : GitHooks();
}

Result<std::string> GitTree::stage(const std::string& on, const std::vector<fs::path>& files,
                                   const fs::path& index) const {
  std::error_code ignored;
  fs::remove(index, ignored);
  KERNELIFT_TRY([&]() -> Status {
    auto read = ask(top_, {"read-tree", on}, index);
    return read.ok() ? done() : Status(read.error());
  }());
  for (auto& file : files) {
    std::string name = file.lexically_relative(top_).string();
    // Keeps the file mode that git has on record; the content passes through git's own filters.
    KERNELIFT_ASSIGN(std::string entry, ask(top_, {"ls-files", "-s", "-z", "--", name}, index));
    KERNELIFT_ASSIGN(std::string blob, ask(top_, {"hash-object", "-w", "--path=" + name, "--", file.string()}));
    std::string mode = entry.empty() ? "100644" : entry.substr(0, 6);  // Empty: a file that the patch creates.
    KERNELIFT_ASSIGN(
        std::string updated,
        ask(top_, {"update-index", "--add", "--cacheinfo", mode + "," + trimmed(blob) + "," + name}, index));
  }
  KERNELIFT_ASSIGN(std::string tree, ask(top_, {"write-tree"}, index));
  return trimmed(tree);
}

Status GitTree::try_hooks(const std::vector<fs::path>& files, const std::string& message, const fs::path& scratch,
                          const GitHooks& hooks) const {
  fs::path index = scratch / "index", text = scratch / "message";
  KERNELIFT_TRY(write_atomically(text, message));
  KERNELIFT_ASSIGN(std::string tree, stage("HEAD", files, index));
  const UncommittedWork work(top_, files);
  if (Status passed = hooks.run(index, text); !passed.ok()) {
    Error error = std::move(passed).error();
    if (const std::string changed = work.changed(); !changed.empty())
      error.message += "; while the hooks (" + hooks.names() +
                       ") ran, these files changed, which are not the patch's: " + changed + " (in " + top_.string() +
                       ")";
    return error;
  }
  // A hook may add its own changes to the commit. What was not built, checked and timed is not committed as such.
  KERNELIFT_ASSIGN(std::string then, ask(top_, {"write-tree"}, index));
  if (trimmed(then) == tree) return done();
  KERNELIFT_ASSIGN(std::string changed, ask(top_, {"diff", "--name-only", tree, trimmed(then)}));
  std::replace(changed.begin(), changed.end(), '\n', ' ');
  return answer_is_no("the repository's hooks (" + hooks.names() + ") change what is committed: " + trimmed(changed));
}

Result<std::string> GitTree::commit_files(const std::vector<fs::path>& files, const std::string& message,
                                          const fs::path& scratch, const GitHooks* hooks) const {
  fs::path index = scratch / "index", text = scratch / "message";
  std::error_code ignored;
  KERNELIFT_TRY(write_atomically(text, message));
  KERNELIFT_ASSIGN(std::string parent, commit_at("HEAD"));  // Once: HEAD may move meanwhile.
  KERNELIFT_ASSIGN(std::string tree, stage(parent, files, index));
  if (hooks && !hooks->none()) {
    KERNELIFT_TRY(try_hooks(files, message, scratch, *hooks));
    KERNELIFT_ASSIGN(std::string then, stage(parent, files, index));
    if (then != tree) return answer_is_no("the repository's hooks (" + hooks->names() + ") change the patched file");
  }
  GitWords words = identity(top_);
  for (const std::string& word :
       {std::string("commit-tree"), std::string("-p"), parent, std::string("-F"), text.string(), tree})
    words.push_back(word);
  KERNELIFT_ASSIGN(std::string commit, ask(top_, words));
  fs::remove(index, ignored);
  return trimmed(commit);
}

Status GitTree::switch_to(const std::string& branch, const std::string& commit,
                          const std::vector<fs::path>& files) const {
  // Hours of proof are not to be lost to an editor that asks for git's state in this moment.
  KERNELIFT_TRY(wait_for_lock(top_, "index.lock", kLongWait));
  if (!is_on_head(commit))
    return refused("what is checked out in " + top_.string() + " has moved on from the commit that the patch (" +
                   commit.substr(0, 10) + ") was made on");
  if (!branch_is_at(branch, commit)) KERNELIFT_TRY(create_branch(branch, commit));
  // Updates the user's index first, for the patched files only: a failure here leaves the new branch behind, but HEAD
  // unchanged.
  auto reset_to = [&](const std::string& where) {
    GitWords update = {"reset", "-q", where, "--"};
    for (auto& file : files) update.push_back(file.lexically_relative(top_).string());
    return git(top_, update);
  };
  KERNELIFT_ASSIGN(ProcessOutcome reset, reset_to(commit));
  if (!reset.ok())
    return environment_error("git cannot update its index in " + top_.string() + ": " + trimmed(reset.err));
  auto moved =
      ask(top_, {"symbolic-ref", "-m", "kernelift apply: moving to " + branch, "HEAD", "refs/heads/" + branch});
  if (moved.ok()) return done();
  (void)reset_to("HEAD");  // Otherwise the user's next commit would include the patch.
  return moved.error();
}

Status GitTree::switch_back(const std::string& previous, const std::string& branch, const std::string& commit,
                            const std::vector<fs::path>& files) const {
  KERNELIFT_ASSIGN(std::string now, checked_out());
  if (now == branch) {
    KERNELIFT_TRY(wait_for_lock(top_, "index.lock", kLongWait));
    const std::string reason = "kernelift apply: back from " + branch;
    // A detached HEAD was at a commit.
    auto moved = has_branch(previous) ? ask(top_, {"symbolic-ref", "-m", reason, "HEAD", "refs/heads/" + previous})
                                      : ask(top_, {"update-ref", "-m", reason, "--no-deref", "HEAD", previous});
    if (!moved.ok()) return moved.error();
    GitWords update = {"reset", "-q", "HEAD", "--"};
    for (auto& file : files) update.push_back(file.lexically_relative(top_).string());
    auto reset = ask(top_, update);
    if (!reset.ok()) return reset.error();
  }
  if (!has_branch(branch)) return done();
  auto removed = ask(top_, {"update-ref", "-d", "refs/heads/" + branch, commit});
  return removed.ok() ? done() : Status(removed.error());
}

Status GitTree::create_branch(const std::string& branch, const std::string& commit) const {
  auto created = ask(top_, {"update-ref", "-m", "kernelift apply", "refs/heads/" + branch, commit, ""});
  return created.ok() ? done() : Status(created.error());
}

Result<std::string> GitTree::checked_out() const {
  KERNELIFT_ASSIGN(ProcessOutcome branch, git(top_, {"symbolic-ref", "-q", "--short", "HEAD"}));
  if (branch.ok()) return trimmed(branch.out);
  return commit_at("HEAD");
}

Result<std::string> GitTree::commit_at(const std::string& name) const {
  KERNELIFT_ASSIGN(std::string commit, ask(top_, {"rev-parse", "--verify", "-q", name + "^{commit}"}));
  return trimmed(commit);
}

bool GitTree::is_on_head(const std::string& commit) const {
  auto head = commit_at("HEAD"), parent = commit_at(commit + "^");
  return head.ok() && parent.ok() && *head == *parent;
}

bool GitTree::branch_holds(const std::string& branch, const std::string& commit) const {
  auto holds = git(top_, {"merge-base", "--is-ancestor", commit, "refs/heads/" + branch});
  return holds.ok() && holds->ok();
}

bool GitTree::wants_signatures() const {
  auto wanted = git(top_, {"config", "--type=bool", "commit.gpgsign"});
  return wanted.ok() && wanted->ok() && trimmed(wanted->out) == "true";
}

bool GitTree::branch_is_at(const std::string& branch, const std::string& commit) const {
  auto at = git(top_, {"rev-parse", "--verify", "-q", "refs/heads/" + branch});
  return at.ok() && at->ok() && trimmed(at->out) == commit;
}

Result<std::vector<fs::path>> GitTree::tracked() const {
  std::vector<fs::path> files;
  if (kind_ == Kind::None) return files;
  KERNELIFT_ASSIGN(std::string list, ask(top_, {"ls-files", "-z"}));
  for (size_t at = 0; at < list.size();) {
    size_t end = list.find('\0', at);
    if (end == list.npos) end = list.size();
    files.push_back(top_ / list.substr(at, end - at));
    at = end + 1;
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace kernelift::reintegrate
