// Runs and judges one launch: live memory is restored, outputs are poisoned, the code runs, canaries are checked, and
// every recorded byte is compared with its reference. On a GPU a verification is one device program and one wait.
#pragma once
#include <set>

#include "sandbox/evaluate/runner/field/length_bounds.h"

namespace kernelift::sandbox {

class Verification {
 public:
  Verification(Workbench& bench, LengthBounds& length_bounds) : bench_(bench), length_bounds_(length_bounds) {}

  /// Contents of outputs before a launch: recorded; poison; or the answer to the recorded inputs, so that code that
  /// skips work because the output looks finished leaves a wrong answer for perturbed inputs.
  enum class Before { Recorded, Poisoned, Stale };

  /// Result of a launch.
  struct Judged {
    std::optional<RunFailure> failure;  ///< It did not run, or wrote outside its buffers.
    std::vector<BufferReport> buffers;  ///< Filled if it ran, and `detailed` is set or something is wrong.
    std::optional<Mismatch> first;      ///< First mismatch of the first wrong buffer.
    size_t bad_buffer = 0;              ///< Index of that buffer in `buffers`.
    std::set<size_t> altered;           ///< Regions that are not bitwise equal to their answers.
    double seconds = 0;
    std::vector<AccessFinding> findings;  ///< Of a checked launch.
    std::string not_checked;              ///< DeviceOutcome::not_checked.
    std::set<CodePlace> unreached;        ///< DeviceOutcome::unreached.
    double largest_ulps = 0;  ///< Largest distance of an element from its reference, in units of the last place.
  };
  struct Manner {
    Before before = Before::Recorded;
    bool detailed = false;   ///< Report on every buffer, even if all are right.
    bool reordered = false;  ///< Run blocks in another order, if the device can.
    /// The code's own variables and scratch memory keep what a launch before left there.
    bool keeps_own = false;
    bool checked = false;                                 ///< In check mode; the code was made for it.
    bool follows_all_reads = false;                       ///< CheckedExtents'.
    std::optional<std::chrono::milliseconds> limit = {};  ///< Instead of a launch's usual limit.
  };
  Judged run(const LoadedCode& code, MemoryEntry entry, Manner manner);

  /// False: the verdict says what is wrong. What is held to error bounds that were not known before is run again.
  bool verify(const LoadedCode& code, MemoryEntry entry, Stage stage, Verdict& verdict, Manner manner);
  /// The same, over poison.
  bool verify(const LoadedCode& code, MemoryEntry entry, Stage stage, Verdict& verdict) {
    return verify(code, entry, stage, verdict, {Before::Poisoned});
  }

  /// Duration of the launch that verify() judged last.
  double last_seconds() const { return last_seconds_; }

  /// What verify() found wrong last, or find_mismatch() since count_afresh(), are few of the elements: at most eight,
  /// and of ten thousand at most one.
  bool few_differ() const;
  void count_afresh() { last_wrong_ = last_compared_ = 0; }

  /// The first mismatch of a row of the buffer, whose results lie at `live`; searched by the device.
  std::optional<Mismatch> find_mismatch(const ReplayBuffer& buffer, size_t row, uint64_t live);
  /// The same, at or behind scalar `index`.
  std::optional<Mismatch> first_mismatch(const ReplayBuffer& buffer, size_t row, uint64_t live, uint64_t index);
  /// Compares a buffer that the device found out of tolerance again on the host, which also accepts elements that are
  /// nearer to the exact sums than the reference is, those that rounding decides, and those within the error bounds of
  /// their length if the inquiry permits that.
  bool is_nearer(const ReplayBuffer& buffer, uint64_t live);

 private:
  Status describe(const LoadedCode& code, MemoryEntry entry, const std::vector<judging::Finding>& found,
                  Judged& judged);

  Workbench& bench_;
  LengthBounds& length_bounds_;
  double last_seconds_ = 0;
  uint64_t last_wrong_ = 0, last_compared_ = 0;  ///< Elements, of few_differ().
};

}  // namespace kernelift::sandbox
