// A forked process that runs images, as its parent sees it: asks it, times it, and tells what became of it.
//   clock   A launch is timed here, where no candidate's code can reach the clock: from just before the request, until
//           the kernel took the child's message that it is done (SO_TIMESTAMPNS: neither the child's word nor the
//           moment at which this process woke up), less what a request to do nothing takes. Before the request the
//           child has everything ready and watches for it.
//   done    A child that says so early is found out by what it leaves, or by what it writes later (late_writes.h).
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/device/confined_cpu/child.h"
#include "sandbox/device/device.h"

namespace kernelift::sandbox::confined {

class ChildProcess {
 public:
  static Result<std::unique_ptr<ChildProcess>> start(const Inheritance& inherited);
  ~ChildProcess();

  using Interrupted = std::function<bool()>;
  /// The answer of that type, or what became of the process: its fault, how it ended, that it took too long.
  DeviceOutcome ask(uint32_t request, std::string_view body, uint32_t wanted, std::chrono::milliseconds limit,
                    const Interrupted& interrupted, std::string& answer);
  /// The seconds of a request that it runs when it sees `go`. `closely`: waits without sleeping, if it is short.
  DeviceOutcome time(const RunRequest& request, bool closely, const Interrupted& interrupted, std::string& answer,
                     double& seconds);
  /// Kills it, for an answer that makes no sense.
  DeviceOutcome malformed() { return post_mortem(Arrival::Malformed, {}); }
  /// Threads that it has now, oldest first; none: not known.
  std::vector<pid_t> threads() const;
  /// Pins each of its `threads` to a processor from now on, once there are as many as processors. Where the scheduler
  /// puts them lasts from launch to launch and differs from process to process: of two equal kernels one would take 1.5
  /// times as long.
  void pin(const std::vector<pid_t>& threads);
  uint64_t used = 0;  ///< When it was last asked, for the device.

 private:
  ChildProcess() = default;
  Frame receive(std::chrono::milliseconds limit, const Interrupted& interrupted);
  DeviceOutcome post_mortem(Arrival how, std::chrono::milliseconds limit);
  /// Waits for the message that it is done. Arrival::Frame: `done_at` is set.
  Arrival wait_until_done(std::chrono::milliseconds limit, bool closely, const Interrupted& interrupted,
                          int64_t& done_at);
  enum class Message { None, Done, Closed };
  Message take_message(int64_t& done_at);

  Channel channel_;
  Descriptor done_;  ///< Its messages that it is done.
  ControlCell* cell_ = nullptr;
  uint32_t requests_ = 0;
  bool pinned_ = false;
  pid_t pid_ = -1;
};

}  // namespace kernelift::sandbox::confined
