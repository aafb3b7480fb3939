// The loop of tuner.h. Budgets count over all sittings of a run. The time is divided into the search and the
// confirmation of finalists, by the expected cost of the latter. No candidate is submitted whose verdict would come
// after the end of the search, and candidates still in flight then are abandoned.
#include "tuner/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/base/file.h"
#include "tuner/alike_failures.h"
#include "tuner/confirm_reserve.h"
#include "tuner/finalists.h"
#include "tuner/in_flight.h"
#include "tuner/opening.h"
#include "tuner/places.h"
#include "tuner/reduction.h"
#include "tuner/search/auc_bandit.h"
#include "tuner/space/parameter_proposer.h"

namespace kernelift::tuner {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kStoreSeconds = 0.2;                 ///< Reserve for the work after the last confirmation.
constexpr double kLatestWeight = 0.3;                 ///< Weight of the last verdict in the expected time of a verdict.
constexpr auto kPoll = std::chrono::milliseconds(2);  ///< Far below the duration of any evaluation.
constexpr auto kWaitForIdeas = std::chrono::milliseconds(50);
constexpr int kBarrenRounds = 3;        ///< Rounds without any proposal after which the run is over.
constexpr int kRepeatRounds = 1000;     ///< The same for rounds with known candidates only, as resumed runs have many.
constexpr size_t kPlacesAQuestion = 4;  ///< Of the evaluator, for each question about other sizes at a time.
// Trying leaders with one change less takes at most this share of the time, and usually this many rounds.
constexpr double kReducingShare = 0.05, kReducingRounds = 2;
// What confirmation leaves is searched on if it is this share of the time at least, and this many times what is kept.
constexpr double kAgainShare = 0.1, kAgainReserve = 1.5;
// A first finalist is confirmed once so much of the time is left, if it gains so much, within a share of what is left.
constexpr double kRehearsalLeft = 0.6, kRehearsalGain = 1.2, kRehearsalShare = 0.7;
constexpr int kMostNotJudged = 3;  ///< Evaluations in a row without a verdict.
constexpr int kRepeats = 64;       ///< Known candidates that a proposer may propose in a row.

/// Whether any of the proposers changes more than the compiler's recipe.
bool sources_change(const std::vector<std::unique_ptr<Proposer>>& proposers) {
  return std::ranges::any_of(proposers, [](auto& proposer) { return proposer->tier() != "compiler"; });
}

class Tuning {
 public:
  Tuning(Evaluator& evaluator, Run& run, std::vector<std::unique_ptr<Proposer>>& proposers, const TuneOptions& options)
      : evaluator_(evaluator),
        run_(run),
        proposers_(proposers),
        options_(options),
        bandit_(proposers.size()),
        flying_(evaluator),
        begin_(options.started.value_or(now())),
        spent_before_(run.meta().seconds_spent),
        reduction_(history_, proposers,
                   [this](auto candidates, auto& parent) { return measure(std::move(candidates), parent); }),
        finalists_(history_, reduction_, options.finalists, !options.recipes_apply && sources_change(proposers)) {}

  Result<TuneReport> go(const Candidate& original);

 private:
  Clock::time_point now() const { return options_.clock.now ? options_.clock.now() : Clock::now(); }
  void sleep(std::chrono::duration<double> time) const {
    if (options_.clock.sleep) options_.clock.sleep(time);
    else std::this_thread::sleep_for(time);
  }
  double elapsed() const { return std::chrono::duration<double>(now() - begin_).count(); }
  double spent() const { return spent_before_ + elapsed(); }
  double left() const { return options_.seconds - kStoreSeconds - spent(); }
  bool timed() const { return options_.seconds > 0; }
  Clock::time_point in(double seconds) const {
    return now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  bool out_of_patience() const { return options_.patience > 0 && elapsed() - improved_at_ > options_.patience; }
  bool interrupted() const { return options_.interrupted && options_.interrupted->load(); }
  /// What confirming those who lead now, and those who may yet, is expected to take.
  double confirming_seconds() const;
  bool search_is_over() const { return timed() && left() <= reserve_; }
  /// A candidate submitted now would not be answered in time.
  bool too_late() const { return timed() && left() - answer_seconds_ <= reserve_; }
  bool out_of_evaluations() const {
    return options_.evaluations > 0 && tried() + static_cast<int64_t>(flying_.size()) >= options_.evaluations;
  }
  int64_t tried() const { return static_cast<int64_t>(history_.size()) - (history_.baseline() ? 1 : 0); }

  Status recall();
  /// Candidates until the time of the search is over, then confirmation of its finalists.
  Status search();
  /// Enough of the time was left by the last confirmation, and there was one since the last call.
  bool may_search_again();
  Status measure_original(const Candidate& original);
  /// Submits candidates until the evaluator is full; true if any was submitted.
  bool launch_more();
  /// A candidate's place is free again once it is measured, whether or not other sizes are still asked about.
  bool is_full() const { return flying_.size() - flying_.asked() >= places(); }
  size_t places() const {
    const size_t all = static_cast<size_t>(std::max(1, evaluator_.parallelism()));
    return timed() && history_.baseline() ? places_for(history_.baseline()->verdict, sitting_, all) : all;
  }
  bool launch_from(size_t arm);
  /// Arms in the order in which they propose next: the opening's first, then by the bandit's ranking.
  std::vector<size_t> order() const;
  Result<bool> collect();
  /// Nothing is in flight then: timed candidates are stored, and the others tried again if the search goes on.
  Status abandon();
  /// An Error if the verdict is from another device than the baseline: their figures cannot be compared.
  Status check_device(const Verdict& verdict) const;
  /// Stores the verdict, or counts the evaluation that has none; an Error, too, where several in a row have none.
  Status take(InFlight& done, const Evaluation& evaluation);
  /// Ends the search if all candidates fail alike: with the original, or for too long.
  void look_at_failures();
  Status store(InFlight& done, const Verdict& verdict);
  /// How long it took, for the next ones.
  void note_answer(const InFlight& measured);
  /// It may be among the finalists, so that it is worth the time to ask what is known of it at other sizes: one that is
  /// wrong there must lead no search.
  bool may_lead(const Evaluation& evaluation) const;
  /// What trying leaders with one change less is expected to take.
  double reducing_seconds() const;
  /// Takes changes from the leaders without which they are as fast.
  Status reduce_leaders();
  /// Submits candidates and awaits their verdicts, as far as the time allows that is not kept for confirmation.
  Status measure(std::vector<Candidate> candidates, const RunTrial& parent);
  /// What a confirmation takes may not be known before there was one, and a leader that it refuses must not lead the
  /// search to its end: one is confirmed while there is time to do without it.
  bool rehearsal_is_due() const;
  Status rehearse();
  Status confirm_finalists();
  Status confirm(const RunTrial& trial, std::optional<Clock::time_point> deadline);
  void tell_lateness(int64_t trial, std::optional<Clock::time_point> deadline, bool judged);
  void report_progress(bool improved, std::string message = {});
  TuneReport report() const;

  Evaluator& evaluator_;
  Run& run_;
  std::vector<std::unique_ptr<Proposer>>& proposers_;
  const TuneOptions& options_;
  History history_;
  AucBandit bandit_;
  Flight flying_;
  int64_t recalled_ = -1;  ///< Candidates tried in earlier sittings; -1: there was none.
  size_t confirmed_ = 0;   ///< Confirmations in this sitting.
  int not_judged_ = 0;     ///< Evaluations in a row without a verdict.
  AlikeFailures failures_;
  Clock::time_point begin_;
  double spent_before_;
  double sitting_ = 0;  ///< Seconds of this sitting for search and confirmation.
  bool rehearsed_ = false;
  size_t confirmed_before_ = 0;  ///< may_search_again(): when last asked.
  double reserve_ = 0;           ///< For reducing and confirming leaders, as of the last verdict.
  double improved_at_ = 0;       ///< When the last new best came, or the search began.
  double answer_seconds_ = 0;    ///< From submission to verdict, as a moving average.
  bool repeated_ = false;        ///< A proposer proposed a known candidate in this round.
  bool awaited_ = false;         ///< There was a time when only proposals that take their time were awaited.
  Reduction reduction_;          ///< Of the leaders; what is left of them is confirmed.
  Finalists finalists_;
  std::string stopped_by_, unconfirmed_, last_tier_ = "baseline";
  std::string trouble_;  ///< Why a finalist could not be judged.
};

Status Tuning::recall() {
  KERNELIFT_ASSIGN(auto trials, run_.history());
  for (auto& trial : trials) {
    const RunTrial& kept = history_.add(std::move(trial));
    if (&kept != history_.baseline()) failures_.add(kept.verdict);
    for (auto& proposer : proposers_) proposer->learn(kept);
  }
  if (history_.baseline()) recalled_ = tried();
  failures_.resume();
  return done();
}

Status Tuning::measure_original(const Candidate& original) {
  if (history_.baseline()) return done();
  Evaluation evaluation = evaluator_.submit(original).get();
  if (auto* none = std::get_if<NotJudged>(&evaluation))
    return environment_error("the original cannot be measured: " + none->why);
  const Verdict& verdict = std::get<Verdict>(evaluation);
  // A busy machine or too little time, not the kernel's fault.
  if (verdict.outcome == Outcome::TimedOut && verdict.stage == Stage::Compile)
    return answer_is_no("the original could not be compiled within the time that a candidate is given (" +
                        verdict.detail + "); give it more time (--time)");
  if (!verdict.ok())
    return answer_is_no("the original kernel does not pass its own check: " + verdict.text() +
                        "; `kernelift replay` shows the details, and nothing can be tuned until it passes");
  KERNELIFT_ASSIGN(int64_t id, run_.record(original, verdict, {}, spent()));
  history_.add({id, original, verdict, {}, {}, spent()});
  return done();
}

bool Tuning::launch_from(size_t arm) {
  Proposer& proposer = *proposers_[arm];
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    evaluator_.wait_while_timing();  // Rules parse and analyse on a processor of their own.
    auto proposals = proposer.propose(history_, 1);
    for (auto& note : proposer.take_notes()) report_progress(false, proposer.tier() + ": " + note);
    if (proposals.empty()) return false;
    bool launched = false;
    for (auto& proposal : proposals) {
      Hash key = proposal.candidate.key();
      if (const RunTrial* known = history_.by_key(key)) {
        RunTrial again = *known;
        again.parents = proposal.parents;
        proposer.learn(again);
        repeated_ = true;
      } else if (!flying_.knows(key)) {
        last_tier_ = proposal.candidate.tier;
        flying_.submit({std::move(proposal.candidate), std::move(proposal.parents), arm}, now());
        launched = true;
      }
    }
    if (launched) return true;
  }
  return false;
}

std::vector<size_t> Tuning::order() const {
  auto tried = [&](std::string_view tier) { return history_.count_of(std::string(tier)) + flying_.count_of(tier); };
  const bool scarce = places() < static_cast<size_t>(evaluator_.parallelism());
  return opening_order(proposers_, history_, bandit_.ranking(), tried, places(), scarce);
}

bool Tuning::launch_more() {
  bool launched = false;
  while (!is_full() && !out_of_evaluations() && !too_late() && !interrupted()) {
    if (!flying_.submit_again(now()) && !std::ranges::any_of(order(), [&](size_t arm) { return launch_from(arm); }))
      break;
    launched = true;
  }
  return launched;
}

Status Tuning::check_device(const Verdict& verdict) const {
  const std::string known = history_.baseline() ? history_.baseline()->verdict.device : "";
  if (known.empty() || verdict.device.empty() || verdict.device == known) return done();
  return usage_error(run_.file().string() + " holds figures of '" + known + "', and here candidates are measured on '" +
                     verdict.device +
                     "': the two cannot be compared. Name the device (--device), or start a new run without --resume");
}

Status Tuning::take(InFlight& finished, const Evaluation& evaluation) {
  if (auto* none = std::get_if<NotJudged>(&evaluation)) {
    if (++not_judged_ < kMostNotJudged) return flying_.put_back(std::move(finished)), done();
    return environment_error("candidates can be judged no longer (" + none->why +
                             "); what was measured until now is stored, go on with --resume");
  }
  not_judged_ = 0;
  const Verdict& verdict = std::get<Verdict>(evaluation);
  if (finished.asked() && !verdict.ok()) evaluator_.forget_rivals();
  return store(finished, verdict);
}

void Tuning::look_at_failures() {
  auto [stopped_by, why] = failures_.look(evaluator_);
  if (!stopped_by.empty()) stopped_by_ = stopped_by, unconfirmed_ = why, flying_.clear();  // Abandoned, too.
  else if (!why.empty()) report_progress(false, why);
}

void Tuning::note_answer(const InFlight& measured) {
  const double waited = std::chrono::duration<double>(now() - measured.begin).count();
  answer_seconds_ += (answer_seconds_ > 0 ? kLatestWeight : 1) * (waited - answer_seconds_);
}

bool Tuning::may_lead(const Evaluation& evaluation) const {
  auto* judged = std::get_if<Verdict>(&evaluation);
  if (!judged) return false;
  const Verdict& verdict = *judged;
  if (!verdict.ok() || verdict.speedup() <= kSmallestGain) return false;
  const auto leaders = history_.winners(options_.finalists, false);
  return leaders.size() < options_.finalists || verdict.speedup() > leaders.back()->figures().speedup_low();
}

Status Tuning::store(InFlight& finished, const Verdict& verdict) {
  KERNELIFT_TRY(check_device(verdict));
  KERNELIFT_ASSIGN(int64_t id, run_.record(finished.candidate, verdict, finished.parents, spent()));
  const RunTrial* before = history_.best();
  const RunTrial& trial =
      history_.add({id, std::move(finished.candidate), verdict, {}, std::move(finished.parents), spent()});
  bool improved = history_.best() == &trial && before != &trial;
  if (improved) improved_at_ = elapsed();
  reserve_ = confirming_seconds() + reducing_seconds();
  failures_.add(trial.verdict);
  if (finished.arm) bandit_.credit(*finished.arm, improved);
  for (auto& proposer : proposers_) proposer->learn(trial);
  report_progress(improved);
  return done();
}

Result<bool> Tuning::collect() {
  bool any = false;
  while (std::optional<InFlight> taken = flying_.take_answered()) {
    InFlight& finished = *taken;
    Evaluation evaluation = finished.evaluation.get();
    if (!finished.asked()) note_answer(finished);
    // Questions leave most of the processors to candidates. A candidate that is not asked about now is when confirmed.
    const bool may_ask = flying_.asked() < std::max<size_t>(1, places() / kPlacesAQuestion);
    if (!finished.asked() && may_ask && !interrupted() && may_lead(evaluation)) {
      flying_.ask(std::move(finished), std::move(evaluation));
      continue;  // The answer may be there at once.
    }
    // Ctrl-C reaches the workers, too: their results from then on do not depend on the candidate.
    if (interrupted()) return any;
    KERNELIFT_TRY(take(finished, evaluation));
    any = true;
  }
  if (any) KERNELIFT_TRY(run_.record_time(spent()));
  return any;
}

Status Tuning::abandon() {
  evaluator_.abandon();
  for (InFlight& one : flying_.take_back()) {
    if (interrupted()) break;
    const Verdict verdict = std::get<Verdict>(*one.measured);  // Confirmation asks again what holds at other sizes.
    KERNELIFT_TRY(store(one, verdict));
  }
  return done();
}

double Tuning::confirming_seconds() const {
  std::vector<WaitingFinalist> waiting;
  for (auto* trial : finalists_.waiting()) waiting.push_back({trial->verdict, finalists_.leads(trial)});
  const bool hidden = history_.winners(1, finalists_.only_patches()).empty();
  return confirm_reserve(evaluator_.confirm_cost(), waiting, hidden, options_.finalists, sitting_);
}

Status Tuning::confirm(const RunTrial& trial, std::optional<Clock::time_point> deadline) {
  report_progress(false, "confirming #" + std::to_string(trial.id) + " in a fresh process");
  std::optional<Evaluation> evaluation =
      deadline ? evaluator_.confirm_by(trial.candidate, *deadline) : std::optional(evaluator_.confirm(trial.candidate));
  tell_lateness(trial.id, deadline, evaluation.has_value());
  if (interrupted() || !evaluation) return done();
  if (auto* none = std::get_if<NotJudged>(&*evaluation)) {
    trouble_ = none->why;
    return done();
  }
  Verdict& verdict = std::get<Verdict>(*evaluation);
  KERNELIFT_TRY(check_device(verdict));
  if (!verdict.ok()) evaluator_.forget_rivals();
  KERNELIFT_TRY(run_.record_confirmation(trial.id, verdict));
  int64_t id = trial.id;
  history_.confirm(id, std::move(verdict));
  ++confirmed_;
  return done();
}

void Tuning::tell_lateness(int64_t trial, std::optional<Clock::time_point> deadline, bool judged) {
  constexpr double kNoticed = 1;
  const double late = deadline ? std::chrono::duration<double>(now() - *deadline).count() : 0;
  const std::string why = late > kNoticed || !judged ? evaluator_.why_late() : "";
  if (why.empty()) return;
  char text[64] = " was given up, since the time for it was over: ";
  if (judged) (void)std::snprintf(text, sizeof text, " took %.1f s longer than there was time: ", late);
  report_progress(false, "confirming #" + std::to_string(trial) + text + why);
}

double Tuning::reducing_seconds() const {
  size_t changes = 0;
  for (auto* leader : history_.winners(1, finalists_.only_patches())) changes += count_changes(leader->candidate);
  const double rounds = std::ceil(static_cast<double>(changes) / static_cast<double>(places()));
  return std::min(kReducingShare * sitting_, kReducingRounds * rounds * answer_seconds_);
}

Status Tuning::measure(std::vector<Candidate> candidates, const RunTrial& parent) {
  for (auto& candidate : candidates) {
    if (out_of_evaluations() || (timed() && left() <= confirming_seconds())) break;
    flying_.submit({std::move(candidate), {parent.id}, std::nullopt}, now());
  }
  while (!flying_.empty() && !interrupted() && (!timed() || left() > confirming_seconds())) {
    KERNELIFT_ASSIGN(bool collected, collect());
    if (!collected) sleep(kPoll);
  }
  return done();
}

Status Tuning::reduce_leaders() {
  for (bool applicable_only : {true, false})
    for (auto* leader : history_.winners(1, applicable_only)) {
      KERNELIFT_ASSIGN(auto taken, reduction_.reduce(leader));
      for (auto& sentence : taken) report_progress(false, sentence);
    }
  return done();
}

bool Tuning::rehearsal_is_due() const {
  if (!timed() || rehearsed_ || confirmed_ > 0 || left() > kRehearsalLeft * sitting_) return false;
  const auto leaders = history_.winners(1, finalists_.only_patches());
  return !leaders.empty() && leaders[0]->verdict.speedup_low() >= kRehearsalGain && evaluator_.confirm_cost().guessed;
}

Status Tuning::rehearse() {
  const auto begin = now();
  rehearsed_ = true;
  KERNELIFT_TRY(confirm(*history_.winners(1, finalists_.only_patches())[0], in(kRehearsalShare * left())));
  reserve_ = confirming_seconds() + reducing_seconds();
  flying_.put_off(now() - begin);
  return done();
}

Status Tuning::confirm_finalists() {
  KERNELIFT_TRY(abandon());
  const size_t earlier = confirmed_;
  ConfirmCost cost = evaluator_.confirm_cost();
  double once = cost.once + cost.first;
  std::vector<const RunTrial*> waiting = finalists_.waiting();
  int64_t leaders = std::count_if(waiting.begin(), waiting.end(), [&](auto* trial) { return finalists_.leads(trial); });
  auto worth_trying = [&] { return !timed() || left() >= kWorthTrying * evaluator_.confirm_cost().each; };
  for (auto* trial : waiting) {
    if (interrupted()) break;
    std::optional<Clock::time_point> deadline;
    if (timed()) {
      // Other finalists may use the remaining time if it suffices, or if no leader was confirmed.
      if (left() <= 0 || (leaders <= 0 && finalists_.gained(false) && !worth_trying())) break;
      double share = left();
      if (share > once && leaders > 1) {
        // Shared evenly, unless that would be too little for each of them.
        double rest = share - once, each = evaluator_.confirm_cost().each, even = rest / static_cast<double>(leaders);
        share = once + (even >= kWorthTrying * each ? even : std::min(rest, each));
      }
      deadline = in(share);
    }
    --leaders, once = 0;
    KERNELIFT_TRY(confirm(*trial, deadline));
  }
  for (auto* trial : finalists_.second_chances()) {
    if (interrupted() || !worth_trying()) break;
    if (finalists_.gained(false) && (finalists_.gained(true) || !trial->applicable())) continue;
    KERNELIFT_TRY(confirm(*trial, timed() ? std::optional(in(left())) : std::nullopt));
  }
  // Confirmations of earlier sittings stay valid.
  const RunTrial* best = best_of(history_, false);
  auto seems_better = [&](auto* trial) {
    return !best || !best->confirmed || trial->verdict.speedup_low() > best->figures().speedup_low();
  };
  if (confirmed_ > earlier || interrupted() || std::none_of(waiting.begin(), waiting.end(), seems_better))
    return done();
  const std::string late = evaluator_.why_late();
  const std::string why =
      !trouble_.empty() ? trouble_ : "the time was over" + (late.empty() ? "" : ": the last one's went to " + late);
  if (best && best->confirmed)
    unconfirmed_ = "candidates that the search found to be faster than the best could not be confirmed (" + why +
                   "); give it more time (--time), or go on with --resume";
  else
    unconfirmed_ = "no finalist could be confirmed (" + why + ")" +
                   (best ? ", so these figures are from the search only; " : "; ") +
                   (trouble_.empty() ? "give it more time (--time), or go on with --resume" : "go on with --resume");
  return done();
}

void Tuning::report_progress(bool improved, std::string message) {
  if (!options_.progress) return;
  Progress progress;
  progress.tried = static_cast<size_t>(tried());
  progress.failed = history_.failed();
  progress.in_flight = flying_.size();
  if (auto* best = history_.best(); best && best != history_.baseline()) {
    progress.best = std::max(1.0, best->verdict.speedup_low());
    progress.best_note = best->candidate.tier + ": " + best->candidate.note();
  }
  progress.tier = last_tier_;
  progress.seconds = elapsed();
  if (options_.seconds > 0) progress.seconds_left = std::max(0.0, options_.seconds - spent());
  if (options_.evaluations > 0) progress.evaluations_left = std::max<int64_t>(0, options_.evaluations - tried());
  progress.improved = improved;
  progress.message = std::move(message);
  for (auto& proposer : proposers_)
    if (std::string spent = proposer->spending(); !spent.empty())
      progress.spending += (progress.spending.empty() ? "" : "; ") + spent;
  options_.progress(progress);
}

TuneReport Tuning::report() const {
  TuneReport report = report_on(history_, spent());
  report.added = static_cast<size_t>(tried() - std::max<int64_t>(0, recalled_));
  report.interrupted = interrupted();
  report.stopped_by = stopped_by_, report.unconfirmed = unconfirmed_;
  for (auto& proposer : proposers_)
    if (std::string note = proposer->closing_note(); !note.empty()) report.notes.push_back(std::move(note));
  if (recalled_ >= 0 && report.added == 0 && confirmed_ == 0)
    report.nothing_added = nothing_added(stopped_by_, options_.seconds, options_.evaluations);
  return report;
}

Status Tuning::search() {
  int barren = 0;
  while (stopped_by_.empty()) {
    repeated_ = false;
    launch_more();
    KERNELIFT_ASSIGN(bool collected, collect());
    if (collected) barren = 0, look_at_failures();
    if (rehearsal_is_due()) KERNELIFT_TRY(rehearse());
    if (interrupted()) stopped_by_ = "interrupt";
    else if (!stopped_by_.empty()) break;
    else if (search_is_over() || (flying_.empty() && too_late())) stopped_by_ = "time";
    else if (flying_.empty() && out_of_evaluations()) stopped_by_ = "evaluations";
    else if (out_of_patience()) stopped_by_ = kNoProgress;
    else if (flying_.empty() && !collected) {
      for (auto& proposer : proposers_) proposer->when_idle();
      bool waiting =
          std::any_of(proposers_.begin(), proposers_.end(), [](auto& proposer) { return proposer->waiting(); });
      awaited_ |= waiting;
      if (!waiting && ++barren > (repeated_ ? kRepeatRounds : kBarrenRounds)) stopped_by_ = "nothing left to try";
      if (!repeated_) sleep(waiting ? kWaitForIdeas : kPoll);
    } else if (!collected) {
      sleep(kPoll);
    }
  }
  // Candidates in flight are awaited, except after an interrupt or at the end of the search.
  while (!flying_.empty() && !interrupted() && !search_is_over()) {
    KERNELIFT_TRY(collect());
    sleep(kPoll);
  }
  KERNELIFT_TRY(reduce_leaders());
  return confirm_finalists();
}

bool Tuning::may_search_again() {
  if (stopped_by_ != "time" || interrupted() || confirmed_ == confirmed_before_) return false;
  confirmed_before_ = confirmed_;
  reserve_ = confirming_seconds() + reducing_seconds();
  return left() >= kAgainShare * sitting_ && left() >= kAgainReserve * reserve_;
}

Result<TuneReport> Tuning::go(const Candidate& original) {
  KERNELIFT_TRY(recall());
  KERNELIFT_TRY(measure_original(original));
  sitting_ = std::max(0.0, left());
  reserve_ = confirming_seconds() + reducing_seconds();
  report_progress(false);
  improved_at_ = elapsed();
  KERNELIFT_TRY(search());
  // Confirming its finalists may take less than was kept for it.
  while (may_search_again()) {
    stopped_by_.clear();
    KERNELIFT_TRY(search());
  }
  KERNELIFT_TRY(run_.record_time(spent()));
  if (interrupted()) stopped_by_ = "interrupt";
  KERNELIFT_TRY(run_.put_state(kStoppedBy, stopped_by_));
  if (stopped_by_ == "time" && tried() == 0)
    unconfirmed_ = awaited_ ? "the time was over while a model's answer was awaited, so nothing was tried (--time)"
                            : "the time was over when the original had been measured, so nothing was tried; give it "
                              "more time (--time)";
  return report();
}

}  // namespace

Result<Candidate> original_candidate(const Mep& mep, const std::filesystem::path& folder) {
  Candidate candidate;
  KERNELIFT_ASSIGN(candidate.source, read_text(folder / mep.kernel_file()));
  candidate.tier = "baseline", candidate.proposer = "original";
  return candidate;
}

Result<std::string> hash_mep(const std::filesystem::path& folder, const Mep& mep) {
  KERNELIFT_ASSIGN(std::string description, read_text(folder / "mep.json"));
  KERNELIFT_ASSIGN(Candidate original, original_candidate(mep, folder));
  return Hasher().add(description).add(original.source).finish().hex();
}

Result<TuneReport> tune(const Mep& mep, const std::filesystem::path& folder, Evaluator& evaluator, Run& run,
                        std::vector<std::unique_ptr<Proposer>> proposers, const TuneOptions& options) {
  KERNELIFT_ASSIGN(std::string hash, hash_mep(folder, mep));
  if (hash != run.meta().mep_hash)
    return usage_error(run.file().string() + ": this run belongs to another state of the MEP (" + folder.string() +
                       " has changed since); start a new run without --resume");
  KERNELIFT_ASSIGN(Candidate original, original_candidate(mep, folder));
  TunedKernel kernel = kernel_of(mep, original.source);
  kernel.not_tried = blocks_not_tried(mep, original, run.meta().tiers);
  KERNELIFT_TRY(run.record_kernel(kernel));
  return Tuning(evaluator, run, proposers, options).go(original);
}

}  // namespace kernelift::tuner
