// The runner's side of a trial; see trial.h.
#include "sandbox/evaluate/cpu/trial.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/base/wire.h"
#include "sandbox/jail/cpu_time_limit.h"

namespace kernelift {
namespace {

constexpr std::chrono::milliseconds kLoadLimit = std::chrono::seconds(20);
constexpr uint64_t kLargestReply = 16 << 20;

}  // namespace

Result<std::unique_ptr<Trial>> Trial::start(const Mep& mep, const ReplayMemory& memory, const TrialCode& baseline,
                                            const TrialCode* candidate, const TrialSettings& settings,
                                            bool candidate_first) {
  KERNELIFT_ASSIGN(auto ends, Channel::pair());
  std::unique_ptr<Trial> trial(new Trial);
  trial->memory_ = &memory;
  trial->limit_ = settings.launch_limit;
  trial->fault_ = static_cast<FaultReport*>(shared_memory(sizeof(FaultReport)));
  if (!trial->fault_) return environment_error("not enough memory to start a candidate's process");
  pid_t self = getpid();
  trial->pid_ = fork();
  if (trial->pid_ < 0)
    return environment_error(std::string("cannot fork a candidate's process: ") + std::strerror(errno));
  if (trial->pid_ == 0) {
    ends.first.close();
    if (!bind_to_parent(self)) _exit(0);
    // The runner's other connections are not the candidate's: what is sent over them is believed.
    close_descriptors_but(ends.second.fd());
    serve_trial(std::move(ends.second), trial->fault_, mep, memory, baseline, candidate, settings, candidate_first);
  }
  trial->channel_ = std::move(ends.first);
  return trial;
}

Trial::~Trial() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
  }
  if (fault_) munmap(fault_, sizeof *fault_);
}

TrialFailure Trial::post_mortem(Arrival how, size_t instance) {
  if (pid_ <= 0)
    return {Outcome::Crashed, "the candidate's process has ended before"};  // To signal -1 is to signal everybody.
  kill(pid_, how == Arrival::Closed ? SIGCONT : SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
  pid_ = -1;
  FaultReport fault = *fault_;
  if (how == Arrival::TimedOut) return {Outcome::TimedOut, "not done after " + std::to_string(limit_.count()) + " ms"};
  if (how == Arrival::Malformed) return {Outcome::Crashed, "the candidate's process sent nonsense"};
  if (fault.signal == SIGSYS) return {Outcome::Cheated, fault.text()};
  if (fault.signal == SIGSEGV || fault.signal == SIGBUS) {
    std::string near = memory_->neighbourhood(instance, fault.address);
    if (!near.empty() && fault.known_access && fault.write) return {Outcome::WroteOutside, near};
    return {Outcome::Crashed, fault.text() + (near.empty() ? "" : " (" + near + ")")};
  }
  if (fault.signal != 0) return {Outcome::Crashed, fault.text()};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
    return {Outcome::Crashed,
            "segmentation fault on a stack that ran out: recursion without end, or a very large frame"};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) return {Outcome::TimedOut, "used up its processor time"};
  return {Outcome::Crashed,
          WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit code " + std::to_string(WEXITSTATUS(status))};
}

std::optional<TrialFailure> Trial::read_failure(const Frame& frame, size_t instance, std::string* rest) {
  if (!frame) return post_mortem(frame.arrival, instance);
  WireReader reader(frame.body);
  auto outcome = outcome_from_name(reader.text());
  TrialFailure failure{outcome.ok() ? *outcome : Outcome::Crashed, reader.text()};
  std::string payload = reader.text();
  if (!reader.ok() || !outcome.ok()) return post_mortem(Arrival::Malformed, instance);
  if (failure.outcome != Outcome::Ok) return failure;
  if (rest) *rest = std::move(payload);
  return std::nullopt;
}

Frame Trial::receive(std::chrono::milliseconds limit) {
  // Asked often enough that a run ends on time, seldom enough to cost nothing.
  constexpr int kAskMilliseconds = 20;
  const CpuTimeLimit time_limit(pid_, limit);
  const auto begin = Deadline::clock::now();
  pollfd waiting{channel_.fd(), POLLIN, 0};
  while (poll(&waiting, 1, kAskMilliseconds) <= 0)
    if (time_limit.is_over(Deadline::clock::now() - begin) || (ended_ && ended_()))
      return {Arrival::TimedOut, 0, {}, {}};
  return channel_.receive(after(limit), kLargestReply);
}

std::optional<TrialFailure> Trial::loaded() {
  Frame frame = receive(kLoadLimit);
  if (frame && frame.type != trial_frame::kLoaded) frame.arrival = Arrival::Malformed;
  return read_failure(frame, 0, nullptr);
}

std::optional<TrialFailure> Trial::run(Side side, size_t instance, std::string_view variables) {
  channel_.send(trial_frame::kRun,
                WireWriter().number(static_cast<uint64_t>(side)).number(instance).text(variables).take(), {},
                after(limit_));
  Frame frame = receive(limit_);
  if (frame && frame.type != trial_frame::kRan) frame.arrival = Arrival::Malformed;
  std::string rest;
  auto failure = read_failure(frame, instance, &rest);
  if (!failure) last_seconds_ = WireReader(rest).real();
  return failure;
}

TrialTimes Trial::time(size_t instance, int rounds, int batch) {
  TrialTimes times;
  channel_.send(trial_frame::kTime, WireWriter().number(instance).number(rounds).number(batch).take(), {},
                after(limit_));
  // Each launch may take its limit, but not all of them: a candidate that turned slow is caught after a few.
  constexpr int kLaunchesWorth = 8;
  Frame frame = receive(limit_ * kLaunchesWorth);
  if (frame && frame.type != trial_frame::kTimed) frame.arrival = Arrival::Malformed;
  std::string rest;
  times.failure = read_failure(frame, instance, &rest);
  if (times.failure) return times;
  WireReader reader(rest);
  times.baseline = reader.reals(), times.candidate = reader.reals();
  auto good = [&](const std::vector<double>& values) {
    return values.size() == static_cast<size_t>(rounds) &&
           std::all_of(values.begin(), values.end(), [](double value) { return value > 0 && value < 1e6; });
  };
  if (!reader.ok() || !good(times.baseline) || !good(times.candidate))
    times.failure = post_mortem(Arrival::Malformed, instance);
  return times;
}

}  // namespace kernelift
