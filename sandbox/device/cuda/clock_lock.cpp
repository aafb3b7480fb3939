// See clock_lock.h. Children of this process may inherit our end of the socket, so it may stay open when this process
// ends: the holder also checks whether its parent is still the process that forked it.
#include "sandbox/device/cuda/clock_lock.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace kernelift::sandbox {
namespace {

constexpr int kCheckEvery = 100;  // Milliseconds between checks of the parent.
constexpr char kLocked = 'l';

/// The holding process. It ignores the signals that a terminal sends to its programs or a user to a process group.
[[noreturn]] void hold(int socket, pid_t parent, const ClockControlFactory& make) {
  ::setsid();
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(number, SIG_IGN);
  prctl(PR_SET_NAME, "kl-clocks");
  auto say = [&](const std::string& text) { return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) >= 0; };
  auto control = make();
  Status locked = control.ok() ? (*control)->lock() : Status(control.error());
  if (!locked.ok()) {
    say(locked.error().message.empty() ? "unknown" : locked.error().message);
    _exit(1);
  }
  say({kLocked});
  pollfd wait{socket, POLLIN, 0};
  while (::getppid() == parent && ::poll(&wait, 1, kCheckEvery) <= 0) {}
  (*control)->reset();
  _exit(0);
}

}  // namespace

Result<std::unique_ptr<ClockLock>> ClockLock::take(const ClockControlFactory& control) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return environment_error("cannot start the process that holds the GPU's clocks: " +
                             std::string(std::strerror(errno)));
  pid_t parent = ::getpid(), holder = ::fork();
  if (holder == 0) {
    ::close(ends[0]);
    hold(ends[1], parent, control);
  }
  ::close(ends[1]);
  char answer[1024];
  ssize_t size = -1;
  if (holder > 0) do
      size = ::recv(ends[0], answer, sizeof answer, 0);
    while (size < 0 && errno == EINTR);
  if (size == 1 && answer[0] == kLocked) return std::unique_ptr<ClockLock>(new ClockLock(holder, ends[0]));
  ::close(ends[0]);
  if (holder > 0) ::waitpid(holder, nullptr, 0);
  return environment_error(size > 1 ? std::string(answer, static_cast<size_t>(size))
                                    : "the process that holds the GPU's clocks ended");
}

ClockLock::~ClockLock() {
  ::send(socket_, "", 1, MSG_NOSIGNAL);
  while (::waitpid(holder_, nullptr, 0) < 0 && errno == EINTR) {}
  ::close(socket_);
}

Result<std::unique_ptr<ClockLock>> lock_clocks(bool wanted, const std::string& device) {
  if (!wanted) return std::unique_ptr<ClockLock>();
  KERNELIFT_ASSIGN(auto control, nvml_clock_control(device));
  return ClockLock::take(control);
}

}  // namespace kernelift::sandbox
