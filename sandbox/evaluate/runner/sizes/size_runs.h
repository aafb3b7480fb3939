// Runs a finalist beside the original at sizes that were not recorded (sized_instance.h), in recorded memory over
// poison. All of memory is compared, as for recorded inputs. The original's results are its answers; a size at which it
// fails, writes outside its buffers, does not repeat its result or shows something in check mode is dropped. Answers
// are kept for later finalists, as far as there is room for them.
#pragma once
#include <map>

#include "sandbox/evaluate/runner/check_mode.h"
#include "sandbox/evaluate/runner/field/length_bounds.h"
#include "sandbox/evaluate/runner/sizes/sized_launch.h"
#include "sandbox/evaluate/runner/tolerances.h"
#include "sandbox/evaluate/runner/write_set.h"

namespace kernelift::sandbox {

class SizeRuns {
 public:
  SizeRuns(Workbench& bench, Verification& verification, Tolerances& tolerances, LengthBounds& length_bounds,
           CheckMode& check_mode)
      : bench_(bench),
        verification_(verification),
        tolerances_(tolerances),
        length_bounds_(length_bounds),
        check_mode_(check_mode) {}

  /// To be called before another calibration.
  void forget();
  /// `candidate` is loaded as `code`. False: the verdict says at which size it is wrong, or the original lost the
  /// device, or the inquiry's time is over.
  bool verify(const RunnableCode& candidate, LoadedCode& code, const SizePlan& plan, Verdict& verdict);
  /// Most seconds for one finalist, of which a launch with its comparison takes `check` seconds.
  static double most_seconds(double check);

 private:
  /// What the original does at a size.
  struct Answered {
    std::string why_not;  ///< It is no reference there.
    ReplayInstance memory;
    std::vector<DeviceMemory> placed, answers;
    uint64_t bytes = 0;
    bool widened = false;  ///< Tolerances are of this size.
  };
  using Key = std::pair<size_t, OtherSize>;

  /// Of the original, if it takes as long for each thread as at the recorded size.
  double expected_seconds(const SizedInstance& sized) const;
  void answer(const SizedInstance& sized, Answered& into);
  /// Whether the original fails there, too, where it is run as a candidate is. That it did not when its answers were
  /// taken is luck: what lay beside its memory then may have gone.
  bool fails_alike(const SizedInstance& sized, const Answered& known);
  /// Widens the tolerances of the answers by the original's other roundings at that size; with the error bounds of its
  /// sums there, of a candidate that Inquiry::held_to_length.
  void widen(const SizedInstance& sized, Answered& known);
  void tell(const SizedInstance& sized, const Answered& known, const Verification::Judged& judged,
            const std::optional<RunFailure>& failure, Verdict& verdict) const;

  Workbench& bench_;
  Verification& verification_;
  Tolerances& tolerances_;
  LengthBounds& length_bounds_;
  CheckMode& check_mode_;
  std::map<Key, Answered> known_;
  uint64_t bytes_ = 0;  ///< Of their answers.
};

}  // namespace kernelift::sandbox
