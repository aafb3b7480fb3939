// What the original teaches about itself, before any candidate is judged. For every instance it is run
//   as recorded            does it reproduce the capture, and how far apart are several runs? On a processor once more
//                          with blocks in another order, since a race may be won the same way twice
//   compiled otherwise     Tolerances
//   with outputs poisoned  WriteSet
//   a few times timed      how long is a launch, how long may a candidate take?
// Two of these are dangerous: poison or a perturbed input may lead the original astray, and on a GPU a fault ends this
// process. Such an experiment is announced, and one that ended an earlier process is not tried again.
#pragma once
#include "sandbox/evaluate/runner/racing.h"
#include "sandbox/evaluate/runner/tolerances.h"
#include "sandbox/evaluate/runner/write_set.h"

namespace kernelift {

/// The original, in all the forms in which a runner needs it.
struct Original {
  TrialCode code;  ///< As our compiler builds it: candidates of that compiler are raced against it.
  std::vector<std::string> roundings = {};  ///< Images of it that round otherwise.
  std::string application = {};             ///< The machine code that the application has of it; empty: not known.
  std::function<void(const std::string&)> tell = {};  ///< In the process that asks: RunnerSettings::tell.
  std::vector<std::string> at_random = {};            ///< Images of it whose sums are rounded at random.
};

class Calibration {
 public:
  Calibration(Workbench& bench, Verification& verification, Racing& racing, Tolerances& tolerances)
      : bench_(bench), verification_(verification), racing_(racing), tolerances_(tolerances), writes_(bench) {}

  /// Fills the workbench's report. An Error where the device or the deadline ends it.
  Status calibrate(const Original& original);
  /// Pairs of samples of the original that are taken on an instance.
  static int rounds(double seconds);
  /// Seconds of one restored, run and compared launch of the original, and of a pair of samples, by instance.
  struct Cost {
    double check = 0, pair = 0;
  };
  const std::vector<Cost>& costs() const { return costs_; }

 private:
  InstanceReport begin_report(size_t instance) const;
  /// False: it does not run, as the report says. An Error where it takes too long for candidates to be judged in time.
  Result<bool> runs_at_all();
  /// What was alive in the application and is not in the capture, where a crash may be due to it.
  std::string left_out(const TrialFailure& failure, size_t instance) const;
  Status calibrate_instance(size_t instance, InstanceReport& report);
  /// Loads and checks the application's own code; what is wrong with it is in the report.
  Status calibrate_application(const std::string& image);
  /// From now on a launch may take many times `slowest`, and no longer.
  void limit_launches(double slowest);

  Workbench& bench_;
  Verification& verification_;
  Racing& racing_;
  Tolerances& tolerances_;
  WriteSet writes_;
  std::vector<Cost> costs_;
  std::chrono::milliseconds asked_limit_{0};  ///< The settings' limit before calibration changed it.
};

}  // namespace kernelift
