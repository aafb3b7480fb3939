// Candidates are ordered by the lower end of their speedup's interval. A screened figure is the best of many
// measurements and shrinks when it is measured again, so a screened candidate is confirmed only if no confirmed one can
// be patched in or if it is clearly better. Example: #7 1.31x (confirmed) and #9 1.36x (screened): #7 is tried; with #9
// at 1.60x, #9 is confirmed and, if that holds, tried first. A candidate whose PTX gives 1.75x and whose source, as
// nvcc builds it, gives 1.70x is tried as source; its PTX goes first where it is more than 5 % faster. Between two of
// nearly one gain the shorter goes first, and one that keeps precision and leaves other kernels' flags alone. A
// candidate that changes a knob which other kernels use is ranked by what is left after their loss: if another kernel
// of the same share becomes 0.75x as fast, a gain of 1.50x is worth 1.00x, and the candidate is not tried.
#include "reintegrate/apply_best.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/base/words.h"
#include "reintegrate/evidence.h"
#include "reintegrate/interruption.h"
#include "reintegrate/patch/source_patch.h"
#include "reintegrate/patch_variant.h"
#include "reintegrate/tree/git_trees.h"
#include "reintegrate/tree/patch_journal.h"

namespace kernelift::reintegrate {
namespace {

constexpr double kScreeningOptimism = 1.1;  ///< Factor by which a screened figure must exceed a confirmed one.
constexpr int kMostConfirmations = 8;       ///< Limit while no confirmed candidate can be patched in; seconds each.
constexpr int kMostChallenges = 2;          ///< The same limit once a confirmed candidate can be patched in.
constexpr int kMostTrials = 3;              ///< Patches built, checked and timed in the application: minutes each.
constexpr int kSameReason = 3;              ///< Lines printed with the same reason before the rest is only counted.
constexpr size_t kJudgedAtOnce = 6;  ///< Knob values tried at once on the kernels that share them: up to 1 s each.
constexpr int kMostJudgements = 3;   ///< Such rounds; each also extracts and measures those kernels: seconds.

constexpr const char* kOnlyAgainstClang =
    "it was timed against clang's build of the original, and its gain over the application's own code is not known";

/// Whether the files may be written and, in a git repository, committed.
Status tree_takes(const SourcePatch& patch) {
  KERNELIFT_TRY(PatchJournal::check_writable(patch));
  std::vector<std::filesystem::path> changed, created;
  for (auto& change : patch.changes) (change.created ? created : changed).push_back(change.path);
  KERNELIFT_ASSIGN([[maybe_unused]] GitTrees trees, GitTrees::inspect(changed, created));
  return done();
}

class CandidateTrials {
 public:
  CandidateTrials(RunOffer& offer, const Confirm& confirm) : offer_(offer), confirm_(confirm) {
    for (auto& trial : offer.promising) add_variants(trial);
    drop_needless_choices();
  }

  Result<ApplyReport> run() {
    // This comes first: a file that an interrupted apply left patched differs from what was scanned.
    KERNELIFT_ASSIGN(Restoration leftovers, roll_back_interrupted(offer_.request.state, offer_.request.progress));
    std::vector<std::string> restored = restoration_notes(leftovers);
    offer_.request.notes.insert(offer_.request.notes.begin(), restored.begin(), restored.end());
    for (;;) {
      KERNELIFT_ASSIGN(std::optional<PatchVariant> best, next());
      if (!best) break;
      KERNELIFT_ASSIGN(bool finished, prove(*best));
      if (finished) break;
    }
    report_counts();
    if (report_) {
      // Adds what was found out after the last trial; nothing was if the patch was kept.
      const Json written = to_json(*report_);
      report_->passed_over = passed_over_;
      report_->notes.insert(report_->notes.end(), left_out_.begin(), left_out_.end());
      if (Json now = to_json(*report_); now != written)
        (void)write_json(std::filesystem::path(report_->originals) / "report.json", now);
      return std::move(*report_);
    }
    return no_patch_error();
  }

  /// The change that would be tried first.
  Result<KernelChange> choose() {
    for (;;) {
      KERNELIFT_ASSIGN(std::optional<PatchVariant> best, next());
      if (!best) return no_patch_error();
      KERNELIFT_ASSIGN(bool fits, plan(*best));
      if (!fits) continue;
      KernelChange change = offer_.request;
      take(*best, change);
      change.planned = patch_;
      return change;
    }
  }

  Result<PatchPreview> preview() {
    only_shown_ = true;
    for (;;) {
      KERNELIFT_ASSIGN(std::optional<PatchVariant> best, best_confirmed());
      if (!best) {
        KERNELIFT_ASSIGN(best, take_patchable([](auto&) { return true; }));
      }
      if (!best) return no_patch_error();
      KERNELIFT_ASSIGN(bool fits, plan(*best));  // One for a GPU that is not confirmed has not been planned yet.
      if (!fits) continue;
      PatchPreview preview;
      preview.candidate = best->trial.id, preview.label = best->label();
      preview.confirmed = best->trial.confirmed.has_value(), preview.embedded = best->embedded;
      preview.predicted = predicted(*best);
      for (auto& change : patch_.changes) preview.files.push_back(change.name);
      preview.diff = patch_.diff(), preview.notes = patch_.notes;
      const std::vector<std::string>& proof = proven_.at(patch_.identity());
      preview.notes.insert(preview.notes.end(), proof.begin(), proof.end());
      preview.passed_over = passed_over_;
      return preview;
    }
  }

 private:
  /// The best variant that is confirmed, can be patched in and passes inspect(); nothing if there is none.
  Result<std::optional<PatchVariant>> next() {
    for (;;) {
      KERNELIFT_ASSIGN(std::optional<PatchVariant> best, best_confirmed());
      KERNELIFT_ASSIGN(std::optional<PatchVariant> challenger, take_challenger(best));
      if (!challenger && best && !inspect(*best)) continue;
      if (!challenger) return best;
      if (best) variants_.push_back(std::move(*best));
      confirm(*challenger);
    }
  }

  static void take(const PatchVariant& variant, KernelChange& change) {
    change.figures = variant.trial.figures();
    change.candidate = variant.candidate(), change.candidate_id = variant.trial.id;
    change.predicted = predicted(variant), change.where = variant.where();
  }

  /// Adds the patches that a candidate can become; returns their number.
  size_t add_variants(const tuner::RunTrial& trial) {
    std::vector<PatchVariant> made = variants_of(trial, offer_);
    std::ranges::move(made, std::back_inserter(variants_));
    return made.size();
  }

  /// A choice between two launches has to be certainly faster than the best candidate for all of them.
  void drop_needless_choices() {
    const PatchVariant* common = nullptr;
    for (auto& variant : variants_)
      if (!variant.shape && !variant.embedded && (!common || variant.low() > common->low())) common = &variant;
    if (!common) return;
    const double high = common->figures().speedup_high();
    std::erase_if(variants_, [&](auto& variant) { return variant.shape && variant.low() <= high; });
  }

  /// Takes variants for which `counts` holds out of the queue, best first, until one can be patched in.
  template <class Counts>
  Result<std::optional<PatchVariant>> take_patchable(const Counts& counts) {
    for (;;) {
      auto best = variants_.end();
      for (auto at = variants_.begin(); at != variants_.end(); ++at)
        if (counts(*at) && (best == variants_.end() || comes_later(*best, *at))) best = at;
      if (best == variants_.end()) return std::optional<PatchVariant>();
      PatchVariant variant = std::move(*best);
      variants_.erase(best);
      // Whether its source or its PTX is the better patch is known only once it is confirmed.
      if (offer_.can_embed() && !variant.trial.confirmed && variant.trial.verdict.device.starts_with("cuda"))
        return std::optional(std::move(variant));
      KERNELIFT_ASSIGN(bool fits, plan(variant));
      if (!fits) continue;
      KERNELIFT_ASSIGN(bool is_news, judge_others(variant));
      if (auto why = loss(variant)) {
        pass_over({variant.trial.id, variant.label(), *why});
        continue;
      }
      if (is_news) {  // The effect on other kernels lowers its rank: another variant may be better now.
        if (std::string with_it = text_of(variant.others); !with_it.empty())
          say(variant.label() + ": " + text_of(shared_by(variant)) + "; with the new values they become " + with_it);
        variants_.push_back(std::move(variant));
        continue;
      }
      return std::optional(std::move(variant));
    }
  }

  SharedKnobs shared_by(const PatchVariant& variant) const {
    if (variant.embedded || !offer_.request.scan) return {};
    return shared_knobs(offer_.request.mep, *offer_.request.scan, variant.candidate().values);
  }

  /// Judges the other kernels that use the variant's knobs, and in the same round those of the next best variants.
  /// False if the result was known already or cannot be found out.
  Result<bool> judge_others(PatchVariant& variant) {
    SharedKnobs mine = shared_by(variant);
    if (mine.empty() || !offer_.judge_others) return false;
    if (auto known = judged_.find(mine.knobs); known != judged_.end()) {
      bool is_new = variant.others.empty() && !known->second.empty();
      variant.others = known->second;
      return is_new;
    }
    if (judgements_++ >= kMostJudgements) {
      for (auto* other : mine.others)
        variant.others.push_back({.name = other->name, .why = "no further changes of shared knobs are judged"});
      return false;
    }
    std::map<Bindings, SharedKnobs> asked{{mine.knobs, mine}};
    std::vector<const PatchVariant*> next;
    for (auto& other : variants_)
      if (other.trial.confirmed.has_value() == variant.trial.confirmed.has_value()) next.push_back(&other);
    std::sort(next.begin(), next.end(), [this](auto* a, auto* b) { return comes_later(*b, *a); });
    for (size_t i = 0; i < next.size() && asked.size() < kJudgedAtOnce; ++i)
      if (SharedKnobs shared = shared_by(*next[i]); !shared.empty() && !judged_.contains(shared.knobs))
        asked.emplace(shared.knobs, shared);
    std::vector<SharedKnobs> changes;
    for (auto& [knobs, shared] : asked) changes.push_back(shared);
    auto becomes = offer_.judge_others(changes);
    if (InterruptGuard::interrupted()) return Error{"interrupted; nothing was changed", Exit::Interrupted};
    for (size_t i = 0; i < changes.size(); ++i) judged_[changes[i].knobs] = becomes.at(i);
    return judge_others(variant);
  }

  /// Why the application would lose by a variant; nothing if it would not.
  std::optional<std::string> loss(const PatchVariant& variant) {
    std::string found;
    for (auto& other : variant.others) {
      if (!found.empty()) break;
      if (other.found == OtherKernel::Found::Wrong)
        found = "with the new values " + other.name + " fails: " + other.why;
      if (other.found == OtherKernel::Found::NotKnown && offer_.request.guards)
        found = "whether " + other.name + " is right with the new values is not known: " + other.why +
                " (--no-guards patches it all the same)";
    }
    if (found.empty() && !variant.others.empty() && offer_.kernel_share > 0 &&
        variant.with_others(variant.low()) <= kSmallestGain) {
      auto alone = Prediction{variant.speedup(), variant.share}.whole(), together = predicted(variant).whole();
      char whole[160];
      std::snprintf(whole, sizeof whole,
                    ": predicted for the application is %.3fx, and %.3fx if this kernel had constants of its own",
                    together.value_or(0), alone.value_or(0));
      found = "with the new values they become " + text_of(variant.others) + whole;
    }
    if (found.empty()) return std::nullopt;
    found = text_of(shared_by(variant)) + "; " + found;
    if (first_loss_.empty()) first_loss_ = variant.label() + ": " + found;
    return found;
  }

  Result<std::optional<PatchVariant>> best_confirmed() {
    return take_patchable([](auto& variant) { return variant.trial.confirmed.has_value(); });
  }
  /// The best screened variant that is worth confirming although `best` is known.
  Result<std::optional<PatchVariant>> take_challenger(const std::optional<PatchVariant>& best) {
    if (best ? challenges_ == kMostChallenges : confirmations_ == kMostConfirmations)
      return std::optional<PatchVariant>();
    auto clearly_better = [&](const PatchVariant& screened) {
      if (exact_first_ && is_exact(screened) != is_exact(*best)) return is_exact(screened);
      return screened.worth() > kScreeningOptimism * best->worth() &&
             screened.with_others(screened.speedup()) > kScreeningOptimism * best->with_others(best->speedup());
    };
    KERNELIFT_ASSIGN(auto challenger, take_patchable([&](auto& variant) {
                       return !variant.trial.confirmed && (!best || clearly_better(variant));
                     }));
    if (challenger) ++confirmations_, challenges_ += best.has_value();
    return std::move(challenger);
  }

  /// True if the variant can be patched in, by a patch that was not tried yet.
  Result<bool> plan(const PatchVariant& variant) {
    ApplyRequest& r = offer_.request;
    auto pass = [&](const Error& error) {
      if (refusals_.empty()) first_refusal_ = variant.label() + ": " + error.message;
      refusals_.insert(variant.trial.id);
      pass_over({variant.trial.id, variant.label(), error.message});
      return false;
    };
    r.embedded.reset();
    if (variant.embedded) {
      auto known = made_.find(variant.trial.id);
      if (known == made_.end()) known = made_.emplace(variant.trial.id, offer_.make_embedded(variant.trial)).first;
      if (!known->second.ok()) return pass(known->second.error());
      r.embedded = *known->second;
    }
    if (!std::exchange(planned_any_, true))
      say("looking for a change that can be patched in, of " + counted(variants_.size() + 1, "candidate"));
    take(variant, r);
    r.constants.clear();
    auto planned = plan_patch(patch_question(r, r));
    // What it needs of constants is asked of what can be patched in: seconds each.
    if (planned.ok()) {
      auto constants = needed_constants(variant);
      if (!constants.ok())
        return pass(refused("what it needs of constants is not known: " + constants.error().message));
      r.constants = std::move(*constants);
      if (!r.constants.empty()) planned = plan_patch(patch_question(r, r));
    }
    if (!planned.ok() && planned.error().exit != Exit::Refused) return std::move(planned).error();
    if (!planned.ok()) return pass(planned.error());
    if (tried_.contains(planned->diff())) {
      pass_over({variant.trial.id, variant.label(), "its patch is the one that was just tried"});
      return false;
    }
    if (proven_.contains(planned->identity())) {
      patch_ = std::move(*planned);
      return true;
    }
    if (Status taken = tree_takes(*planned); !taken.ok()) {
      if (taken.error().exit != Exit::Refused) return std::move(taken).error();
      if (tree_takes(of_kernels_files(*planned)).ok()) return pass(taken.error());
      if (!only_shown_) return std::move(taken).error();
    }
    auto proof = prove_host_half({r.mep, r.scan ? &*r.scan : nullptr, *planned, r.host});
    if (!proof.ok() && proof.error().exit != Exit::Refused) return std::move(proof).error();
    if (!proof.ok()) return pass(proof.error());
    if (proof->units > 0) say(proof->text());
    proven_.emplace(planned->identity(), proof->notes);
    patch_ = std::move(*planned);
    return true;
  }

  Result<Bindings> needed_constants(const PatchVariant& variant) {
    if (variant.embedded || !offer_.ask_constants)
      return Bindings();  // Embedded code asks for its block at each launch.
    const std::pair key(variant.trial.id, variant.own_constants.has_value());
    if (auto known = constants_.find(key); known != constants_.end()) return known->second;
    KERNELIFT_ASSIGN(Bindings asked, offer_.ask_constants(variant.candidate(), variant.trial.figures()));
    return constants_[key] = std::move(asked);
  }

  /// The part of a patch that other candidates' patches have, too: where the tree does not take that, it takes none.
  SourcePatch of_kernels_files(SourcePatch patch) const {
    std::set<std::filesystem::path> own;
    std::error_code code;
    for (auto& function : offer_.request.mep.functions)
      own.insert(std::filesystem::weakly_canonical(offer_.request.root / function.file, code));
    std::erase_if(patch.changes, [&](auto& change) { return !own.contains(change.path); });
    return patch;
  }

  /// Confirms a screened candidate and puts its variants back into the queue with the new figures, or drops it.
  void confirm(PatchVariant& variant) {
    std::string screened = variant.label();
    say("confirming " + screened + " in a fresh process");
    // One confirmation gives the figures of both variants of a candidate.
    std::erase_if(variants_, [&](auto& other) { return other.trial.id == variant.trial.id; });
    auto verdict = confirm_(variant.trial);
    if (!verdict.ok()) {
      pass_over({variant.trial.id, screened, "it cannot be confirmed: " + verdict.error().message});
      return;
    }
    variant.trial.confirmed = std::move(*verdict);
    for (bool own : {false, true}) constants_.erase({variant.trial.id, own});  // More is known now.
    const size_t added = add_variants(variant.trial);
    drop_needless_choices();
    if (added > 0) return;
    pass_over({variant.trial.id, screened, why_not(variant.trial)});
  }

  /// False: the GPU vendor's tools report what they do not report of the original, and the candidate is dropped.
  bool inspect(PatchVariant& variant) {
    std::optional<Verdict>& confirmed = variant.trial.confirmed;
    if (!offer_.inspect || !confirmed || confirmed->sanitized) return true;
    const std::string name = variant.label();
    say("running " + name + " under compute-sanitizer");
    auto verdict = offer_.inspect(variant.trial, variant.embedded ? BuiltBy::Clang : BuiltBy::Application);
    if (!verdict.ok()) {
      say(name + " could not be run under compute-sanitizer: " + verdict.error().message);
      return true;
    }
    confirmed = std::move(*verdict);
    if (confirmed->ok()) return true;
    std::erase_if(variants_, [&](auto& other) { return other.trial.id == variant.trial.id; });
    pass_over({variant.trial.id, name, confirmed->text()});
    return false;
  }

  /// Why no variant of a confirmed candidate promises a gain.
  std::string why_not(const tuner::RunTrial& trial) const {
    const Verdict& figures = trial.figures();
    if (!figures.ok() && !figures.embedded) return "its confirmation failed: " + figures.text();
    bool source = trial.applicable() && offer_.embedding != Embedding::Only;
    if (!source && !figures.embedded) return kOnlyAgainstClang;
    char low[64];
    std::snprintf(low, sizeof low, "when confirmed, its speedup may be as low as %.3fx",
                  source ? figures.speedup_low() : embedded_gain(trial).low);
    return low;
  }

  /// Applies the variant; true if no other candidate should be tried after it.
  Result<bool> prove(const PatchVariant& variant) {
    KERNELIFT_ASSIGN(bool still_fits, plan(variant));  // A challenger may have been planned since.
    if (!still_fits) return false;
    if (report_) pass_over(last_trial_);
    say(std::string(trials_ > 0 ? "trying the next, " : "trying ") + variant.label());
    tried_.insert(patch_.diff()), ++trials_;
    last_trial_ = {variant.trial.id, variant.label(), ""};
    ApplyRequest request = offer_.request;
    request.proven_patch = patch_.identity();
    const std::vector<std::string>& notes = proven_.at(*request.proven_patch);
    request.notes.insert(request.notes.end(), notes.begin(), notes.end());
    take(variant, request);
    request.passed_over = passed_over_;
    KERNELIFT_ASSIGN(report_, apply(request));
    last_trial_.why = report_->why;
    switch (report_->outcome) {
      case ApplyOutcome::Kept:
      case ApplyOutcome::Interrupted:
      case ApplyOutcome::Disturbed:
      case ApplyOutcome::Checked:
      case ApplyOutcome::TooSmall:
      case ApplyOutcome::HookRefused:
      case ApplyOutcome::NoPatch: return true;
      // The next candidate promises less, so it is tried only if this one failed for a reason of its own: it changed
      // other kernels too, or it was embedded and its guard may not hold in the application. Candidates whose predicted
      // gain lies within the measured interval are not worth minutes either.
      case ApplyOutcome::NotFaster:
        if ((!patch_.reaches_others && !patch_.embeds()) || trials_ == kMostTrials) return true;
        drop_predictions_up_to(report_->measured->high);
        return false;
      case ApplyOutcome::CheckFailed:
        if (trials_ < kMostTrials) drop_no_more_exact_than(variant);
        return trials_ == kMostTrials;
      case ApplyOutcome::BuildFailed:
      case ApplyOutcome::NotBuilt: return trials_ == kMostTrials;
    }
    return true;
  }

  /// Largest distance of a candidate's results from the recorded ones, in units in the last place, if it exceeds the
  /// original's own distance (else 0); nothing in runs that do not record it.
  std::optional<double> ulps_lost(const PatchVariant& variant) const {
    const std::optional<double>& ulps = variant.trial.figures().largest_ulps;
    if (!ulps) return std::nullopt;
    return *ulps > offer_.own_ulps ? *ulps : 0;
  }
  bool is_exact(const PatchVariant& variant) const { return ulps_lost(variant).value_or(0) == 0; }
  bool comes_later(const PatchVariant& a, const PatchVariant& b) const {
    if (exact_first_ && is_exact(a) != is_exact(b)) return is_exact(b);
    return a.worth() < b.worth();
  }

  /// An application's check may be stricter than the MEP's verification. If it rejected a candidate that lost digits,
  /// it will reject those that lose as many: minutes each, so they are dropped.
  void drop_no_more_exact_than(const PatchVariant& refused) {
    auto lost = ulps_lost(refused);
    if (!lost || *lost == 0) return;
    char ulps[32];
    std::snprintf(ulps, sizeof ulps, "%.4g", *lost);
    const std::string distance =
        std::string("its results lay up to ") + ulps + " units in the last place from the recorded ones";
    last_trial_.why += "; in the MEP, " + distance + ", which may be why the check failed";
    exact_first_ = true;
    size_t count = std::erase_if(variants_, [&](auto& variant) { return ulps_lost(variant).value_or(0) >= *lost; });
    if (count > 0)
      left_out_.push_back(counted(count, "other") + " not tried: the check failed with " + last_trial_.label +
                          ", and their results lie as far from the recorded ones, or further");
    say(last_trial_.label + ": " + distance + ", which may be why the check failed; " +
        (variants_.empty() ? "no other candidate with a gain is closer to the recorded results"
                           : "going on with candidates whose results are closer to the recorded ones, those as exact "
                             "as the original first"));
  }

  static Prediction predicted(const PatchVariant& variant) {
    return {variant.speedup(), variant.share, variant.others};
  }

  void drop_predictions_up_to(double whole) {
    size_t count = std::erase_if(variants_, [&](auto& variant) {
      auto promised = Prediction{variant.low(), variant.share, variant.others}.whole();
      return promised && *promised <= whole;
    });
    if (count == 0) return;
    char limit[16];
    std::snprintf(limit, sizeof limit, "%.3fx", whole);
    left_out_.push_back(counted(count, "other") + " not tried: predicted for the application is no more than the " +
                        limit + " at the upper end of this interval");
    say(left_out_.back());
  }

  Error no_patch_error() const {
    const RunOffer& o = offer_;
    if (!refusals_.empty() && refusals_.size() < passed())
      return refused(
          "of the " + std::to_string(passed()) + " candidates with a gain " + std::to_string(refusals_.size()) +
          " cannot be patched into the application, and the others' gains were not confirmed; the best that cannot: " +
          first_refusal_);
    if (!refusals_.empty())
      return refused((passed() == 1 ? "the one candidate with a gain cannot be patched into the application: "
                                    : "none of the " + std::to_string(passed()) +
                                          " candidates with a gain can be patched into the application; the best: ") +
                     first_refusal_);
    if (!first_loss_.empty())
      return answer_is_no("other kernels that share a constant would lose what this kernel gains; the best of " +
                          counted(passed(), "candidate") + ": " + first_loss_);
    if (!passed_over_.empty())
      return answer_is_no(
          "no gain of this run held up when it was confirmed (" + counted(passed(), "candidate") +
          (variants_.empty() ? "" : "; " + std::to_string(variants_.size()) + " weaker ones were not tried") +
          "): there is nothing to apply");
    if (o.compiler_gain) {
      const Candidate& candidate = o.compiler_gain->candidate;
      std::string recipe = candidate.recipe.text();
      if (candidate.tier == "compiler") recipe.clear();  // The note already is the recipe.
      std::string gain = "in how the kernel is compiled, " + PatchVariant{*o.compiler_gain}.label() +
                         (recipe.empty() ? "" : " with ") + recipe + ", which no change of the source can express";
      if (!o.compiler_gain->confirmed)
        return answer_is_no(
            "nothing that can be patched in is measurably faster than the original; the only gain seen, not "
            "confirmed, is " +
            gain);
      return refused("the gain of this run is " + gain +
                     (o.can_embed() ? std::string("; and it cannot be embedded: ") + kOnlyAgainstClang : ""));
    }
    if (o.tried == 0)
      return answer_is_no(
          "this run tried nothing: if its time was spent before the first candidate, give `tune` more (--time) or the "
          "application a smaller problem; otherwise these tiers found nothing to change in this kernel, and further "
          "ideas can come from a language model (--llm) or from you (`kernelift evaluate`)");
    return answer_is_no("nothing in this run is measurably faster than the original");
  }

  /// Number of candidates; one of which no patch is left may have been passed over as several.
  size_t passed() const {
    std::set<int64_t> ids;
    for (auto& one : passed_over_) ids.insert(one.candidate);
    return ids.size();
  }

  void pass_over(PassedOver one) {
    if (++reasons_[one.why] <= kSameReason) say("passing over " + one.text());
    passed_over_.push_back(std::move(one));
  }
  void report_counts() const {
    for (auto& [why, count] : reasons_)
      if (count > kSameReason) say("passed over " + std::to_string(count - kSameReason) + " more: " + why);
  }
  void say(const std::string& line) const {
    if (offer_.request.progress) offer_.request.progress(line);
  }

  RunOffer& offer_;
  const Confirm& confirm_;
  SourcePatch patch_;  ///< The patch that was planned last.
  std::vector<PatchVariant> variants_;
  /// KernelChange::constants by candidate, and whether it has constants of its own.
  std::map<std::pair<int64_t, bool>, Bindings> constants_;
  std::map<int64_t, Result<EmbeddedCode>> made_;  ///< Embedded code by candidate.
  std::optional<ApplyReport> report_;
  std::set<std::string> tried_;                      ///< Diffs of the patches that were tried.
  std::map<Hash, std::vector<std::string>> proven_;  ///< Patches that leave the host program as it is, with notes.
  std::map<std::string, int> reasons_;
  std::vector<PassedOver> passed_over_;
  PassedOver last_trial_;  ///< The candidate that was applied last, with its outcome.
  std::vector<std::string> left_out_;
  std::map<Bindings, std::vector<OtherKernel>> judged_;  ///< Effects on other kernels, by the shared knobs' new values.
  std::string first_refusal_, first_loss_;
  bool only_shown_ = false;     ///< The patch, of a kernel whose file may have uncommitted changes.
  bool exact_first_ = false;    ///< The check failed with a candidate that had lost digits: prefer exact ones.
  std::set<int64_t> refusals_;  ///< Passed-over candidates of which some patch cannot be expressed.
  bool planned_any_ = false;
  int confirmations_ = 0, challenges_ = 0, trials_ = 0, judgements_ = 0;
};

}  // namespace

Json to_json(const PatchPreview& preview) {
  Json passed_over = Json::array();
  for (auto& one : preview.passed_over) passed_over.push_back(one.text());
  Json json = {{"candidate", preview.candidate},
               {"label", preview.label},
               {"confirmed", preview.confirmed},
               {"embedded", preview.embedded},
               {"kernel_gain", preview.predicted.kernel_gain},
               {"kernel_share", preview.predicted.kernel_share}};
  if (auto whole = preview.predicted.whole()) json["predicted"] = *whole;
  json["files"] = preview.files, json["diff"] = preview.diff, json["notes"] = preview.notes;
  json["passed_over"] = passed_over;
  return json;
}

Result<PatchPreview> preview_best(RunOffer offer) {
  const Confirm none;  // Nothing is confirmed for a preview.
  return CandidateTrials(offer, none).preview();
}

Result<KernelChange> best_change(RunOffer offer, const Confirm& confirm) {
  return CandidateTrials(offer, confirm).choose();
}

Result<ApplyReport> apply_best(RunOffer offer, const Confirm& confirm) { return CandidateTrials(offer, confirm).run(); }

}  // namespace kernelift::reintegrate
