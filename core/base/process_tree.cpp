// Processes are found through /proc by parent, because not every Linux kernel offers /proc/<pid>/task/<tid>/children.
// The supervisor is a subreaper: a process of the command whose parent has ended becomes its child, so that none gets
// out of sight, however often it forks.
#include "core/base/process_tree.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "core/base/file.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kToTidyUp = std::chrono::seconds(2);      // Between SIGTERM and SIGKILL.
constexpr auto kToSaveState = std::chrono::seconds(10);  // After a signal that was handed on.
constexpr auto kToShow = std::chrono::milliseconds(50);  // Until a new program's environment can be seen.
constexpr useconds_t kPause = 2000;                      // Microseconds between two passes over the processes.
constexpr int kSignalled = 128;                          // Shells add this to the signal that ended a command.

int open_process(pid_t process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

/// Empty if the process is gone, or goes while it is read.
std::string text_of(const fs::path& file) {
  auto text = read_text(file);
  return text.ok() ? *std::move(text) : "";
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> found;
  std::error_code code;
  for (fs::directory_iterator at("/proc", code), end; !code && at != end; at.increment(code))
    if (pid_t process = std::atoi(at->path().filename().c_str()); process > 0) found.push_back(process);
  return found;
}

struct Standing {
  pid_t parent = 0;
  bool ended = false;  ///< It only waits for its parent to ask how it ended.
};

Standing standing_of(pid_t process) {
  std::string stat = text_of("/proc/" + std::to_string(process) + "/stat");
  // "17 (a name that may contain brackets) S 1 …"
  size_t name_end = stat.rfind(')');
  char state = 0;
  Standing found;
  if (name_end == stat.npos || std::sscanf(stat.c_str() + name_end, ") %c %d", &state, &found.parent) != 2) return {};
  found.ended = state == 'Z' || state == 'X';
  return found;
}

/// All of them from one pass, parents first, because the children of a process that has ended are no longer found under
/// it.
std::vector<pid_t> descendants(pid_t of) {
  std::multimap<pid_t, pid_t> children;
  std::map<pid_t, bool> ended;
  for (pid_t process : all_processes()) {
    Standing standing = standing_of(process);
    if (standing.parent > 0) children.emplace(standing.parent, process), ended[process] = standing.ended;
  }
  std::vector<pid_t> found, alive;
  auto add_children = [&](pid_t parent) {
    for (auto [child, last] = children.equal_range(parent); child != last; ++child) found.push_back(child->second);
  };
  add_children(of);
  for (size_t i = 0; i < found.size(); ++i) add_children(found[i]);
  for (pid_t process : found)
    if (!ended[process]) alive.push_back(process);
  return alive;
}

void reap_all() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {}
}

/// Ends as the command did, so that the process that waits for this one learns it.
[[noreturn]] void end_like(int status) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  rlimit none{};
  setrlimit(RLIMIT_CORE, &none);  // The command has left its own core file, if it was to leave one.
  prctl(PR_SET_DUMPABLE, 0);
  ::signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only), sigaddset(&only, number);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::kill(getpid(), number);
  _exit(kSignalled + number);
}

/// Waits for what has been asked to end already, then kills it.
void end_asked_descendants() {
  const auto until = Clock::now() + kToSaveState;
  for (reap_all(); !descendants(getpid()).empty() && Clock::now() < until; reap_all()) usleep(kPause);
  kill_descendants(getpid());
}

/// Everything that the supervisor does. It holds no file of its owner's: locks and pipes end with the owner.
/// `handed_on`: a signal for all that the command has started; 0: none.
[[noreturn]] void supervise(pid_t command, pid_t owner, int owner_process, std::atomic<int>* handed_on) {
  prctl(PR_SET_NAME, "kernelift-watch");
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE, SIGUSR1, SIGUSR2}) ::signal(number, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t child_ended;
  sigemptyset(&child_ended), sigaddset(&child_ended, SIGCHLD);
  sigprocmask(SIG_SETMASK, &child_ended, nullptr);
  constexpr int kOwner = 3;
  if (owner_process >= 0) dup2(owner_process, kOwner);
  close_range(kOwner + (owner_process >= 0), ~0U, 0);
  int null = open("/dev/null", O_RDWR);
  for (int standard : {0, 1, 2}) dup2(null, standard);
  if (null > 2) close(null);
  int ended = signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);

  constexpr int kTick = 50;  // Milliseconds between looks, for a Linux kernel without pidfds.
  for (bool asked = false;;) {
    if (int number = handed_on ? handed_on->exchange(0) : 0) {
      asked = true;
      for (pid_t process : descendants(getpid())) ::kill(process, number);
    }
    for (int status = 0;;) {
      pid_t one = waitpid(-1, &status, WNOHANG);
      if (one <= 0) break;
      if (one != command) continue;
      if (asked) end_asked_descendants();
      end_like(status);
    }
    pollfd items[2] = {{ended, POLLIN, 0}, {owner_process >= 0 ? kOwner : -1, POLLIN, 0}};
    poll(items, 2, owner_process >= 0 && ended >= 0 ? -1 : kTick);
    signalfd_siginfo notice;
    while (read(ended, &notice, sizeof notice) > 0) {}
    if (items[1].revents || getppid() != owner) {
      kill_descendants(getpid(), true);
      _exit(kSignalled + SIGKILL);
    }
  }
}

/// This process, its parent, and so on.
std::vector<pid_t> ancestry() {
  std::vector<pid_t> found;
  for (pid_t at = getpid(); at > 0 && found.size() < 1000; at = standing_of(at).parent) found.push_back(at);
  return found;
}

/// One of this user's, and no thread of the kernel.
bool runs_program(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  struct stat about{};
  char program[16];
  return stat(folder.c_str(), &about) == 0 && about.st_uid == geteuid() &&
         readlink((folder + "/exe").c_str(), program, sizeof program) > 0;
}

/// nullopt: it shows no environment, as one that is about to run another program.
std::optional<bool> has_variable(pid_t process, const std::string& variable) {
  std::string environment = text_of("/proc/" + std::to_string(process) + "/environ");
  if (environment.empty()) return std::nullopt;
  for (size_t at = 0; at < environment.size();) {
    size_t end = std::min(environment.find('\0', at), environment.size());
    if (environment.compare(at, end - at, variable) == 0) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

struct ProcessTree::Cell {
  std::atomic<pid_t> supervisor, command;
  std::atomic<int> handed_on;
};

ProcessTree::ProcessTree() {
  void* at = mmap(nullptr, sizeof(Cell), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at != MAP_FAILED) cell_ = new (at) Cell{};
}

ProcessTree::~ProcessTree() {
  if (cell_) munmap(cell_, sizeof(Cell));
}

std::function<Status()> ProcessTree::prepare(std::function<Status()> then) {
  return [cell = cell_, owner = getpid(), then = std::move(then)]() -> Status {
    // Opened before the parent is compared: if the owner has ended by now, the parent is another.
    int owner_process = open_process(owner);
    if (getppid() != owner) _exit(kSignalled + SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (cell) cell->supervisor = getpid();
    const pid_t supervisor = getpid(), command = fork();
    if (command < 0) return environment_error(std::string("cannot start a process: ") + std::strerror(errno));
    if (command > 0) supervise(command, owner, owner_process, cell ? &cell->handed_on : nullptr);
    if (owner_process >= 0) close(owner_process);
    // Only the command itself ends with a supervisor that was killed; the rest is found by its environment.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(kSignalled + SIGKILL);
    if (cell) cell->command = getpid();
    return then ? then() : done();
  };
}

pid_t ProcessTree::command() const { return cell_ ? cell_->command.load() : 0; }

bool ProcessTree::signal(int signal) const {
  if (!cell_ || cell_->supervisor == 0) return false;
  auto found = descendants(cell_->supervisor);
  for (pid_t process : found) ::kill(process, signal);
  return !found.empty();
}

void ProcessTree::hand_on(int signal) const {
  if (!cell_ || cell_->supervisor == 0) return;
  cell_->handed_on = signal;
  ::kill(cell_->supervisor, SIGCHLD);  // It sleeps until there is one.
}

bool ProcessTree::kill() const {
  if (!cell_ || cell_->supervisor == 0) return true;
  // The supervisor asks them, not this process: had it not been told, it would end with the command, and the others
  // would be found under it no more.
  hand_on(SIGTERM);
  signal(SIGCONT);  // A stopped process would not notice.
  for (const auto until = Clock::now() + kToTidyUp; Clock::now() < until; usleep(kPause))
    if (descendants(cell_->supervisor).empty()) return true;
  return kill_descendants(cell_->supervisor);
}

bool kill_descendants(pid_t of, bool ask_first) {
  const auto begun = Clock::now();
  for (bool asked = false;; usleep(kPause)) {
    if (of == getpid()) reap_all();
    auto found = descendants(of);
    if (found.empty()) return true;
    if (Clock::now() > begun + kToDie) return false;
    const bool asking = ask_first && Clock::now() < begun + kToTidyUp;
    if (asking && std::exchange(asked, true)) continue;
    for (pid_t process : found) ::kill(process, asking ? SIGTERM : SIGKILL);
    // A stopped process would not notice.
    for (pid_t process : found)
      if (asking) ::kill(process, SIGCONT);
  }
}

std::vector<std::string> end_processes_with(const std::string& variable) {
  std::vector<std::string> names;
  const std::vector<pid_t> spared = ancestry();
  const auto begun = Clock::now();
  bool found = true, unclear = false;
  while ((found && Clock::now() < begun + kToDie) || (unclear && Clock::now() < begun + kToShow)) {
    found = unclear = false;
    for (pid_t process : all_processes()) {
      if (std::find(spared.begin(), spared.end(), process) != spared.end()) continue;
      // Its number may be another process's by the time of the signal; what was opened before the look is not.
      int opened = open_process(process);
      const auto has = has_variable(process, variable);
      unclear |= !has && !standing_of(process).ended && runs_program(process);
      if (has.value_or(false) && !standing_of(process).ended) {
        std::string name = text_of("/proc/" + std::to_string(process) + "/comm");
        while (!name.empty() && name.back() == '\n') name.pop_back();
        long sent =
            opened >= 0 ? syscall(SYS_pidfd_send_signal, opened, SIGKILL, nullptr, 0) : ::kill(process, SIGKILL);
        found |= sent == 0;
        if (sent == 0 && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
      if (opened >= 0) close(opened);
    }
    if (found || unclear) usleep(kPause);
  }
  return names;
}

}  // namespace kernelift
