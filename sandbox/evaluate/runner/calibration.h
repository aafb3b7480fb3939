// Learns from the original what is needed to judge candidates. For every instance it is run
//   as recorded            Does it reproduce the capture? How much do several runs differ? On a processor also with
//                          blocks in another order, since two runs in the same order may agree by chance
//   compiled otherwise     how far rounding alone moves results: Tolerances
//   with poisoned outputs  which bytes it writes: WriteSet
//   timed                  how long a launch takes, and from that the time limit for candidates
// Poison and perturbed inputs may make the original access wild addresses, and on a GPU a fault ends this process. Such
// an experiment is announced first; an experiment that ended an earlier process is not tried again.
#pragma once
#include "sandbox/evaluate/runner/timing/racing.h"
#include "sandbox/evaluate/runner/tolerances.h"
#include "sandbox/evaluate/runner/write_set.h"

namespace kernelift::sandbox {

/// The builds of the original that a runner needs.
struct Original {
  RunnableCode code;  ///< Built by our compiler; candidates of that compiler are raced against it.
  std::vector<std::string> roundings = {};            ///< Images that round differently.
  std::string application = {};                       ///< The application's own machine code; empty: not known.
  std::function<void(const std::string&)> tell = {};  ///< RunnerSettings::tell, called in the requesting process.
  std::vector<std::string> at_random = {};            ///< Images with randomly rounded sums.
  /// A search begins: what its time suffices for is told, and it is an Error if that is nothing.
  bool begins_search = false;
};

class Calibration {
 public:
  Calibration(Workbench& bench, Verification& verification, Racing& racing, Tolerances& tolerances)
      : bench_(bench), verification_(verification), racing_(racing), tolerances_(tolerances), writes_(bench) {}

  /// Fills the workbench's report. An Error if the device fails or the deadline passes.
  Status calibrate(const Original& original);
  /// By instance.
  const std::vector<MeasurementPlan::Cost>& costs() const { return costs_; }

 private:
  InstanceReport begin_report(size_t instance) const;
  /// The original's first launch on an instance.
  struct First {
    Verification::Judged judged;
    std::vector<DeviceMemory> results;  ///< WriteSet::keep; of launches that are used sparingly only.
  };
  /// Launches the original once on every instance, and makes the plan. False: it does not run, as the report says. An
  /// Error if it takes too long to judge candidates in time.
  Result<bool> runs_at_all(bool begins_search);
  PlanInputs plan_inputs() const;
  /// Repeats the original as often as planned, to learn how its results vary; `first.judged` becomes that of the last
  /// launch. Samples go to `seconds`. True: floats vary, or differ from the capture.
  Result<bool> repeat(size_t instance, First& first, InstanceReport& report, std::vector<double>& seconds);
  /// What remains of a report on an instance that the original does not run on.
  Status fail(const Verification::Judged& judged, size_t instance, InstanceReport& report) const;
  Status time(size_t instance, InstanceReport& report);
  /// After a crash: the memory that was allocated in the application but is not in the capture; else empty.
  std::string left_out(const RunFailure& failure, size_t instance) const;
  Status calibrate_instance(size_t instance, InstanceReport& report);
  /// Loads, verifies and times the application's own code; failures go to the report.
  Status calibrate_application(const std::string& image);
  /// Limits further launches to about `seconds`.
  void limit_launches(double slowest, double seconds);

  Workbench& bench_;
  Verification& verification_;
  Racing& racing_;
  Tolerances& tolerances_;
  WriteSet writes_;
  std::vector<MeasurementPlan::Cost> costs_;
  std::vector<First> first_;
  std::chrono::milliseconds configured_limit_{0};  ///< The settings' limit before calibration changed it.
};

}  // namespace kernelift::sandbox
