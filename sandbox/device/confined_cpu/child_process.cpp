// See child_process.h.
#include "sandbox/device/confined_cpu/child_process.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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
constexpr std::chrono::milliseconds kStarting{20'000}, kPreparing{20'000}, kEnding{2'000};

int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }
/// The clock of the kernel's timestamps.
int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return nanoseconds(time);
}

bool launches(const RunRequest& request) {
  using Step = DeviceProgram::Step;
  return std::ranges::find(request.steps, Step::Kind::Launch, &Step::kind) != request.steps.end();
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
  // Sent before any candidate's code is in it. Without it there are no launches with variables.
  Frame first = child->channel_.receive(after(kStarting));
  if (!first || first.type != kMemory) return environment_error("a candidate's process does not start");
  if (!first.descriptors.empty()) child->memory_ = std::move(first.descriptors[0]);
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
  go_on();
  channel_.send(request, body, {}, after(limit));
  return answered(wanted, limit, interrupted, answer);
}

DeviceOutcome ChildProcess::answered(uint32_t wanted, std::chrono::milliseconds limit, const Interrupted& interrupted,
                                     std::string& answer) {
  Frame frame = receive(limit, interrupted);
  if (frame && frame.type != wanted) frame.arrival = Arrival::Malformed;
  if (!frame) return post_mortem(frame.arrival, limit);
  answer = std::move(frame.body);
  // Before a launch what it uses is counted, and its threads have to fall asleep like others'.
  if (restless_ && wanted != kPrepared) stop_when_idle();
  return {};
}

std::chrono::nanoseconds ChildProcess::cpu_time() const {
  clockid_t clock = 0;
  timespec used{};
  if (pid_ <= 0 || clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0) return {};
  return std::chrono::nanoseconds(nanoseconds(used));
}

bool ChildProcess::has_ended() const {
  siginfo_t found{};
  return waitid(P_PID, static_cast<id_t>(pid_), &found, WEXITED | WNOWAIT | WNOHANG) != 0 || found.si_pid == pid_;
}

void ChildProcess::stop_when_idle() {
  restless_ = true;
  if (pid_ > 0) kill(pid_, SIGSTOP);
}

void ChildProcess::go_on() const {
  if (pid_ > 0 && restless_) kill(pid_, SIGCONT);
}

DeviceOutcome ChildProcess::run(const RunRequest& request, const Interrupted& interrupted, std::string& answer) {
  has_run_ |= launches(request);
  return ask(kRun, encode(request), kRan, request.limit, interrupted, answer);
}

DeviceOutcome ChildProcess::prepare(const RunRequest& request, const Interrupted& interrupted, std::string& answer) {
  has_run_ |= launches(request);
  return ask(kPrepare, encode(request), kPrepared, kPreparing, interrupted, answer);
}

Arrival ChildProcess::wait_until_awake(const Interrupted& interrupted) const {
  constexpr auto kClosely = std::chrono::milliseconds(5);
  for (const auto begin = Deadline::clock::now(); cell_->awake.load(std::memory_order_acquire) != requests_;) {
    const auto waited = Deadline::clock::now() - begin;
    if (waited > kPreparing || (interrupted && interrupted())) return Arrival::TimedOut;
    if (waited > kClosely && has_ended()) return Arrival::Closed;
    waited < kClosely ? sched_yield() : usleep(100);
  }
  return Arrival::Frame;
}

DeviceOutcome ChildProcess::launch(const RunRequest& request, bool closely, const Interrupted& interrupted,
                                   double& seconds) {
  int64_t done_at = 0;
  if (take_message(done_at) != Message::None) return malformed();  // It is done before it was asked.
  cell_->wake.store(++requests_, std::memory_order_release);
  syscall(SYS_futex, &cell_->wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  if (Arrival arrival = wait_until_awake(interrupted); arrival != Arrival::Frame)
    return post_mortem(arrival, kPreparing);
  const auto began = std::chrono::steady_clock::now();
  const int64_t begun = now();
  const auto used = cpu_time() - filling_from_;
  cell_->go.store(requests_, std::memory_order_release);
  if (Arrival arrival = wait_until_done(request.limit, closely, interrupted, done_at); arrival != Arrival::Frame)
    return post_mortem(arrival, request.limit);
  const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  seconds = static_cast<double>(done_at - begun) * 1e-9;
  // If the system's clock was set meanwhile, this process's own waiting is as good.
  if (seconds <= 0 || seconds > waited) seconds = waited;
  seconds += std::max(0.0, std::chrono::duration<double>(used).count());
  return {};
}

DeviceOutcome ChildProcess::finish(const Interrupted& interrupted, std::string& answer) {
  return answered(kRan, kPreparing, interrupted, answer);
}

bool ChildProcess::carry_variables(const RunRequest& request, bool into_child) {
  for (auto& [image, variables] : request.variables) {
    auto known = variables_.find(image);
    for (auto& variable : variables) {
      if (known == variables_.end() || variable.index >= known->second.size()) return false;
      const uint64_t own = known->second[variable.index], copy = variable.shadow, room = variable.room;
      if (variable.bound && !carry(into_child, own, copy, variable.size)) return false;
      if (into_child) continue;
      if (!carry(false, own - room, copy - room, room)) return false;
      if (!carry(false, own + variable.size, copy + variable.size, room)) return false;
    }
  }
  return true;
}

bool ChildProcess::carry(bool into_child, uint64_t own, uint64_t copy, uint64_t bytes) const {
  while (bytes > 0) {
    auto* here = reinterpret_cast<void*>(copy);
    const auto there = static_cast<off_t>(own);
    const ssize_t moved =
        into_child ? pwrite(memory_.get(), here, bytes, there) : pread(memory_.get(), here, bytes, there);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    own += static_cast<uint64_t>(moved), copy += static_cast<uint64_t>(moved), bytes -= static_cast<uint64_t>(moved);
  }
  return true;
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
  // It may have closed its connections and live on.
  for (const auto closed = Deadline::clock::now(); how == Arrival::Closed && !has_ended(); usleep(100)) {
    kill(pid_, SIGCONT);
    if (Deadline::clock::now() - closed > kEnding) break;
  }
  if (!has_ended()) kill(pid_, SIGKILL);
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
