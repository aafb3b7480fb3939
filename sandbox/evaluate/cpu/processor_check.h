// Finalists for a GPU on the CPU device: in check mode, where races, accesses out of bounds and the like are looked for
// and not waited for, and in field runs, which compare their formulas with the original's. Their own device times and
// verifies them; here they are compiled once more, for this machine's processor, and run on the recorded inputs and, in
// check mode, at the other sizes that their own device runs. What cannot be run here is not checked, and its verdict
// says why.
#pragma once
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/field_comparison.h"
#include "sandbox/evaluate/runner/runner_process.h"
#include "sandbox/evaluate/shared_era.h"

namespace kernelift::sandbox {

/// Seconds of check mode for one finalist, and for one launch of the original.
inline constexpr double kProcessorCheckSeconds = 10;
/// Seconds of all field runs for one finalist, the original's among them.
inline constexpr double kProcessorFieldSeconds = 10;
inline constexpr const char* kNoTimeForFormula = "there was no time left for its formula";

class ProcessorCheck {
 public:
  /// Starts the fork server of its runners: to be made before this process has other threads. The runner itself is
  /// started for the first finalist. EXPECTS: `baseline` outlives this.
  ProcessorCheck(const Mep& mep, const std::filesystem::path& folder, const RunnerSettings& settings,
                 const CompiledBaseline& baseline);

  /// The evaluation of a candidate; if it is right, with what check mode says of it, which may be that it is not right.
  /// `own`: its compile. All of this class is thread-safe; what needs the same runner waits for it, no longer than it
  /// has time.
  Evaluation judged(Evaluation evaluation, const Candidate& candidate, const CompileReply& own,
                    std::optional<Deadline> deadline = {});
  /// What both say of a candidate, for one that its device is busy with meanwhile. `deadline`: as judged().
  struct Said {
    Verdict check;
    FieldEquality field;
  };
  /// `sizes`: to be looked at in check mode as well.
  Said said(const Candidate& candidate, const CompileReply& own, const SizePlan& sizes,
            std::optional<Deadline> deadline);
  /// Checks the original beside other work, so that no finalist's check has to do that first. Once; returns at once.
  void check_original_ahead(std::optional<Deadline> deadline);
  /// Why the original's result at that size is no reference: check mode shows something there that it does not show at
  /// the recorded one. Empty: it is, or that is not known.
  std::string why_no_reference(const SizedInstance& sized);
  /// The evaluation with that: right only if both say nothing else.
  static Evaluation with(Evaluation evaluation, const Said& said);
  /// What field runs say of a candidate; and whether they did before.
  /// `era`: given up once it is over, by RunnerSettings::era.
  FieldEquality formula(const Candidate& candidate, const CompileReply& own, Deadline until, uint64_t era);
  bool knows_formula(const Candidate& candidate, const CompileReply& own) const;
  /// Error bounds of the original's sums, for a runner of the GPU: in the order of the questions.
  std::vector<LengthAnswer> length_bounds(const std::vector<LengthQuestion>& questions);
  /// How many of them it answers side by side.
  size_t answers_at_once() const { return bounds_.size(); }
  /// Asks that of the recorded launches, so that a GPU need not wait for the answers.
  void find_recorded_bounds(Deadline until, uint64_t era);
  /// Seconds that the longest question about bounds took; 0: none was answered.
  double bounds_seconds() const { return bounds_seconds_; }
  /// Why length_bounds() has none for some recorded inputs; empty: that has not been asked, or it has.
  std::string no_length_bounds() const;
  /// The same with Verdict::field; what surely computes another formula is not right.
  Evaluation with_formulas(Evaluation evaluation, const Candidate& candidate, const CompileReply& own,
                           std::optional<Deadline> deadline = {});

 private:
  /// Once more if one was seen to die: the GPU's verdicts do without it, but know less.
  Status start_fork_server();
  /// Of code that was checked before, at sizes if that is asked, what was said then.
  Verdict check(const Candidate& candidate, const CompileReply& own, const SizePlan& sizes,
                std::optional<Deadline> deadline);
  Verdict checked_now(const Candidate& candidate, const CompileReply& own, const SizePlan& sizes,
                      std::optional<Deadline> deadline);
  /// Those of instances that are run here.
  SizePlan sizes_here(const SizePlan& sizes) const;
  /// A runner, started when it is first needed.
  struct Runner {
    std::timed_mutex busy;  ///< To be held from ready() to the end of a request.
    std::unique_ptr<RunnerProcess> process;
  };
  using Held = std::unique_lock<std::timed_mutex>;
  /// Not held: it was busy until then.
  static Held hold(Runner& runner, std::optional<Deadline> until);
  /// One of bounds_, a free one if there is any.
  std::pair<Held, Runner*> hold_for_bounds(std::optional<Deadline> until);
  LengthAnswer answer(const LengthQuestion& question);
  /// Makes it alive. EXPECTS: the caller holds it.
  Status ready(Runner& runner);
  /// trouble_; or what ready() says, which becomes it.
  std::string why_not(Runner& runner);

  const CompiledBaseline& baseline_;
  std::vector<std::pair<std::string, std::vector<size_t>>> changed_;  ///< By instance: its regions that change.
  std::mutex starting_;                                               ///< Guards what follows, up to `original_`.
  std::function<Result<std::unique_ptr<ForkServer>>()> make_runners_;
  int started_ = 0;  ///< Fork servers.
  std::unique_ptr<ForkServer> runners_;
  std::string original_;  ///< The original's image for check mode, once it is compiled.
  /// A GPU's runner waits for formulas and bounds, and must not wait for check mode, too.
  Runner checks_, fields_;
  std::vector<Runner> bounds_;
  FieldComparison field_comparison_;
  std::atomic<size_t> turn_ = 0;
  std::atomic<double> bounds_seconds_ = 0;

  mutable std::mutex mutex_;  ///< Guards what follows.
  std::string trouble_;       ///< Why no candidate can be checked; or empty.
  struct Checked {
    Verdict said;
    bool at_sizes = false;
  };
  std::map<Hash, Checked> checked_;         ///< By code.
  std::map<Hash, FieldEquality> formulas_;  ///< By code.
  std::map<Hash, LengthAnswer> lengths_;    ///< By question.
  uint64_t length_bytes_ = 0;               ///< Of those.
  std::string no_lengths_;                  ///< no_length_bounds().
  std::future<void> ahead_;                 ///< check_original_ahead(); goes first, as it uses all of the above.
};

/// A right verdict with what check mode says of the same candidate.
Verdict with_check(Verdict verdict, const Verdict& check);
/// Of a candidate that check mode says nothing about.
Verdict not_checked(const std::string& why);

}  // namespace kernelift::sandbox
