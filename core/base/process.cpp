// fork/exec with pipes, poll and a deadline; see process.h.
#include "core/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/base/descriptor.h"
#include "core/base/process_tree.h"

extern char** environ;

namespace kernelift {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> merged_environment(const ProcessOptions& options) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (auto& [key, value] : options.environment) replaced |= key == name;
    if (!replaced) merged.emplace_back(text);
  }
  for (auto& [key, value] : options.environment) merged.push_back(key + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (auto& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

struct Pipe {
  int read_end = -1, write_end = -1;
  bool open_both() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0], write_end = ends[1];
    return true;
  }
  void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  ~Pipe() { close_end(read_end), close_end(write_end); }
};

constexpr int kTick = 10;                          // Milliseconds between checks of a child that has no pidfd.
constexpr auto kDryOut = std::chrono::seconds(1);  // How long output is still read after the child has ended.

/// Holds all signals back from this thread, and so from a child that it forks.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { let_go(); }
  void let_go() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// Handlers of ours would swallow a signal that reaches a child before its program starts.
void reset_handlers() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action{};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL)
      continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, nullptr);
  }
}

/// For poll(); -1: no limit.
int milliseconds_until(const std::optional<Clock::time_point>& deadline) {
  if (!deadline) return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

/// Reads the output that is available; false at end of file.
bool drain(int fd, std::string& into, size_t limit) {
  char buffer[65536];
  ssize_t got = read(fd, buffer, sizeof buffer);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (into.size() < limit) into.append(buffer, std::min(static_cast<size_t>(got), limit - into.size()));
  return got > 0;
}

}  // namespace

constexpr int kShellsSignal = 128;  ///< Shells add this to the number of the signal that killed a command.

std::string ProcessOutcome::describe() const {
  char text[192];
  if (unkillable)
    std::snprintf(text, sizeof text, "ran past its limit and could not be ended in %.1f s: a driver may hang", seconds);
  else if (timed_out) std::snprintf(text, sizeof text, "ran past its limit and was stopped after %.1f s", seconds);
  else if (signal) std::snprintf(text, sizeof text, "was killed by signal %d (%s)", signal, strsignal(signal));
  else if (exit_code > kShellsSignal && exit_code < kShellsSignal + NSIG)
    std::snprintf(text, sizeof text, "exited with %d, as a shell does whose command was killed by signal %d (%s)",
                  exit_code, exit_code - kShellsSignal, strsignal(exit_code - kShellsSignal));
  else std::snprintf(text, sizeof text, "exited with %d", exit_code);
  return text;
}

Result<ProcessOutcome> run_process(const std::vector<std::string>& argv, const ProcessOptions& options) {
  KERNELIFT_ASSERT(!argv.empty(), "run_process needs a program");
  std::vector<std::string> arguments = argv, environment = merged_environment(options);
  std::vector<char*> argument_pointers = pointers(arguments), environment_pointers = pointers(environment);

  Pipe out, err, failure;  // `failure` carries errno of a failed exec, and closes by itself on success.
  if (!failure.open_both() || (options.capture_output && (!out.open_both() || !err.open_both())))
    return environment_error(std::string("cannot start ") + argv[0] + ": " + std::strerror(errno));

  auto start = Clock::now();
  SignalsHeld signals;
  pid_t child = fork();
  if (child < 0) return environment_error(std::string("cannot start ") + argv[0] + ": " + std::strerror(errno));
  if (child == 0) {
    reset_handlers();
    signals.let_go();
    if (options.own_group) setpgid(0, 0);
    // This process ignores SIGPIPE and a child would inherit that, but programs in its pipelines rely on the signal.
    std::signal(SIGPIPE, SIG_DFL);
    if (options.capture_output) {
      int null = open("/dev/null", O_RDONLY);
      dup2(null, 0);
      dup2(out.write_end, 1);
      if (!options.share_stderr) dup2(err.write_end, 2);
    }
    // The child's own PATH decides which program is meant: execvpe would search with ours.
    environ = environment_pointers.data();
    if (options.prepare) {
      if (Status ready = options.prepare(); !ready.ok()) {
        std::fprintf(stderr, "%s\n", ready.error().message.c_str());
        std::fflush(stderr);
        constexpr int kCannotRun = 126;  // The exit code that shells use for this.
        _exit(kCannotRun);
      }
    }
    restore_descriptor_limit();
    if (options.folder.empty() || chdir(options.folder.c_str()) == 0)
      execvp(argument_pointers[0], argument_pointers.data());
    int code = errno;
    [[maybe_unused]] ssize_t ignored = write(failure.write_end, &code, sizeof code);
    _exit(127);
  }
  signals.let_go();
  if (options.own_group) setpgid(child, child);
  failure.close_end(failure.write_end);
  out.close_end(out.write_end);
  err.close_end(err.write_end);

  int exec_errno = 0;
  ssize_t told;
  while ((told = read(failure.read_end, &exec_errno, sizeof exec_errno)) < 0 && errno == EINTR) {}
  if (told == sizeof exec_errno) {
    waitpid(child, nullptr, 0);
    return environment_error("cannot run '" + argv[0] + "': " + std::strerror(exec_errno));
  }

  ProcessOutcome outcome;
  auto deadline = options.timeout ? std::optional(start + *options.timeout) : std::nullopt;
  int status = 0;
  // read_end is the child's pidfd, which is readable as soon as the child ends: applications are timed by it.
  Pipe alive;
  alive.read_end = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  std::optional<Clock::time_point> ended;
  while (!ended || out.read_end >= 0 || err.read_end >= 0) {
    pollfd fds[3] = {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}, {ended ? -1 : alive.read_end, POLLIN, 0}};
    poll(fds, 3, ended ? 0 : alive.read_end < 0 ? kTick : milliseconds_until(deadline));
    if (fds[0].revents && !drain(out.read_end, outcome.out, options.output_limit)) out.close_end(out.read_end);
    if (fds[1].revents && !drain(err.read_end, outcome.err, options.output_limit)) err.close_end(err.read_end);
    if (ended) {
      // A daemonised grandchild may hold the pipes open, or write to them, for ever: once the child has ended, only the
      // output that is already available is read.
      if ((!fds[0].revents && !fds[1].revents) || Clock::now() > *ended + kDryOut) break;
    } else if (pid_t found = waitpid(child, &status, WNOHANG); found == child || (found < 0 && errno == ECHILD)) {
      ended = Clock::now();  // ECHILD: somebody else was told how.
    } else if (deadline && Clock::now() >= *deadline) {
      if (outcome.timed_out) outcome.unkillable = true, ended = Clock::now();
      outcome.timed_out = true;
      // Stopped first: what the child has started is killed while it can still be found under the child.
      kill(child, SIGSTOP);
      (void)kill_descendants(child);
      kill(options.own_group ? -child : child, SIGKILL);
      deadline = Clock::now() + kToDie;
    }
  }
  outcome.seconds = std::chrono::duration<double>(*ended - start).count();
  if (outcome.unkillable) return outcome;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

std::optional<std::filesystem::path> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return access(name.c_str(), X_OK) == 0 ? std::optional<std::filesystem::path>(name) : std::nullopt;
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    std::filesystem::path candidate = std::filesystem::path(folder) / name;
    if (access(candidate.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(candidate)) return candidate;
  }
  return std::nullopt;
}

Result<std::vector<std::string>> split_command(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quote == '\'') {
      if (c == '\'') quote = 0;
      else word += c;
    } else if (c == '\\') {
      if (++i == line.size()) return usage_error("a backslash ends the command line: " + std::string(line));
      // Inside double quotes a backslash escapes only these characters.
      if (quote == '"' && !std::strchr("\"\\$`\n", line[i])) word += '\\';
      if (line[i] != '\n') word += line[i];
      in_word = true;
    } else if (quote == '"') {
      if (c == '"') quote = 0;
      else word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote) return usage_error(std::string("a quote is not closed in the command line: ") + std::string(line));
  if (in_word) words.push_back(word);
  return words;
}

std::string join_command(const std::vector<std::string>& argv) {
  std::string line;
  for (auto& word : argv) {
    if (!line.empty()) line += ' ';
    bool plain = !word.empty() && word.find_first_not_of(
                                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_-+=/.,:@%^") == std::string::npos;
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace kernelift
