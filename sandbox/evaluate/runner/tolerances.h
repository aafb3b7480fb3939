// Derives from the original how far a right result may be from its reference: how much its own runs differ, how far
// rounding alone moves its results (judge/rounding_envelope.h), and its exact sums if its results are far from them
// (judge/nearer_reference.h). A user's tolerance replaces all of this.
#pragma once
#include <functional>
#include <map>

#include "sandbox/evaluate/runner/verification.h"
#include "sandbox/judge/perturbation.h"

namespace kernelift::sandbox {

class Tolerances {
 public:
  explicit Tolerances(Workbench& bench) : bench_(bench) {}

  void take_user_tolerance();
  /// Widens tolerances by another run of the original, whose results are in live memory. `once`: results of the first
  /// run (WriteSet::keep). `varies` becomes true if floats differ. Returns a message about a buffer that differs by
  /// more than rounding; empty: none does.
  Result<std::string> widen_by_run(size_t instance, const std::vector<DeviceMemory>& once, bool& varies);
  /// Loads the original compiled in other ways, runs it and widens tolerances by how far that moves its results. Where
  /// launches are used sparingly it is not run before judge_again().
  Status add_envelopes(const std::vector<std::string>& images);
  /// A result on this entry of memory seems wrong. Where launches are used sparingly, runs what add_envelopes() and
  /// add_nearer_references() left, as few launches as it takes until `right` says that the result is within the
  /// tolerances after all. False: it stays wrong, or nothing is left to run.
  bool judge_again(MemoryEntry entry, const std::function<bool()>& right);
  /// To be called before another calibration.
  void forget() { late_.clear(); }
  /// Builds of the original that round otherwise and are run on an entry of memory.
  std::vector<const LoadedCode*> builds_for(MemoryEntry entry) const;
  /// The same for one build and one entry of memory, of which the answers were found over poison, if they depend on
  /// that. False: the code does not run.
  Result<bool> widen_by(const LoadedCode& code, MemoryEntry entry, bool over_poison = false);
  /// Runs the original with randomly rounded sums, and adds nearer references.
  Status add_nearer_references(const std::vector<std::string>& images);
  /// The same for one entry of memory. An Error: the device was lost.
  Status find_exact_sums(MemoryEntry entry);

 private:
  /// A launch of the original or a build of it, compared bit by bit with the answers: rows of floats, and a finding of
  /// kl_spread for each.
  struct Beside {
    std::vector<std::pair<ReplayBuffer*, size_t>> rows;
    std::vector<judging::Finding> found;
  };
  /// nullopt: the code does not run.
  Result<std::optional<Beside>> run_beside_answers(const LoadedCode& code, MemoryEntry entry, bool over_poison);
  /// Sets FloatTolerance::zero_signs of the rows that the original repeats bit by bit; further runs and builds that
  /// change a row take it back.
  Status count_zero_signs(size_t instance);

  /// Widens the tolerances of an entry by what has moved others of the same instance: its perturbed inputs are of the
  /// recorded ones' number and size, and an envelope is a share of the results' scale. False: there is no other.
  bool lend(MemoryEntry entry);

  /// What judge_again() has run on an entry of memory.
  struct Late {
    size_t instance;
    size_t builds = 0;  ///< Of builds_for().
    bool sums = false;
  };
  Workbench& bench_;
  std::map<size_t, Late> late_;  ///< By entry of memory.
};

/// An Error once the time for calibration is over.
Status calibration_in_time(const Workbench& bench);

}  // namespace kernelift::sandbox
