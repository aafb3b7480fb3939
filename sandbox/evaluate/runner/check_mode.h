// Runs a candidate in check mode of the CPU device on the recorded inputs, a finalist at other sizes as well, and
// judges what is found against what is found about the original: races and the like that the original has, too, are its
// own.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sandbox/evaluate/runner/sizes/sized_launch.h"
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
    std::set<CodePlace> unreached;     ///< Code to which no thread came.
  };
  /// One launch of an image that was made for check mode: of any entry of memory, and as `code` is launched on its
  /// instance, recorded or not. It is ended after `limit` seconds.
  Found run(const LoadedCode& code, MemoryEntry entry, double limit);
  /// What `found` has that the launch of the original does not have: nullopt if that is nothing. `detail` and `outcome`
  /// are a verdict's.
  static std::optional<RunFailure> judge(const Found& original, const Found& found);

  /// `image`: of the original, for check mode; empty: there is none, and nothing is checked.
  void set_original(std::string image);
  /// `candidate`: its image is for check mode. The verdict says what was found; if it is Ok, its detail says which
  /// inputs were not checked and why, if any. A finalist (Inquiry::confirm) is given more time.
  void check(const RunnableCode& candidate, Verdict& verdict);
  /// What the original does at a size that it does not at the recorded one, and that a result may depend on: "the
  /// original races there". Empty: nothing is found, or it cannot be checked.
  std::string why_no_reference(const SizedInstance& sized);

 private:
  /// 0: not known.
  double expected_seconds(size_t instance) const;
  double limit_for(size_t instance, double most) const;
  /// There is time to check it, where its launches are used sparingly.
  bool fits(size_t instance) const;
  /// Of a launch at another size, from what the recorded one takes.
  double expected_seconds(const SizedInstance& sized) const;
  /// Loads the original, if it is not; false: `into` says why it cannot be checked.
  bool load_original(Found& into);
  /// nullptr: the inquiry's time is over; at other sizes also: it would take too long.
  const Found* of_original(size_t instance, double most);
  const Found* of_original(const SizedInstance& sized);
  Found run_at(LoadedCode& code, const RunnableCode& wanted, const SizedInstance& sized);
  /// The gravest finding that counts, and that the original does not have; nullptr: there is none.
  static const AccessFinding* gravest(const Found& original, const Found& found);
  /// A finalist at other sizes: the verdict says what was found. Given: how many sizes were not checked, and why.
  std::string check_sizes(LoadedCode& code, const RunnableCode& candidate, Verdict& verdict);
  /// One more launch of the candidate that is being checked, which stays there if `found` was no launch to its end.
  void note_unreached(const Found& found);

  Workbench& bench_;
  Verification& verification_;
  std::string original_;
  std::optional<LoadedCode> code_;  ///< The original's.
  std::vector<std::optional<Found>> known_;
  std::map<std::pair<size_t, OtherSize>, Found> known_at_;  ///< By instance and size.
  double seconds_at_sizes_ = 0;                             ///< That the original's launches there took.
  std::optional<std::set<CodePlace>> unreached_;  ///< By no launch of the candidate so far; nullopt: there was none.
};

}  // namespace kernelift::sandbox
