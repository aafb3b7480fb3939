// See clock_lock.h. Children of this process may inherit our end of the line, so its closing says nothing: the holder
// also looks whether its parent is still the one that it was born to.
#include "sandbox/device/cuda/clock_lock.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace kernelift {
namespace {

constexpr int kLookEvery = 100;  // Milliseconds.
constexpr char kLocked = 'l';

/// The holder's life. Nothing that is sent to a terminal's programs, or to all that belong to one, ends it early.
[[noreturn]] void hold(int line, pid_t parent, const ClockControlFactory& make) {
  ::setsid();
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(number, SIG_IGN);
  prctl(PR_SET_NAME, "kl-clocks");
  auto say = [&](const std::string& text) { return ::send(line, text.data(), text.size(), MSG_NOSIGNAL) >= 0; };
  auto control = make();
  Status locked = control.ok() ? (*control)->lock() : Status(control.error());
  if (!locked.ok()) {
    say(locked.error().message.empty() ? "unknown" : locked.error().message);
    _exit(1);
  }
  say({kLocked});
  pollfd wait{line, POLLIN, 0};
  while (::getppid() == parent && ::poll(&wait, 1, kLookEvery) <= 0) {}
  (*control)->reset();
  _exit(0);
}

}  // namespace

Result<std::unique_ptr<ClockLock>> ClockLock::take(const ClockControlFactory& control) {
  int line[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0)
    return environment_error("cannot start the process that holds the GPU's clocks: " +
                             std::string(std::strerror(errno)));
  pid_t parent = ::getpid(), holder = ::fork();
  if (holder == 0) {
    ::close(line[0]);
    hold(line[1], parent, control);
  }
  ::close(line[1]);
  char answer[1024];
  ssize_t size = -1;
  if (holder > 0) do
      size = ::recv(line[0], answer, sizeof answer, 0);
    while (size < 0 && errno == EINTR);
  if (size == 1 && answer[0] == kLocked) return std::unique_ptr<ClockLock>(new ClockLock(holder, line[0]));
  ::close(line[0]);
  if (holder > 0) ::waitpid(holder, nullptr, 0);
  return environment_error(size > 1 ? std::string(answer, static_cast<size_t>(size))
                                    : "the process that holds the GPU's clocks ended");
}

ClockLock::~ClockLock() {
  ::send(line_, "", 1, MSG_NOSIGNAL);
  while (::waitpid(holder_, nullptr, 0) < 0 && errno == EINTR) {}
  ::close(line_);
}

Result<std::unique_ptr<ClockLock>> lock_clocks(bool wanted, const std::string& device) {
  if (!wanted) return std::unique_ptr<ClockLock>();
  KERNELIFT_ASSIGN(auto control, nvml_clock_control(device));
  return ClockLock::take(control);
}

}  // namespace kernelift
