// Derives from the original how far a right result may be from its reference: how much its own runs differ, how far
// rounding alone moves its results (judge/rounding_envelope.h), and its exact sums if its results are far from them
// (judge/nearer_reference.h). A user's tolerance replaces all of this.
#pragma once
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
  /// launches are used sparingly it is not run before widen_late().
  Status add_envelopes(const std::vector<std::string>& images);
  /// A result on this entry of memory seems wrong: true if tolerances have only now been widened, so that it has to be
  /// judged again.
  bool widen_late(MemoryEntry entry);
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

  Workbench& bench_;
  std::set<size_t> late_;  ///< Entries of memory for which widen_late() was called.
};

/// An Error once the time for calibration is over.
Status calibration_in_time(const Workbench& bench);

}  // namespace kernelift::sandbox
