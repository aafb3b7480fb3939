// A forked process that runs images, as its parent sees it: asks it, times it, and tells what became of it.
//   before  What a launch finds (inputs, outputs, variables) is put in place once the child has all else ready and
//           sleeps. The processor time that its threads use from then on counts as the launch's: code of a candidate
//           that runs in between wins nothing by it. The child is woken before the clock starts, and watches for it.
//   clock   A launch is timed here, where no candidate's code can reach the clock: from just before the request, until
//           the kernel took the child's message that it is done (SO_TIMESTAMPNS: neither the child's word nor the
//           moment at which this process woke up), less what a request to do nothing takes.
//   done    A child that says so early is found out by what it leaves, or by what it writes later (late_writes.h).
//   rest    A child that uses the processor while nothing is asked of it is stopped then (SIGSTOP).
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
  /// All of a request at once, untimed.
  DeviceOutcome run(const RunRequest& request, const Interrupted& interrupted, std::string& answer);
  /// A timed launch, in this order: prepare(); begin_filling(); what it finds is put in place; launch(); finish().
  /// `answer`: not empty if it has ended already, with a fault.
  DeviceOutcome prepare(const RunRequest& request, const Interrupted& interrupted, std::string& answer);
  void begin_filling() { filling_from_ = cpu_time(); }
  /// Its seconds. `closely`: waits without sleeping, if it is short.
  DeviceOutcome launch(const RunRequest& request, bool closely, const Interrupted& interrupted, double& seconds);
  DeviceOutcome finish(const Interrupted& interrupted, std::string& answer);
  /// Processor time of all its threads so far.
  std::chrono::nanoseconds cpu_time() const;
  /// From now on it is stopped while nothing is asked of it.
  void stop_when_idle();
  /// Variables' values into the waiting child, or, with what is left of their canaries, back. False: there is no way to
  /// its memory.
  bool carry_variables(const RunRequest& request, bool into_child);
  /// Whether carry_variables() knows where the image's variables lie.
  bool knows(uint64_t image) const { return variables_.contains(image); }
  /// No more once a candidate's code ran in it: this process writes there, past the protection of pages.
  void learn(uint64_t image, std::vector<uint64_t> addresses) {
    if (!has_run_) variables_[image] = std::move(addresses);
  }
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
  void go_on() const;
  bool has_ended() const;
  Arrival wait_until_awake(const Interrupted& interrupted) const;
  DeviceOutcome answered(uint32_t wanted, std::chrono::milliseconds limit, const Interrupted& interrupted,
                         std::string& answer);
  bool carry(bool into_child, uint64_t own, uint64_t copy, uint64_t bytes) const;
  Frame receive(std::chrono::milliseconds limit, const Interrupted& interrupted);
  DeviceOutcome post_mortem(Arrival how, std::chrono::milliseconds limit);
  /// Waits for the message that it is done. Arrival::Frame: `done_at` is set.
  Arrival wait_until_done(std::chrono::milliseconds limit, bool closely, const Interrupted& interrupted,
                          int64_t& done_at);
  enum class Message { None, Done, Closed };
  Message take_message(int64_t& done_at);

  Channel channel_;
  Descriptor done_;    ///< Its messages that it is done.
  Descriptor memory_;  ///< All of its memory.
  ControlCell* cell_ = nullptr;
  std::map<uint64_t, std::vector<uint64_t>> variables_;  ///< By image, by index: addresses in the child.
  bool has_run_ = false;                                 ///< A launch was asked of it.
  uint32_t requests_ = 0;
  bool restless_ = false;                     ///< It used the processor while nothing was asked of it.
  std::chrono::nanoseconds filling_from_{0};  ///< cpu_time() before its launch's memory was filled.
  bool pinned_ = false;
  pid_t pid_ = -1;
};

}  // namespace kernelift::sandbox::confined
