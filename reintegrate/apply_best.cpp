// The order: by what may be promised, the lower end of the interval. A figure from screening is the best of many looks
// and shrinks when it is taken again, so it stands behind a confirmed one that is nearly as good. Example: #7 1.31x
// (confirmed) and #9 1.36x (screened): #7 first; with #9 at 1.60x, #9 is confirmed and, if that holds, goes first.
#include "reintegrate/apply_best.h"

#include <algorithm>
#include <map>
#include <set>

#include "reintegrate/patch/source_patch.h"

namespace kernelift {
namespace {

constexpr double kScreeningOptimism = 1.1;  ///< A screened figure must be so much better to be confirmed before a confirmed one is tried.
constexpr int kMostConfirmations = 8;       ///< Some seconds each.
constexpr int kMostTrials = 3;              ///< Patches built, checked and timed in the application: minutes each.
constexpr int kSameReason = 3;              ///< Lines with one reason before the rest is only counted.

std::string label(const RunTrial& trial) {
  char gain[32];
  std::snprintf(gain, sizeof gain, "%.2fx", trial.figures().speedup());
  return "#" + std::to_string(trial.id) + " (" + trial.candidate.tier + ": " + trial.candidate.note + ", " + gain + ")";
}

double rank(const RunTrial& trial) { return trial.figures().speedup_low() / (trial.confirmed ? 1 : kScreeningOptimism); }

class Choice {
 public:
  Choice(RunOffer& offer, const Confirm& confirm) : offer_(offer), confirm_(confirm) {}

  Result<ApplyReport> run() {
    // First of all: a file that an interrupted apply left patched is not what was scanned.
    KERNELIFT_ASSIGN(Restoration leftovers, roll_back_interrupted(offer_.request.state));
    std::vector<std::string> put_right = notes_of(leftovers);
    std::vector<RunTrial>& left = offer_.promising;
    while (!left.empty()) {
      auto best = std::max_element(left.begin(), left.end(), [](auto& a, auto& b) { return rank(a) < rank(b); });
      RunTrial trial = std::move(*best);
      left.erase(best);
      KERNELIFT_ASSIGN(bool fits, plan(trial));
      if (!fits) continue;
      if (!trial.confirmed) {
        KERNELIFT_TRY(confirm(trial));
        continue;
      }
      KERNELIFT_ASSIGN(bool finished, prove(trial));
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
  Status confirm(RunTrial& trial) {
    if (confirmations_ == kMostConfirmations) {
      pass_over(trial, "not confirmed: that was done for " + std::to_string(kMostConfirmations) + " others already");
      return done();
    }
    ++confirmations_;
    say("confirming " + label(trial) + " in a fresh process");
    std::string screened = label(trial);
    auto verdict = confirm_(trial);
    if (!verdict.ok()) {
      pass_over(screened, "it cannot be confirmed: " + verdict.error().message);
      return done();
    }
    trial.confirmed = std::move(*verdict);
    if (trial.figures().speedup_low() > kSmallestGain) {
      offer_.promising.push_back(std::move(trial));
      return done();
    }
    char low[64];
    std::snprintf(low, sizeof low, "confirmed, its gain is only %.3fx or more", trial.figures().speedup_low());
    pass_over(screened, trial.figures().ok() ? low : "it does not hold up when confirmed: " + trial.figures().text());
    return done();
  }

  /// True when there is nothing more to be done.
  Result<bool> prove(const RunTrial& trial) {
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
      return answer_is_no("no gain of this run held up when it was confirmed (" + std::to_string(passed_over_.size()) +
                          " candidates): there is nothing to apply");
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
  int confirmations_ = 0, trials_ = 0;
};

}  // namespace

Result<ApplyReport> apply_best(RunOffer offer, const Confirm& confirm) { return Choice(offer, confirm).run(); }

}  // namespace kernelift
