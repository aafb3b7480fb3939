// A Runner in a process of its own, and the handle that the rest of the program has on it. The process is forked
// from a fork server that never called a driver; it opens the device itself, and whatever a candidate does to a GPU's
// context dies with it. Every wait has a deadline: a driver call that never returns costs this process, not the run.
#pragma once
#include <functional>
#include <memory>

#include "sandbox/evaluate/runner/runner.h"
#include "sandbox/jail/fork_server.h"

namespace kernelift {

/// What makes the device in the runner's process; `ordinal` counts GPUs.
using DeviceFactory = std::function<Result<std::unique_ptr<Device>>(int ordinal)>;
/// What the runner's process can do: its device, a profiler (none: facts() has no counters), a second clock (none:
/// timing is not cross-checked).
struct RunnerAbilities {
  DeviceFactory device;
  LaunchProfiler profile = {};
  KernelTracer trace = {};
  std::function<void()> prepare = {};  ///< Called once in the process that runners are forked from.
};

class RunnerProcess;
struct RunnerStart {
  std::unique_ptr<RunnerProcess> opened = nullptr;  ///< One that was opened already, for the first try.
  std::optional<Deadline> deadline = {};            ///< Of the calibration.
  std::function<void(bool)> quiet = {};             ///< In the process that asks: RunnerSettings::quiet.
};

class RunnerProcess {
 public:
  /// A fork server whose workers are runners of this MEP.
  static Result<std::unique_ptr<ForkServer>> fork_server(const Mep& mep, const std::filesystem::path& folder,
                                                  const RunnerSettings& settings, RunnerAbilities abilities);
  /// Starts a process and its device. An Error says what the GPU or its driver lacks.
  static Result<std::unique_ptr<RunnerProcess>> open(ForkServer& fork_server, int ordinal,
                                                     std::function<void(bool)> quiet = {});
  const DeviceFacts& facts() const { return facts_; }

  /// Places the memory and learns the original. `fatal`: experiments not to be tried.
  Result<BaselineReport> calibrate(const Original& original, bool cold, const std::set<std::string>& fatal,
                                   std::optional<Deadline> deadline = {});
  /// Whatever happens is in the verdict; alive() afterwards says whether this process can go on. nullopt: its time was
  /// over before there was one.
  std::optional<Evaluation> evaluate(const TrialCode& candidate, const Inquiry& inquiry);
  /// EXPECTS: calibrated. The last request: the process is of no further use for timing.
  Result<KernelFacts> kernel_facts();
  bool alive() const { return worker_.alive(); }
  /// False: the last evaluate() had no answer, so its verdict is only what is known of the process's end.
  bool answered() const { return answered_; }
  /// The experiment on the original that it was at when it died; empty: none.
  std::string experiment() const { return worker_.cell().read_item(); }
  const std::vector<std::string>& notes() const { return notes_; }
  /// By the first calibration that passed, if there is a second clock.
  const std::optional<CrossCheck>& cross_check() const { return cross_check_; }

  /// open() and calibrate(), again without the experiment that ended it, until it lives. `fatal` remembers.
  static Result<std::unique_ptr<RunnerProcess>> start(ForkServer& fork_server, int ordinal, const Original& original,
                                                      bool cold, std::set<std::string>& fatal, BaselineReport& report,
                                                      RunnerStart with = {});

 private:
  RunnerProcess(Worker worker, std::function<void(bool)> quiet)
      : worker_(std::move(worker)), quiet_(std::move(quiet)) {}
  Result<std::string> ask(uint32_t request, std::string_view body, std::chrono::milliseconds limit,
                          const std::function<void(const std::string&)>& tell = {});
  Worker worker_;
  std::function<void(bool)> quiet_;
  DeviceFacts facts_;
  std::vector<std::string> notes_;
  std::optional<CrossCheck> cross_check_;
  std::chrono::milliseconds evaluation_limit_{0};
  bool answered_ = true;
};

}  // namespace kernelift
