// The order: by what may be promised, the lower end of the interval. A figure from screening is the best of many looks
// and shrinks when it is taken again, so it is worth confirming only where nothing confirmed can be patched, or where it
// is clearly better. Example: #7 1.31x (confirmed) and #9 1.36x (screened): #7 is tried; with #9 at 1.60x, #9 is confirmed
// and, if that holds, tried first.
#include "reintegrate/apply_best.h"

#include <algorithm>
#include <map>
#include <set>

#include "reintegrate/patch/source_patch.h"

namespace kernelift {
namespace {

constexpr double kScreeningOptimism = 1.1;  ///< A screened figure must be so much better to challenge a confirmed one.
constexpr int kMostConfirmations = 8;       ///< Some seconds each; while nothing confirmed can be patched …
constexpr int kMostChallenges = 2;          ///< … and when something can.
constexpr int kMostTrials = 3;              ///< Patches built, checked and timed in the application: minutes each.
constexpr int kSameReason = 3;              ///< Lines with one reason before the rest is only counted.

std::string label(const RunTrial& trial) {
  char gain[32];
  std::snprintf(gain, sizeof gain, "%.2fx", trial.figures().speedup());
  return "#" + std::to_string(trial.id) + " (" + trial.candidate.tier + ": " + trial.candidate.note + ", " + gain + ")";
}

bool promises_less(const RunTrial& a, const RunTrial& b) { return a.figures().speedup_low() < b.figures().speedup_low(); }

class Choice {
 public:
  Choice(RunOffer& offer, const Confirm& confirm) : offer_(offer), confirm_(confirm) {}

  Result<ApplyReport> run() {
    // First of all: a file that an interrupted apply left patched is not what was scanned.
    KERNELIFT_ASSIGN(Restoration leftovers, roll_back_interrupted(offer_.request.state));
    std::vector<std::string> put_right = notes_of(leftovers);
    for (;;) {
      KERNELIFT_ASSIGN(std::optional<RunTrial> best, best_confirmed());
      KERNELIFT_ASSIGN(std::optional<RunTrial> challenger, take_challenger(best));
      if (challenger) {
        if (best) offer_.promising.push_back(std::move(*best));
        confirm(*challenger);
        continue;
      }
      if (!best) break;
      KERNELIFT_ASSIGN(bool finished, prove(*best));
      if (finished) break;
    }
    tell_counts();
    if (report_) {
      report_->passed_over = passed_over_;
      report_->notes.insert(report_->notes.begin(), put_right.begin(), put_right.end());
      return std::move(*report_);
    }
    return nothing();
  }

 private:
  /// Takes the best of those that `counts` out of the queue until one can be patched.
  template <class Counts>
  Result<std::optional<RunTrial>> take_patchable(const Counts& counts) {
    std::vector<RunTrial>& left = offer_.promising;
    for (;;) {
      auto best = left.end();
      for (auto at = left.begin(); at != left.end(); ++at)
        if (counts(*at) && (best == left.end() || promises_less(*best, *at))) best = at;
      if (best == left.end()) return std::optional<RunTrial>();
      RunTrial trial = std::move(*best);
      left.erase(best);
      KERNELIFT_ASSIGN(bool fits, plan(trial));
      if (fits) return std::optional(std::move(trial));
    }
  }
  Result<std::optional<RunTrial>> best_confirmed() {
    return take_patchable([](auto& trial) { return trial.confirmed.has_value(); });
  }
  /// What was only screened, and is worth confirming beside `best`.
  Result<std::optional<RunTrial>> take_challenger(const std::optional<RunTrial>& best) {
    if (best ? challenges_ == kMostChallenges : confirmations_ == kMostConfirmations) return std::optional<RunTrial>();
    auto clearly_better = [&](const Verdict& screened) {
      return screened.speedup_low() > kScreeningOptimism * best->figures().speedup_low() &&
             screened.speedup() > kScreeningOptimism * best->figures().speedup();
    };
    KERNELIFT_ASSIGN(auto challenger, take_patchable([&](auto& trial) { return !trial.confirmed && (!best || clearly_better(trial.verdict)); }));
    if (challenger) ++confirmations_, challenges_ += best.has_value();
    return std::move(challenger);
  }

  /// True when the candidate can be written into the source, as a patch that was not tried yet.
  Result<bool> plan(const RunTrial& trial) {
    ApplyRequest& r = offer_.request;
    auto planned = plan_patch({r.mep, r.original, trial.candidate, r.scan ? &*r.scan : nullptr, r.root});
    if (!planned.ok() && planned.error().exit != Exit::Refused) return std::move(planned).error();
    if (!planned.ok()) {
      if (first_refusal_.empty()) first_refusal_ = label(trial) + ": " + planned.error().message;
      pass_over(trial, planned.error().message);
      return false;
    }
    if (tried_.contains(planned->diff())) {
      pass_over(trial, "its patch is the one that was just tried");
      return false;
    }
    patch_ = std::move(*planned);
    return true;
  }

  /// Back into the queue with the new figures, or out of it.
  void confirm(RunTrial& trial) {
    say("confirming " + label(trial) + " in a fresh process");
    std::string screened = label(trial);
    auto verdict = confirm_(trial);
    if (!verdict.ok()) {
      pass_over(screened, "it cannot be confirmed: " + verdict.error().message);
      return;
    }
    trial.confirmed = std::move(*verdict);
    if (trial.figures().speedup_low() > kSmallestGain) {
      offer_.promising.push_back(std::move(trial));
      return;
    }
    char low[64];
    std::snprintf(low, sizeof low, "confirmed, its gain is only %.3fx or more", trial.figures().speedup_low());
    pass_over(screened, trial.figures().ok() ? low : "it does not hold up when confirmed: " + trial.figures().text());
  }

  /// True when there is nothing more to be done.
  Result<bool> prove(const RunTrial& trial) {
    KERNELIFT_ASSIGN(bool still_fits, plan(trial));  // A challenger may have been planned since.
    if (!still_fits) return false;
    if (report_) pass_over(tried_label_, report_->why);
    say(std::string(trials_ > 0 ? "trying the next, " : "trying ") + label(trial));
    tried_.insert(patch_.diff()), ++trials_;
    tried_label_ = label(trial);
    ApplyRequest request = offer_.request;
    request.candidate = trial.candidate;
    request.predicted = {trial.figures().speedup(), offer_.kernel_share};
    KERNELIFT_ASSIGN(report_, apply(request));
    report_->candidate = trial.id;
    switch (report_->outcome) {
      case ApplyOutcome::Kept:
      case ApplyOutcome::Interrupted:
      case ApplyOutcome::Disturbed: return true;
      // The next promises less, unless this one failed for what it did to other kernels.
      case ApplyOutcome::NotFaster: return !patch_.reaches_others || trials_ == kMostTrials;
      case ApplyOutcome::CheckFailed:
      case ApplyOutcome::BuildFailed:
      case ApplyOutcome::NotBuilt: return trials_ == kMostTrials;
    }
    return true;
  }

  Error nothing() const {
    const RunOffer& o = offer_;
    if (!first_refusal_.empty())
      return refused((passed_over_.size() == 1 ? "the one candidate that promises a gain cannot be patched into the application, "
                                               : "none of the " + std::to_string(passed_over_.size()) +
                                                     " candidates that promise a gain can be patched into the application; the best, ") +
                     first_refusal_);
    if (!passed_over_.empty())
      return answer_is_no("no gain of this run held up when it was confirmed (" + std::to_string(passed_over_.size()) + " candidates" +
                          (o.promising.empty() ? "" : "; " + std::to_string(o.promising.size()) + " weaker ones were not tried") +
                          "): there is nothing to apply");
    if (o.compiler_gain)
      return refused("the gain of this run is in how the kernel is compiled, " + label(*o.compiler_gain) + " with " +
                     o.compiler_gain->candidate.recipe.text() + ", which the application's own compiler is not told by its source");
    return answer_is_no("nothing in this run is measurably faster than the original: there is nothing to apply");
  }

  void pass_over(const RunTrial& trial, const std::string& why) { pass_over(label(trial), why); }
  void pass_over(const std::string& who, const std::string& why) {
    passed_over_.push_back(who + ": " + why);
    if (++reasons_[why] <= kSameReason) say("passing over " + passed_over_.back());
  }
  void tell_counts() const {
    for (auto& [why, count] : reasons_)
      if (count > kSameReason) say("passed over " + std::to_string(count - kSameReason) + " more: " + why);
  }
  void say(const std::string& line) const {
    if (offer_.request.progress) offer_.request.progress(line);
  }

  RunOffer& offer_;
  const Confirm& confirm_;
  SourcePatch patch_;                      ///< Of the candidate that was planned last.
  std::optional<ApplyReport> report_;
  std::set<std::string> tried_;            ///< Diffs.
  std::map<std::string, int> reasons_;
  std::vector<std::string> passed_over_;
  std::string first_refusal_, tried_label_;
  int confirmations_ = 0, challenges_ = 0, trials_ = 0;
};

}  // namespace

Result<ApplyReport> apply_best(RunOffer offer, const Confirm& confirm) { return Choice(offer, confirm).run(); }

}  // namespace kernelift
