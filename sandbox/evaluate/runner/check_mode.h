// Runs a candidate in check mode of the CPU device, and judges what is found against what is found about the original:
// races and the like that the original has, too, are its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sandbox/evaluate/runner/verification.h"

namespace kernelift::sandbox {

class CheckMode {
 public:
  CheckMode(Workbench& bench, Verification& verification) : bench_(bench), verification_(verification) {}

  /// What is found about one launch; an empty `why`: it was checked.
  struct Found {
    std::vector<AccessFinding> findings;
    std::string why;
    std::optional<RunFailure> astray;  ///< It wrote beside what it is lent, or ended there.
    bool right = false;                ///< Its results are.
    double seconds = 0;                ///< It took.
  };
  /// One launch of an image that was made for check mode: of any entry of memory, and as `code` is launched on its
  /// instance, recorded or not. It is ended after `limit` seconds.
  Found run(const LoadedCode& code, MemoryEntry entry, double limit);
  /// What `found` has that the launch of the original does not have: nullopt if that is nothing. `detail` and `outcome`
  /// are a verdict's.
  static std::optional<RunFailure> judge(const Found& original, const Found& found);

  /// `image`: of the original, for check mode; empty: there is none, and nothing is checked.
  void set_original(std::string image);
  /// On the recorded inputs. `candidate`: its image is for check mode. The verdict says what was found; if it is Ok,
  /// its detail says which inputs were not checked and why, if any. A finalist (Inquiry::confirm) is given more time.
  void check(const RunnableCode& candidate, Verdict& verdict);

 private:
  /// 0: not known.
  double expected_seconds(size_t instance) const;
  double limit_for(size_t instance, double most) const;
  /// nullptr: the inquiry's time is over.
  const Found* of_original(size_t instance, double most);

  Workbench& bench_;
  Verification& verification_;
  std::string original_;
  std::optional<LoadedCode> code_;  ///< The original's.
  std::vector<std::optional<Found>> known_;
};

}  // namespace kernelift::sandbox
