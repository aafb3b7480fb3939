// A second thread polls for a received signal and passes it on, because a signal handler may do next to nothing.
#include "reintegrate/interruption.h"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <optional>
#include <thread>

#include "core/base/process_tree.h"
#include "core/base/signal_scope.h"

namespace kernelift::reintegrate {
namespace {

constexpr std::chrono::milliseconds kPoll{30};
/// Seconds after which a signal is a second request, and not the other half of the first: a session that ends sends
/// SIGTERM and SIGHUP together.
constexpr int kAnotherRequest = 2;
/// Seconds that a command has to save its state and end, after a request that was handed on to it.
constexpr int kToSave = 120;

std::atomic<int> received{0}, first_second{0}, last_second{0};

int seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int>(now.tv_sec);
}
std::atomic<bool> from_terminal{false};
std::optional<SignalScope> scope;
int guards = 0;  ///< That exist; the outermost one installs the handlers and restores what was there.

void on_signal(int signal, siginfo_t* info, void*) {
  from_terminal = info->si_code == SI_KERNEL;  // Then the whole process group has received the signal already.
  last_second = seconds_now();
  if (received == 0) first_second = last_second.load();
  received = signal;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  if (guards++ > 0) return;
  received = 0;
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  scope.emplace(action);
}

InterruptGuard::~InterruptGuard() {
  if (--guards == 0) scope.reset();
}

bool InterruptGuard::interrupted() { return received != 0; }

Result<ProcessOutcome> run_interruptibly(const std::vector<std::string>& argv, ProcessOptions options, Ending ending) {
  options.own_group = false;  // So that it can use the terminal; at a deadline the whole tree is killed.
  ProcessTree tree;
  options.prepare = tree.prepare(std::move(options.prepare));
  std::atomic<bool> finished{false};
  std::thread watcher([&] {
    for (bool told = false; !finished; std::this_thread::sleep_for(kPoll)) {
      int signal = received;
      if (!signal) continue;
      // Who asks again does not want to wait for a command that takes its time.
      bool again = last_second - first_second >= kAnotherRequest, late = seconds_now() - first_second >= kToSave;
      if (ending == Ending::Killed || again || late) (void)tree.kill();
      else if (!told) told = from_terminal || tree.signal(signal);
    }
  });
  auto ran = run_process(argv, options);
  finished = true;
  watcher.join();
  return ran;
}

}  // namespace kernelift::reintegrate
