// Makes timed launches count. A launch whose results are never compared, on inputs that are always the same, over
// outputs that hold the answer already, could skip its work or copy what a launch before it left. So every timed launch
// of a race, the original's as well as the candidate's, finds circumstances that are drawn at random just before it:
//   inputs     as often as their size allows perturbed afresh: a random bit for each element chooses the recorded value
//              or its perturbed one (PerturbedInputs); else as recorded, or as they were
//   outputs    what was recorded before the launch, poison, or the results of an older launch on other inputs
//   variables  as recorded, or as in the image: nothing that an earlier launch left; scratch holds rubbish
// The results of some launches of the candidate, which it cannot know beforehand, are compared in full. The original's
// answers to inputs that were perturbed afresh do not exist before the candidate's results are safe: the original
// repeats the launch afterwards.
#pragma once
#include <array>

#include "sandbox/evaluate/runner/perturbed_inputs.h"

namespace kernelift::sandbox {

/// Circumstances of one launch.
struct Trial {
  uint64_t mix = 0;  ///< Draws the inputs' elements; 0: as recorded.
  enum class Outputs { Given, Poisoned, Older } outputs = Outputs::Given;
  std::string text() const;  ///< "on inputs perturbed afresh, over poison"
};

class LaunchTrials {
 public:
  LaunchTrials(Workbench& bench, Verification& verification, PerturbedInputs& perturbed, LengthBounds& length_bounds,
               UnsteadyAnswers& unsteady)
      : bench_(bench),
        verification_(verification),
        perturbed_(perturbed),
        length_bounds_(length_bounds),
        unsteady_(unsteady) {}

  /// To be called before the first program of a race.
  void begin_race(size_t instance);
  /// Begins a program with `launches` of the candidate; some of them will be compared.
  void begin(Steps& steps, int launches);
  /// Steps before a timed launch of `code`.
  void before(Steps& steps, const LoadedCode& code, bool of_candidate);
  /// Whether the launch that before() prepared will be compared, or is one of the original's that is treated alike.
  bool compared() const { return compared_now_; }
  /// Steps behind it: copies of its results. EXPECTS: compared().
  void after(Steps& steps, const LoadedCode& code, bool of_candidate);
  /// Steps at the end of the program: the original's answers, and comparisons.
  void finish(Steps& steps, const LoadedCode& candidate);
  /// After the program ran: false if a compared launch of the candidate was wrong, as the verdict says.
  bool judge(const LoadedCode& candidate, Verdict& verdict);
  /// Whether the candidate is right in launches after others, on the same and on other inputs, where its own variables
  /// and scratch memory keep what those left: in the application nothing resets them. False: the verdict says what is
  /// wrong.
  bool right_after_others(const LoadedCode& candidate, size_t instance, Verdict& verdict);
  /// Whether launches of the candidate take far less where its own variables and scratch memory hold what a launch on
  /// equal inputs left there: then the verdict is Cheated. Some rounds of timing.
  bool remembers(const LoadedCode& candidate, size_t instance, Verdict& verdict);

 private:
  /// A compared launch: what it found, and copies of what it left.
  struct Compared {
    Trial trial;
    std::vector<DeviceMemory> regions,
        variables;        ///< By index; empty for what the original does not write.
    size_t findings = 0;  ///< Index of its first finding, that of canaries.
  };
  /// Short durations of launches without anything left from an earlier one, and where it was left.
  struct Durations {
    double fresh = 0, again = 0;
  };
  std::optional<Durations> time_memory(const LoadedCode& candidate, RunFailure& failure);
  /// The share of launches that find fresh inputs: less where these are large and launches short.
  double share_of_fresh() const;
  Trial draw(bool to_be_compared);
  void lay(Steps& steps, const Trial& trial);
  /// Recorded variables as this trial has them.
  const ReplayInstance& variables_of(const Trial& trial) const;
  bool reserve(size_t count);
  bool check(Compared& one, const LoadedCode& candidate, const std::vector<judging::Finding>& found, Verdict& verdict);
  /// Finds the exact answers to the inputs of a launch that seems wrong, with tolerances of their own. False: it was
  /// wrong.
  bool settle(Compared& one, const LoadedCode& candidate, Verdict& verdict);
  size_t rows() const;
  /// Fills the verdict from what is wrong between the answers of `expected`, an entry of memory, and the copies. False:
  /// nothing is.
  bool describe(const Compared& one, MemoryEntry expected, Verdict& verdict);
  /// The same by the bounds that are known.
  bool differs(const Compared& one, MemoryEntry expected, Verdict& verdict);

  Workbench& bench_;
  Verification& verification_;
  PerturbedInputs& perturbed_;
  LengthBounds& length_bounds_;
  UnsteadyAnswers& unsteady_;
  size_t instance_ = 0;
  std::vector<Compared> compared_;  ///< Reused from program to program; the last for copies of the original's results.
  size_t kept_for_ = ~size_t(0);    ///< The instance that they have memory for.
  size_t used_ = 0;                 ///< Of `compared_`, in this program.
  std::vector<int> picked_;         ///< Launches of the candidate to compare, by number, in this program.
  std::array<int, 2> launches_{};   ///< Of the original and of the candidate so far, in this program.
  int programs_without_ = 0;
  double fresh_ = 0;  ///< share_of_fresh().
  bool compared_now_ = false, first_ = true;
  Trial now_;
  std::vector<uint64_t> laid_;  ///< Per region: Trial::mix of what it holds.
};

}  // namespace kernelift::sandbox
