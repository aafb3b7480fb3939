// A Runner in a process of its own, and the handle by which the rest of the program uses it. The process is forked from
// a fork server that never called a driver, and opens the device itself; damage that a candidate does to a GPU's
// context ends with the process. Every wait has a deadline: a driver call that never returns costs one process, not the
// run.
#pragma once
#include <functional>
#include <memory>

#include "sandbox/evaluate/runner/runner.h"
#include "sandbox/jail/fork_server.h"

namespace kernelift::sandbox {

/// Opens the device, in the runner's process; `ordinal` counts GPUs.
using DeviceFactory = std::function<Result<std::unique_ptr<Device>>(int ordinal)>;
/// Abilities of a runner's process: its device, a profiler (null: kernel_facts() has no counters), a second clock
/// (null: timing is not cross-checked).
struct RunnerAbilities {
  DeviceFactory device;
  LaunchProfiler profile = {};
  KernelTracer trace = {};
  std::function<void()> prepare = {};  ///< Called once in the fork server.
  bool apart = false;                  ///< ForkServer::Plan::apart; not for a GPU's driver.
};

class RunnerProcess;
struct RunnerStart {
  std::unique_ptr<RunnerProcess> opened = nullptr;  ///< A process that is already open, for the first attempt.
  std::optional<Deadline> deadline = {};            ///< Of opening the device, and of the calibration.
  std::function<void(bool)> quiet = {};             ///< RunnerSettings::quiet, called in the requesting process.
  AskLengths lengths = {};                          ///< RunnerSettings::lengths, the same.
  AskReference why_no_reference = {};               ///< RunnerSettings::why_no_reference, the same.
};

class RunnerProcess {
 public:
  /// A fork server whose workers are runners of this MEP.
  static Result<std::unique_ptr<ForkServer>> fork_server(const Mep& mep, const std::filesystem::path& folder,
                                                         const RunnerSettings& settings, RunnerAbilities abilities);
  /// Starts a process, which opens its device by `deadline`. An Error says what the GPU or its driver lacks.
  static Result<std::unique_ptr<RunnerProcess>> open(ForkServer& fork_server, int ordinal,
                                                     std::function<void(bool)> quiet = {},
                                                     std::optional<Deadline> deadline = {});
  const DeviceFacts& facts() const { return facts_; }

  /// Places the recorded memory and calibrates the original. `fatal`: RunnerSettings::fatal.
  Result<BaselineReport> calibrate(const Original& original, bool cold, const std::set<std::string>& fatal,
                                   std::optional<Deadline> deadline = {});
  /// Failures are in the verdict; alive() tells whether this process can be used further. nullopt: the inquiry's time
  /// was over before there was a verdict.
  std::optional<Evaluation> evaluate(const RunnableCode& candidate, const Inquiry& inquiry);
  /// Of the last evaluate(): Runner::promise().
  double promise() const { return promise_; }
  /// What the time of the last calibrate() or evaluate() went to.
  const Laps& laps() const { return laps_; }
  /// Runner::length_bounds().
  LengthAnswer length_bounds(const RunnableCode& code, const LengthQuestion& question);
  /// EXPECTS: calibrated. The last request: the process must not be used for timing afterwards.
  Result<KernelFacts> kernel_facts();
  bool alive() const { return worker_.alive(); }
  /// False: the last evaluate() got no answer, so its verdict merely describes how the process ended.
  bool answered() const { return answered_; }
  /// The experiment on the original during which the process ended; empty: none.
  std::string experiment() const { return worker_.cell().read_item(); }
  const std::vector<std::string>& notes() const { return notes_; }
  /// Made by the first calibration that passed, if there is a second clock.
  const std::optional<CrossCheck>& cross_check() const { return cross_check_; }

  /// open() and calibrate(); if an experiment ends the process, it is added to `fatal` and both are repeated without
  /// it.
  static Result<std::unique_ptr<RunnerProcess>> start(ForkServer& fork_server, int ordinal, const Original& original,
                                                      bool cold, std::set<std::string>& fatal, BaselineReport& report,
                                                      RunnerStart with = {});

 private:
  RunnerProcess(Worker worker, std::function<void(bool)> quiet)
      : worker_(std::move(worker)), quiet_(std::move(quiet)) {}
  /// Sends the runner what it waits for.
  void answer_lengths(std::string_view asked);
  void answer_reference(std::string_view asked);
  Result<std::string> request(uint32_t type, std::string_view body, std::chrono::milliseconds limit,
                              const std::function<void(const std::string&)>& tell = {});
  Worker worker_;
  std::function<void(bool)> quiet_;
  AskLengths lengths_;
  AskReference why_no_reference_;
  DeviceFacts facts_;
  std::vector<std::string> notes_;
  std::optional<CrossCheck> cross_check_;
  std::chrono::milliseconds evaluation_limit_{0};
  bool answered_ = true;
  double promise_ = 0;
  Laps laps_;
};

}  // namespace kernelift::sandbox
