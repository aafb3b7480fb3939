// See child_process.h.
#include "sandbox/device/confined_cpu/child_process.h"

#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "sandbox/jail/cpu_time_limit.h"
#include "sandbox/jail/namespaces.h"

namespace kernelift::sandbox::confined {
namespace {

constexpr uint64_t kLargestReply = 16 << 20;
constexpr int64_t kSecond = 1'000'000'000;
// Asked often enough that a run ends on time, seldom enough to cost nothing.
constexpr int kAskMilliseconds = 20;

int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }
/// The clock of the kernel's timestamps.
int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return nanoseconds(time);
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const Inheritance& inherited) {
  KERNELIFT_ASSIGN(auto ends, Channel::pair());
  int done[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, done) != 0)
    return environment_error(std::string("cannot start a candidate's process: ") + std::strerror(errno));
  Descriptor ours(done[0]), theirs(done[1]);
  const int on = 1;
  // Without timestamps the time at which this process wakes up is taken: later, and less steady.
  setsockopt(ours.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  std::unique_ptr<ChildProcess> child(new ChildProcess);
  void* memory = shared_memory(sizeof(ControlCell));
  if (!memory) return environment_error("not enough memory to start a candidate's process");
  child->cell_ = new (memory) ControlCell;
  pid_t self = getpid();
  child->pid_ = fork_apart();
  if (child->pid_ < 0)
    return environment_error(std::string("cannot fork a candidate's process: ") + std::strerror(errno));
  if (child->pid_ == 0) {
    ends.first.close(), ours.reset();
    if (!bind_to_parent(self)) _exit(0);
    // The parent's other connections are not the candidate's: what is sent over them is believed.
    close_descriptors_but({ends.second.fd(), theirs.get()});
    serve(std::move(ends.second), std::move(theirs), child->cell_, inherited);
  }
  child->channel_ = std::move(ends.first), child->done_ = std::move(ours);
  return child;
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
  }
  if (cell_) munmap(cell_, sizeof *cell_);
}

DeviceOutcome ChildProcess::ask(uint32_t request, std::string_view body, uint32_t wanted,
                                std::chrono::milliseconds limit, const Interrupted& interrupted, std::string& answer) {
  channel_.send(request, body, {}, after(limit));
  Frame frame = receive(limit, interrupted);
  if (frame && frame.type != wanted) frame.arrival = Arrival::Malformed;
  if (!frame) return post_mortem(frame.arrival, limit);
  answer = std::move(frame.body);
  return {};
}

DeviceOutcome ChildProcess::time(const RunRequest& request, bool closely, const Interrupted& interrupted,
                                 std::string& answer, double& seconds) {
  constexpr std::chrono::milliseconds kPreparing{20'000};
  DeviceOutcome outcome = ask(kPrepare, encode(request), kPrepared, kPreparing, interrupted, answer);
  if (!outcome.ok() || !answer.empty()) return outcome;  // Not empty: the fault with which it ended already.
  int64_t done_at = 0;
  if (take_message(done_at) != Message::None) return malformed();  // It is done before it was asked.
  const int64_t begun = now();
  const auto began = std::chrono::steady_clock::now();
  cell_->go.store(++requests_, std::memory_order_release);
  if (Arrival arrival = wait_until_done(request.limit, closely, interrupted, done_at); arrival != Arrival::Frame)
    return post_mortem(arrival, request.limit);
  const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  seconds = static_cast<double>(done_at - begun) * 1e-9;
  // If the system's clock was set meanwhile, this process's own waiting is as good.
  if (seconds <= 0 || seconds > waited) seconds = waited;
  Frame frame = receive(kPreparing, interrupted);
  if (frame && frame.type != kRan) frame.arrival = Arrival::Malformed;
  if (!frame) return post_mortem(frame.arrival, kPreparing);
  answer = std::move(frame.body);
  return {};
}

ChildProcess::Message ChildProcess::take_message(int64_t& done_at) {
  char byte = 0;
  alignas(cmsghdr) char control[256];
  iovec into{&byte, 1};
  msghdr message{};
  message.msg_iov = &into, message.msg_iovlen = 1;
  message.msg_control = control, message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(done_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Message::None : Message::Closed;
  if (got == 0) return Message::Closed;
  done_at = now();
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec time{};
    std::memcpy(&time, CMSG_DATA(part), sizeof time);
    done_at = nanoseconds(time);
  }
  return Message::Done;
}

Arrival ChildProcess::wait_until_done(std::chrono::milliseconds limit, bool closely, const Interrupted& interrupted,
                                      int64_t& done_at) {
  constexpr auto kClosely = std::chrono::milliseconds(5);
  const CpuTimeLimit time_limit(pid_, limit);
  const auto begin = Deadline::clock::now();
  auto message = [&] {
    switch (take_message(done_at)) {
      case Message::Done: return Arrival::Frame;
      case Message::Closed: return Arrival::Closed;
      default: return Arrival::TimedOut;
    }
  };
  // The launch may need this very core.
  for (; closely && Deadline::clock::now() - begin < kClosely; sched_yield())
    if (Arrival arrival = message(); arrival != Arrival::TimedOut) return arrival;
  pollfd waiting{done_.get(), POLLIN, 0};
  for (;;) {
    if (poll(&waiting, 1, kAskMilliseconds) > 0)
      if (Arrival arrival = message(); arrival != Arrival::TimedOut) return arrival;
    if (time_limit.is_over(Deadline::clock::now() - begin) || (interrupted && interrupted())) return Arrival::TimedOut;
  }
}

Frame ChildProcess::receive(std::chrono::milliseconds limit, const Interrupted& interrupted) {
  const CpuTimeLimit time_limit(pid_, limit);
  const auto begin = Deadline::clock::now();
  pollfd waiting{channel_.fd(), POLLIN, 0};
  while (poll(&waiting, 1, kAskMilliseconds) <= 0)
    if (time_limit.is_over(Deadline::clock::now() - begin) || (interrupted && interrupted()))
      return {Arrival::TimedOut, 0, {}, {}};
  return channel_.receive(after(limit), kLargestReply);
}

std::vector<pid_t> ChildProcess::threads() const {
  std::error_code ignored;
  std::vector<pid_t> threads;
  const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
  for (std::filesystem::directory_iterator at(tasks, ignored), end; !ignored && at != end; at.increment(ignored))
    threads.push_back(static_cast<pid_t>(std::atoi(at->path().filename().c_str())));
  std::ranges::sort(threads);
  return threads;
}

void ChildProcess::pin(const std::vector<pid_t>& threads) {
  cpu_set_t allowed;
  if (pinned_ || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::vector<int> processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &allowed)) processors.push_back(processor);
  // A thread that starts others passes its place on, and oneTBB counts the processors of the one that starts it.
  if (threads.size() < processors.size()) return;
  for (size_t i = 0; i < threads.size(); ++i) {
    cpu_set_t place;
    CPU_ZERO(&place);
    CPU_SET(processors[i % processors.size()], &place);
    sched_setaffinity(threads[i], sizeof place, &place);  // Where that is forbidden, the scheduler goes on choosing.
  }
  pinned_ = true;
}

DeviceOutcome ChildProcess::post_mortem(Arrival how, std::chrono::milliseconds limit) {
  DeviceOutcome outcome{DeviceFault::Crashed, "the candidate's process has ended before"};
  outcome.survived = true;
  if (pid_ <= 0) return outcome;  // To signal -1 is to signal everybody.
  kill(pid_, how == Arrival::Closed ? SIGCONT : SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
  pid_ = -1;
  const FaultReport fault = cell_->fault;
  auto ended = [&](DeviceFault what, std::string detail) {
    outcome.fault = what, outcome.detail = std::move(detail);
    return outcome;
  };
  if (how == Arrival::TimedOut)
    return ended(DeviceFault::TimedOut, "not done after " + std::to_string(limit.count()) + " ms");
  if (how == Arrival::Malformed) return ended(DeviceFault::Crashed, "the candidate's process sent nonsense");
  if (fault.signal == SIGSYS) return ended(DeviceFault::Forbidden, fault.text());
  if (fault.signal == SIGSEGV || fault.signal == SIGBUS)
    outcome.address = fault.address, outcome.wrote = fault.known_access && fault.write;
  if (fault.signal != 0) return ended(DeviceFault::Crashed, fault.text());
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
    return ended(DeviceFault::Crashed,
                 "segmentation fault on a stack that ran out: recursion without end, or a very large frame");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    return ended(DeviceFault::TimedOut, "used up its processor time");
  return ended(DeviceFault::Crashed,
               WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit code " + std::to_string(WEXITSTATUS(status)));
}

}  // namespace kernelift::sandbox::confined
