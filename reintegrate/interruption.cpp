// A second thread polls for a received signal and passes it on, because a signal handler may do next to nothing. It
// finds the descendants through /proc and not by process group, because a build may put its children into other groups.
#include "reintegrate/interruption.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>
#include <vector>

namespace kernelift::reintegrate {
namespace {

constexpr std::chrono::milliseconds kPoll{30};
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> received{0};
std::atomic<bool> from_terminal{false};
struct sigaction previous_actions[std::size(kSignals)];

void on_signal(int signal, siginfo_t* info, void*) {
  from_terminal = info->si_code == SI_KERNEL;  // Then the whole process group has received the signal already.
  received = signal;
}

/// Children by parent, from one pass over all processes: not every Linux kernel offers /proc/<pid>/task/<tid>/children.
std::multimap<pid_t, pid_t> children_of_all() {
  std::multimap<pid_t, pid_t> children;
  std::error_code code;
  for (auto& entry : std::filesystem::directory_iterator("/proc", code)) {
    pid_t process = std::atoi(entry.path().filename().c_str());
    if (process <= 0) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat((std::istreambuf_iterator<char>(file)), {});
    // "17 (a name that may contain brackets) S 1 …"
    size_t name_end = stat.rfind(')');
    pid_t parent = 0;
    if (name_end != stat.npos && std::sscanf(stat.c_str() + name_end, ") %*c %d", &parent) == 1)
      children.emplace(parent, process);
  }
  return children;
}

void find_descendants(const std::multimap<pid_t, pid_t>& children, pid_t of, std::vector<pid_t>& found) {
  auto [first, last] = children.equal_range(of);
  for (auto child = first; child != last; ++child) {
    found.push_back(child->second);
    find_descendants(children, child->second, found);
  }
}

/// Signals parents first: a shell whose command was killed first would go on to its next command. All descendants are
/// found before any is signalled, because the children of a process that has ended are no longer found under it.
void signal_descendants(pid_t of, int signal) {
  std::vector<pid_t> found;
  find_descendants(children_of_all(), of, found);
  for (pid_t descendant : found) kill(descendant, signal);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  received = 0;
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &previous_actions[i]);
}

InterruptGuard::~InterruptGuard() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &previous_actions[i], nullptr);
}

bool InterruptGuard::interrupted() { return received != 0; }

Result<ProcessOutcome> run_interruptibly(const std::vector<std::string>& argv, ProcessOptions options, Ending ending) {
  options.own_group = options.timeout.has_value();  // On timeout the whole group is killed.
  std::atomic<bool> finished{false};
  std::thread watcher([&] {
    for (bool told = false; !finished; std::this_thread::sleep_for(kPoll)) {
      int signal = received;
      if (!signal) continue;
      if (ending == Ending::Killed) signal_descendants(getpid(), SIGKILL);
      else if (!std::exchange(told, true) && !(from_terminal && !options.own_group))
        signal_descendants(getpid(), signal);
    }
  });
  auto ran = run_process(argv, options);
  finished = true;
  watcher.join();
  return ran;
}

}  // namespace kernelift::reintegrate
