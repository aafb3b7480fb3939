// The order: by what may be promised, the lower end of the interval. A figure from screening is the best of many looks
// and shrinks when it is taken again, so it is worth confirming only where nothing confirmed can be patched, or where
// it is clearly better. Example: #7 1.31x (confirmed) and #9 1.36x (screened): #7 is tried; with #9 at 1.60x, #9 is
// confirmed and, if that holds, tried first. A candidate whose PTX gives 6.3x and whose source, as nvcc builds it,
// gives 1.7x is tried as PTX first; at 1.75x its source would be. A candidate that turns a knob of other kernels is
// worth what is left when their loss is counted: 1.50x of a kernel whose equal in share becomes 0.75x with it is
// worth 1.00x, and is not tried.
#include "reintegrate/apply_best.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/words.h"
#include "reintegrate/interruption.h"
#include "reintegrate/patch/source_patch.h"

namespace kernelift {
namespace {

constexpr double kScreeningOptimism = 1.1;  ///< A screened figure must be so much better to challenge a confirmed one.
constexpr int kMostConfirmations = 8;       ///< Some seconds each; while nothing confirmed can be patched …
constexpr int kMostChallenges = 2;          ///< … and when something can.
constexpr int kMostTrials = 3;              ///< Patches built, checked and timed in the application: minutes each.
constexpr int kSameReason = 3;              ///< Lines with one reason before the rest is only counted.
constexpr double kSourceIsWorth =
    1.05;  ///< PTX must be so much faster than a patch of the source that people can read.
constexpr size_t kWeighedAtOnce =
    6;                             ///< Changes of knobs, tried on the kernels that share them: a second each, or less.
constexpr int kMostWeighings = 3;  ///< But those kernels are extracted and measured first: seconds.

constexpr const char* kOnlyAgainstClang =
    "it was timed against clang's build of the original, and what it gains over the application's own code is not "
    "known";

/// One way of one candidate into the application.
struct Way {
  RunTrial trial;
  bool embedded = false;
  double share = 0;                      ///< The kernel's, of the application's run time; 0: unknown.
  std::vector<OtherKernel> others = {};  ///< What it does to them; empty: nothing, or not weighed.
  double speedup() const { return embedded ? embedded_gain(trial).speedup : trial.figures().speedup(); }
  double low() const { return embedded ? embedded_gain(trial).low : trial.figures().speedup_low(); }
  double worth() const { return with_others(low()) / (embedded ? kSourceIsWorth : 1); }
  double with_others(double gain) const { return others.empty() ? gain : worth_alone(gain, share, others); }
};

std::string label(const Way& way) {
  char gain[32];
  std::snprintf(gain, sizeof gain, "%.2fx", way.speedup());
  return "#" + std::to_string(way.trial.id) + " (" + way.trial.candidate.tier + ": " + way.trial.candidate.note() +
         ", " + gain + (way.embedded ? " as embedded PTX)" : ")");
}

class Choice {
 public:
  Choice(RunOffer& offer, const Confirm& confirm) : offer_(offer), confirm_(confirm) {
    for (auto& trial : offer.promising) add_ways(trial);
  }

  Result<ApplyReport> run() {
    // First of all: a file that an interrupted apply left patched is not what was scanned.
    KERNELIFT_ASSIGN(Restoration leftovers, roll_back_interrupted(offer_.request.state));
    std::vector<std::string> put_right = notes_of(leftovers);
    offer_.request.notes.insert(offer_.request.notes.begin(), put_right.begin(), put_right.end());
    for (;;) {
      KERNELIFT_ASSIGN(std::optional<Way> best, best_confirmed());
      KERNELIFT_ASSIGN(std::optional<Way> challenger, take_challenger(best));
      if (challenger) {
        if (best) ways_.push_back(std::move(*best));
        confirm(*challenger);
        continue;
      }
      if (!best) break;
      KERNELIFT_ASSIGN(bool finished, prove(*best));
      if (finished) break;
    }
    tell_counts();
    if (report_) {
      // What was found out after the last trial. Where a patch stands, that is nothing.
      const Json written = to_json(*report_);
      report_->passed_over = passed_over_;
      report_->notes.insert(report_->notes.end(), left_out_.begin(), left_out_.end());
      if (Json now = to_json(*report_); now != written)
        (void)write_json(std::filesystem::path(report_->originals) / "report.json", now);
      return std::move(*report_);
    }
    return nothing();
  }

 private:
  bool can_embed() const { return offer_.make_embedded && offer_.embedding != Embedding::Never; }

  /// The ways of a candidate that promise a gain; how many.
  int add_ways(const RunTrial& trial) {
    int count = 0;
    auto add = [&](bool embedded) {
      Way way{trial, embedded, offer_.kernel_share};
      if (way.low() > kSmallestGain) ways_.push_back(std::move(way)), ++count;
    };
    if (trial.applicable() && offer_.embedding != Embedding::Only) add(false);
    if (can_embed()) add(true);
    // What was only screened says nothing of the application's own code yet; its confirmation will.
    if (count == 0 && can_embed() && !trial.confirmed && trial.verdict.device.starts_with("cuda") &&
        trial.verdict.speedup_low() > kSmallestGain)
      ways_.push_back({trial, false, offer_.kernel_share}), ++count;
    return count;
  }

  /// Takes the best of those that `counts` out of the queue until one can be patched.
  template <class Counts>
  Result<std::optional<Way>> take_patchable(const Counts& counts) {
    for (;;) {
      auto best = ways_.end();
      for (auto at = ways_.begin(); at != ways_.end(); ++at)
        if (counts(*at) && (best == ways_.end() || comes_later(*best, *at))) best = at;
      if (best == ways_.end()) return std::optional<Way>();
      Way way = std::move(*best);
      ways_.erase(best);
      // Which way it may take is known only when it is confirmed.
      if (can_embed() && !way.trial.confirmed && way.trial.verdict.device.starts_with("cuda"))
        return std::optional(std::move(way));
      KERNELIFT_ASSIGN(bool fits, plan(way));
      if (!fits) continue;
      KERNELIFT_ASSIGN(bool is_news, weigh(way));
      if (auto why = loss(way)) {
        pass_over(label(way), *why);
        continue;
      }
      if (is_news) {  // There may be a better one now.
        if (std::string with_it = text_of(way.others); !with_it.empty())
          say(label(way) + ": " + text_of(reach_of(way)) + "; with it they become " + with_it);
        ways_.push_back(std::move(way));
        continue;
      }
      return std::optional(std::move(way));
    }
  }

  KnobReach reach_of(const Way& way) const {
    if (way.embedded || !offer_.request.scan) return {};
    return knob_reach(offer_.request.mep, *offer_.request.scan, way.trial.candidate.values);
  }

  /// Finds out what becomes of the other kernels that a way's knobs feed, and of those of the next best of its kind;
  /// false when that is known, or cannot be.
  Result<bool> weigh(Way& way) {
    KnobReach mine = reach_of(way);
    if (mine.empty() || !offer_.weigh || offer_.kernel_share <= 0) return false;
    if (auto known = weighed_.find(mine.knobs); known != weighed_.end()) {
      bool is_new = way.others.empty() && !known->second.empty();
      way.others = known->second;
      return is_new;
    }
    if (weighings_++ == kMostWeighings)
      say("what other changes of knobs do to other kernels is left to the application's own timing");
    if (weighings_ > kMostWeighings) return false;
    std::map<Bindings, KnobReach> asked{{mine.knobs, mine}};
    std::vector<const Way*> next;
    for (auto& other : ways_)
      if (other.trial.confirmed.has_value() == way.trial.confirmed.has_value()) next.push_back(&other);
    std::sort(next.begin(), next.end(), [this](auto* a, auto* b) { return comes_later(*b, *a); });
    for (size_t i = 0; i < next.size() && asked.size() < kWeighedAtOnce; ++i)
      if (KnobReach reach = reach_of(*next[i]); !reach.empty() && !weighed_.contains(reach.knobs))
        asked.emplace(reach.knobs, reach);
    std::vector<KnobReach> changes;
    for (auto& [knobs, reach] : asked) changes.push_back(reach);
    auto becomes = offer_.weigh(changes);
    if (InterruptGuard::interrupted()) return Error{"interrupted; nothing was changed", Exit::Interrupted};
    for (size_t i = 0; i < changes.size(); ++i) weighed_[changes[i].knobs] = becomes.at(i);
    return weigh(way);
  }

  /// What the application would lose by a way, or nothing where it would not.
  std::optional<std::string> loss(const Way& way) {
    std::string found;
    for (auto& other : way.others)
      if (other.wrong && found.empty()) found = "with the new values " + other.name + " fails: " + other.why;
    if (found.empty() && !way.others.empty() && way.worth() <= kSmallestGain) {
      auto alone = Prediction{way.speedup(), way.share}.whole(), together = predicted(way).whole();
      char whole[160];
      std::snprintf(whole, sizeof whole,
                    ": predicted for the application is %.3fx, and %.3fx if constants of its own were turned",
                    together.value_or(0), alone.value_or(0));
      found = "with it they become " + text_of(way.others) + whole;
    }
    if (found.empty()) return std::nullopt;
    found = text_of(reach_of(way)) + "; " + found;
    if (first_loss_.empty()) first_loss_ = label(way) + ": " + found;
    return found;
  }

  Result<std::optional<Way>> best_confirmed() {
    return take_patchable([](auto& way) { return way.trial.confirmed.has_value(); });
  }
  /// What was only screened, and is worth confirming beside `best`.
  Result<std::optional<Way>> take_challenger(const std::optional<Way>& best) {
    if (best ? challenges_ == kMostChallenges : confirmations_ == kMostConfirmations) return std::optional<Way>();
    auto clearly_better = [&](const Way& screened) {
      if (exact_first_ && is_exact(screened) != is_exact(*best)) return is_exact(screened);
      return screened.worth() > kScreeningOptimism * best->worth() &&
             screened.with_others(screened.speedup()) > kScreeningOptimism * best->with_others(best->speedup());
    };
    KERNELIFT_ASSIGN(auto challenger,
                     take_patchable([&](auto& way) { return !way.trial.confirmed && (!best || clearly_better(way)); }));
    if (challenger) ++confirmations_, challenges_ += best.has_value();
    return std::move(challenger);
  }

  /// True when the candidate can take this way, by a patch that was not tried yet.
  Result<bool> plan(const Way& way) {
    ApplyRequest& r = offer_.request;
    auto pass = [&](const Error& error) {
      if (refusals_++ == 0) first_refusal_ = label(way) + ": " + error.message;
      pass_over(label(way), error.message);
      return false;
    };
    r.embedded.reset();
    if (way.embedded) {
      auto known = made_.find(way.trial.id);
      if (known == made_.end()) known = made_.emplace(way.trial.id, offer_.make_embedded(way.trial)).first;
      if (!known->second.ok()) return pass(known->second.error());
      r.embedded = *known->second;
    }
    auto planned = plan_patch({r.mep, r.original, way.trial.candidate, r.scan ? &*r.scan : nullptr, r.root,
                               r.embedded ? &*r.embedded : nullptr});
    if (!planned.ok() && planned.error().exit != Exit::Refused) return std::move(planned).error();
    if (!planned.ok()) return pass(planned.error());
    if (tried_.contains(planned->diff())) {
      pass_over(label(way), "its patch is the one that was just tried");
      return false;
    }
    patch_ = std::move(*planned);
    return true;
  }

  /// Back into the queue with the new figures, or out of it.
  void confirm(Way& way) {
    std::string screened = label(way);
    say("confirming " + screened + " in a fresh process");
    // One confirmation says what both ways of a candidate are worth.
    std::erase_if(ways_, [&](auto& other) { return other.trial.id == way.trial.id; });
    auto verdict = confirm_(way.trial);
    if (!verdict.ok()) {
      pass_over(screened, "it cannot be confirmed: " + verdict.error().message);
      return;
    }
    way.trial.confirmed = std::move(*verdict);
    if (add_ways(way.trial) > 0) return;
    pass_over(screened, why_not(way.trial));
  }

  /// Why a candidate that is confirmed promises nothing, by any way that is open to it.
  std::string why_not(const RunTrial& trial) const {
    const Verdict& figures = trial.figures();
    if (!figures.ok() && trial.counter("embedded_speedup") == 0)
      return "it does not hold up when confirmed: " + figures.text();
    bool source = trial.applicable() && offer_.embedding != Embedding::Only;
    if (!source && trial.counter("embedded_speedup") == 0) return kOnlyAgainstClang;
    char low[64];
    std::snprintf(low, sizeof low, "when confirmed, only %.3fx was sure",
                  source ? figures.speedup_low() : embedded_gain(trial).low);
    return low;
  }

  /// True when there is nothing more to be done.
  Result<bool> prove(const Way& way) {
    KERNELIFT_ASSIGN(bool still_fits, plan(way));  // A challenger may have been planned since.
    if (!still_fits) return false;
    if (report_) pass_over(tried_label_, tried_why_);
    say(std::string(trials_ > 0 ? "trying the next, " : "trying ") + label(way));
    tried_.insert(patch_.diff()), ++trials_;
    tried_label_ = label(way);
    ApplyRequest request = offer_.request;
    request.candidate = way.trial.candidate, request.candidate_id = way.trial.id;
    request.predicted = predicted(way), request.passed_over = passed_over_;
    KERNELIFT_ASSIGN(report_, apply(request));
    tried_why_ = report_->why;
    switch (report_->outcome) {
      case ApplyOutcome::Kept:
      case ApplyOutcome::Interrupted:
      case ApplyOutcome::Disturbed:
      case ApplyOutcome::TooSmall:
      case ApplyOutcome::NoPatch: return true;
      // The next promises less, unless this one failed for what it did to other kernels, or was embedded, and its guard
      // does not hold in the application. But what lies within this interval is not worth minutes either.
      case ApplyOutcome::NotFaster:
        if ((!patch_.reaches_others && !patch_.embeds()) || trials_ == kMostTrials) return true;
        leave_out_what_promises_at_most(report_->measured->high);
        return false;
      case ApplyOutcome::CheckFailed:
        if (trials_ < kMostTrials) leave_out_what_is_no_more_exact_than(way);
        return trials_ == kMostTrials;
      case ApplyOutcome::BuildFailed:
      case ApplyOutcome::NotBuilt: return trials_ == kMostTrials;
    }
    return true;
  }

  /// How far a candidate's results were from the recorded ones, in units of the last place, where the original's are
  /// nearer; nothing in runs that do not say.
  std::optional<double> ulps_lost(const Way& way) const {
    auto& counters = way.trial.figures().counters;
    auto found = counters.find("largest_ulps");
    if (found == counters.end()) return std::nullopt;
    return found->second > offer_.own_ulps ? found->second : 0;
  }
  bool is_exact(const Way& way) const { return ulps_lost(way).value_or(0) == 0; }
  bool comes_later(const Way& a, const Way& b) const {
    if (exact_first_ && is_exact(a) != is_exact(b)) return is_exact(b);
    return a.worth() < b.worth();
  }

  /// A check that compares more strictly than the MEP's verification refuses what lost digits, and will refuse the next
  /// that loses as many: minutes each.
  void leave_out_what_is_no_more_exact_than(const Way& refused) {
    auto lost = ulps_lost(refused);
    if (!lost || *lost == 0) return;
    char ulps[32];
    std::snprintf(ulps, sizeof ulps, "%.4g", *lost);
    const std::string distance =
        std::string("its results lay up to ") + ulps + " units in the last place from the recorded ones";
    tried_why_ += "; in the MEP, " + distance + ", which may be what the check refused";
    exact_first_ = true;
    size_t count = std::erase_if(ways_, [&](auto& way) { return ulps_lost(way).value_or(0) >= *lost; });
    if (count > 0)
      left_out_.push_back(counted(count, "other") + " not tried: the check refused " + tried_label_ +
                          ", and their results lie as far from the recorded ones, or further");
    say(tried_label_ + ": " + distance + ", which may be what the check refused; " +
        (ways_.empty() ? "no other candidate with a gain is nearer to them"
                       : "going on with candidates that are nearer to them, the equal ones first"));
  }

  static Prediction predicted(const Way& way) { return {way.speedup(), way.share, way.others}; }

  void leave_out_what_promises_at_most(double whole) {
    size_t count = std::erase_if(ways_, [&](auto& way) {
      auto promised = Prediction{way.low(), way.share, way.others}.whole();
      return promised && *promised <= whole;
    });
    if (count == 0) return;
    char limit[16];
    std::snprintf(limit, sizeof limit, "%.3fx", whole);
    left_out_.push_back(counted(count, "other") + " not tried: predicted for the application is no more than the " +
                        limit + " at the upper end of this interval");
    say(left_out_.back());
  }

  Error nothing() const {
    const RunOffer& o = offer_;
    if (refusals_ > 0 && refusals_ < passed_over_.size())
      return refused(
          "of the " + std::to_string(passed_over_.size()) + " candidates with a gain " + std::to_string(refusals_) +
          " cannot be patched into the application, and the others' gains were not confirmed; the best that cannot: " +
          first_refusal_);
    if (refusals_ > 0)
      return refused((passed_over_.size() == 1
                          ? "the one candidate with a gain cannot be patched into the application: "
                          : "none of the " + std::to_string(passed_over_.size()) +
                                " candidates with a gain can be patched into the application; the best: ") +
                     first_refusal_);
    if (!first_loss_.empty())
      return answer_is_no("what the kernel gains the application would lose elsewhere; the best of " +
                          std::to_string(passed_over_.size()) + ", " + first_loss_);
    if (!passed_over_.empty())
      return answer_is_no("no gain of this run held up when it was confirmed (" + std::to_string(passed_over_.size()) +
                          " candidates" +
                          (ways_.empty() ? "" : "; " + std::to_string(ways_.size()) + " weaker ones were not tried") +
                          "): there is nothing to apply");
    if (o.compiler_gain) {
      const Candidate& candidate = o.compiler_gain->candidate;
      std::string recipe = candidate.recipe.text();
      if (candidate.tier == "compiler") recipe.clear();  // It is the note.
      std::string gain = "in how the kernel is compiled, " + label(Way{*o.compiler_gain}) +
                         (recipe.empty() ? "" : " with ") + recipe +
                         ", which the application's own compiler is not told by its source";
      if (!o.compiler_gain->confirmed)
        return answer_is_no(
            "nothing that can be patched in is measurably faster than the original; what was seen, and is not "
            "confirmed, is " +
            gain);
      return refused("the gain of this run is " + gain +
                     (can_embed() ? std::string("; and it cannot be embedded: ") + kOnlyAgainstClang : ""));
    }
    if (o.tried == 0)
      return answer_is_no(
          "this run tried nothing: if its time was spent before the first candidate, give `tune` more (--time), or the "
          "application a smaller "
          "problem; else these tiers have nothing for this kernel, and further ideas can come from a model (--llm) or "
          "from you (`kernelift evaluate`)");
    return answer_is_no("nothing in this run is measurably faster than the original");
  }

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
  SourcePatch patch_;  ///< Of the candidate that was planned last.
  std::vector<Way> ways_;
  std::map<int64_t, Result<EmbeddedCode>> made_;  ///< By candidate.
  std::optional<ApplyReport> report_;
  std::set<std::string> tried_;  ///< Diffs.
  std::map<std::string, int> reasons_;
  std::vector<std::string> passed_over_, left_out_;
  std::map<Bindings, std::vector<OtherKernel>> weighed_;  ///< By the new values of shared knobs.
  std::string first_refusal_, first_loss_, tried_label_, tried_why_;
  bool exact_first_ = false;  ///< The check has refused a candidate that had lost digits.
  size_t refusals_ = 0;       ///< Of those passed over: no patch can say them.
  int confirmations_ = 0, challenges_ = 0, trials_ = 0, weighings_ = 0;
};

}  // namespace

Result<ApplyReport> apply_best(RunOffer offer, const Confirm& confirm) { return Choice(offer, confirm).run(); }

}  // namespace kernelift
