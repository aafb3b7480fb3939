// One launch, judged: live memory is made what the launch saw, outputs are poisoned, the code runs, canaries are looked
// at and every recorded byte is compared. On a GPU a whole verification is one device program and one wait.
#pragma once
#include <set>

#include "sandbox/evaluate/runner/workbench.h"

namespace kernelift {

class Verification {
 public:
  explicit Verification(Workbench& bench) : bench_(bench) {}

  /// What outputs hold before a launch: as recorded; poison; or the answer to the recorded inputs, so that code which
  /// concludes from it that the work was done already leaves the wrong answer to perturbed inputs.
  enum class Before { Recorded, Poisoned, Stale };

  /// What a launch left.
  struct Judged {
    std::optional<TrialFailure> failure;  ///< It did not run, or wrote outside of its buffers.
    std::vector<BufferReport> buffers;    ///< Filled when it ran and `detailed` was asked for, or something is wrong.
    std::optional<Mismatch> first;        ///< Of the first buffer that differs.
    size_t bad_buffer = 0;                ///< Index into `buffers` of that one.
    std::set<size_t> altered;             ///< Regions that are not bit for bit as they should be.
    double seconds = 0;
    double largest_ulps = 0;  ///< Largest distance of a right element from its reference, in units of the last place.
  };
  struct Manner {
    Before before = Before::Recorded;
    bool detailed = false;   ///< A report on every buffer, also where all is right.
    bool reordered = false;  ///< Blocks in another order, where the device can choose it.
  };
  Judged run(const LoadedCode& code, Place place, Manner manner);

  /// False: the verdict says what is wrong.
  bool verify(const LoadedCode& code, Place place, Stage stage, Verdict& verdict, Before before = Before::Poisoned);

 private:
  Status describe(const LoadedCode& code, Place place, const std::vector<judging::Finding>& found, Judged& judged);
  /// An element that is out of tolerance on the device may be nearer to the exact sums than the reference is: that is
  /// decided on the host, for the few buffers that it concerns.
  bool is_nearer(const ReplayBuffer& buffer, uint64_t live);
  std::optional<Mismatch> first_mismatch(const ReplayBuffer& buffer, size_t row, uint64_t live, uint64_t index);

  Workbench& bench_;
};

}  // namespace kernelift
