// The loop of tuner.h. Budgets count over all sittings of a run. A tenth of the time is kept for confirming finalists.
#include "tuner/tuner.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <set>
#include <thread>

#include "core/base/file.h"
#include "tuner/search/auc_bandit.h"

namespace kernelift {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLeastReserve = 0.1, kMostReserve = 0.4; ///< Of the time budget, kept for confirming finalists …
constexpr double kReservedEvaluations = 3;                ///< … or as long as so many evaluations took on average.
constexpr double kOverrun = 1.25;                         ///< Of the budget, after which only the leaders are confirmed.
constexpr auto kPoll = std::chrono::milliseconds(2);      ///< Far below any evaluation.
constexpr auto kWaitForIdeas = std::chrono::milliseconds(50);
constexpr int kBarrenRounds = 3;                          ///< Rounds without any proposal before the run is over …
constexpr int kRepeatRounds = 1000;                       ///< … or with none but known ones: a resumed run has many.
constexpr int kRepeats = 64;                              ///< Known candidates a proposer may offer in a row.
/// What a run opens with, whatever the bandit would say: rewrites and knobs change most, and a short run must have tried
/// them on the hottest kernel before it breeds pass pipelines.
constexpr std::pair<const char*, size_t> kOpening[] = {{"source", 12}, {"params", 8}};

struct InFlight {
  Candidate candidate;
  std::vector<int64_t> parents;
  size_t arm = 0;
  std::future<Verdict> verdict;
  Clock::time_point begin = Clock::now();
};

class Tuning {
 public:
  Tuning(Evaluator& evaluator, Run& run, std::vector<std::unique_ptr<Proposer>>& proposers, const TuneOptions& options)
      : evaluator_(evaluator), run_(run), proposers_(proposers), options_(options), bandit_(proposers.size()),
        begin_(Clock::now()), spent_before_(run.meta().seconds_spent) {}

  Result<TuneReport> go(const Candidate& original);

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  double spent() const { return spent_before_ + elapsed(); }
  bool interrupted() const { return options_.interrupted && options_.interrupted->load(); }
  bool out_of_time() const {
    double reserve = evaluated_ ? kReservedEvaluations * evaluation_seconds_ / static_cast<double>(evaluated_) : 0;
    reserve = std::clamp(reserve, kLeastReserve * options_.seconds, kMostReserve * options_.seconds);
    return options_.seconds > 0 && spent() > options_.seconds - reserve;
  }
  bool out_of_evaluations() const {
    return options_.evaluations > 0 && tried() + static_cast<int64_t>(flying_.size()) >= options_.evaluations;
  }
  int64_t tried() const { return static_cast<int64_t>(history_.size()) - (history_.baseline() ? 1 : 0); }

  Status recall();
  Status measure_original(const Candidate& original);
  /// Fills the free places; true if anything was put in flight.
  bool launch_more();
  bool launch_from(size_t arm);
  /// Arms, the next to be asked first: the opening's, then as the bandit ranks them.
  std::vector<size_t> order() const;
  Result<bool> collect();
  Status store(InFlight& done, const Verdict& verdict);
  Status confirm_finalists();
  void report_progress(bool improved, std::string message = {});
  TuneReport report() const;

  Evaluator& evaluator_;
  Run& run_;
  std::vector<std::unique_ptr<Proposer>>& proposers_;
  const TuneOptions& options_;
  History history_;
  AucBandit bandit_;
  std::list<InFlight> flying_;
  std::set<Hash> flying_keys_;
  Clock::time_point begin_;
  double spent_before_, evaluation_seconds_ = 0;
  size_t evaluated_ = 0;
  bool repeated_ = false;                 ///< This round a proposer offered something that is known already.
  std::string stopped_by_, last_tier_ = "baseline";
};

Status Tuning::recall() {
  KERNELIFT_ASSIGN(auto trials, run_.history());
  for (auto& trial : trials) {
    const RunTrial& kept = history_.add(std::move(trial));
    for (auto& proposer : proposers_) proposer->learn(kept);
  }
  return done();
}

Status Tuning::measure_original(const Candidate& original) {
  if (history_.baseline()) return done();
  Verdict verdict = evaluator_.submit(original).get();
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
    auto proposals = proposer.propose(history_, 1);
    for (auto& note : proposer.take_notes()) report_progress(false, proposer.name() + ": " + note);
    if (proposals.empty()) return false;
    bool launched = false;
    for (auto& proposal : proposals) {
      Hash key = proposal.candidate.key();
      if (const RunTrial* known = history_.by_key(key)) {
        RunTrial again = *known;
        again.parents = proposal.parents;
        proposer.learn(again);
        repeated_ = true;
      } else if (!flying_keys_.contains(key)) {
        flying_keys_.insert(key);
        last_tier_ = proposal.candidate.tier;
        auto verdict = evaluator_.submit(proposal.candidate);
        flying_.push_back({std::move(proposal.candidate), std::move(proposal.parents), arm, std::move(verdict), Clock::now()});
        launched = true;
      }
    }
    if (launched) return true;
  }
  return false;
}

std::vector<size_t> Tuning::order() const {
  std::vector<size_t> ranking = bandit_.ranking();
  auto tried = [&](const char* tier) {
    auto of_tier = [&](auto& trial) { return trial.candidate.tier == tier; };
    return static_cast<size_t>(std::count_if(history_.begin(), history_.end(), of_tier) +
                               std::count_if(flying_.begin(), flying_.end(), of_tier));
  };
  // A tier that is absent or has no idea leaves its share to the next.
  std::vector<size_t> opening;
  for (auto& [tier, share] : kOpening)
    if (tried(tier) < share)
      for (size_t arm : ranking)
        if (proposers_[arm]->tier() == tier) opening.push_back(arm);
  std::erase_if(ranking, [&](size_t arm) { return std::find(opening.begin(), opening.end(), arm) != opening.end(); });
  opening.insert(opening.end(), ranking.begin(), ranking.end());
  return opening;
}

bool Tuning::launch_more() {
  bool launched = false;
  size_t places = static_cast<size_t>(std::max(1, evaluator_.parallelism()));
  while (flying_.size() < places && !out_of_evaluations() && !out_of_time() && !interrupted()) {
    bool any = false;
    for (size_t arm : order())
      if (launch_from(arm)) {
        any = true;
        break;
      }
    if (!any) break;
    launched = true;
  }
  return launched;
}

Status Tuning::store(InFlight& finished, const Verdict& verdict) {
  KERNELIFT_ASSIGN(int64_t id, run_.record(finished.candidate, verdict, finished.parents, spent()));
  ++evaluated_, evaluation_seconds_ += std::chrono::duration<double>(Clock::now() - finished.begin).count();
  const RunTrial* before = history_.best();
  const RunTrial& trial = history_.add({id, std::move(finished.candidate), verdict, {}, std::move(finished.parents), spent()});
  bool improved = history_.best() == &trial && before != &trial;
  bandit_.credit(finished.arm, improved);
  for (auto& proposer : proposers_) proposer->learn(trial);
  report_progress(improved);
  return done();
}

Result<bool> Tuning::collect() {
  bool any = false;
  for (auto place = flying_.begin(); place != flying_.end();) {
    if (place->verdict.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      ++place;
      continue;
    }
    InFlight finished = std::move(*place);
    place = flying_.erase(place);
    flying_keys_.erase(finished.candidate.key());
    Verdict verdict = finished.verdict.get();
    // Ctrl-C reaches the workers too: what they say from then on is not the candidate's doing.
    if (interrupted()) return any;
    KERNELIFT_TRY(store(finished, verdict));
    any = true;
  }
  if (any) KERNELIFT_TRY(run_.record_time(spent()));
  return any;
}

Status Tuning::confirm_finalists() {
  evaluator_.abandon();
  std::vector<const RunTrial*> finalists = history_.best_candidates(options_.finalists, false);
  for (auto* trial : history_.best_candidates(options_.finalists, true))
    if (std::find(finalists.begin(), finalists.end(), trial) == finalists.end()) finalists.push_back(trial);
  // The likeliest winners of both kinds first: an interrupt leaves the rest unconfirmed.
  auto leads = [&](auto* trial) { return trial == history_.best() || trial == history_.best_applicable(); };
  std::sort(finalists.begin(), finalists.end(), [&](auto* a, auto* b) {
    return leads(a) != leads(b) ? leads(a) : a->verdict.speedup_low() > b->verdict.speedup_low();
  });
  for (auto* trial : finalists) {
    if (interrupted()) break;
    if (trial->confirmed || trial->verdict.speedup() <= 1) continue;
    if (!leads(trial) && options_.seconds > 0 && spent() > options_.seconds * kOverrun) break;
    report_progress(false, "confirming #" + std::to_string(trial->id) + " in a fresh process");
    Verdict verdict = evaluator_.confirm(trial->candidate);
    if (interrupted()) break;
    KERNELIFT_TRY(run_.record_confirmation(trial->id, verdict));
    history_.confirm(trial->id, std::move(verdict));
  }
  return done();
}

void Tuning::report_progress(bool improved, std::string message) {
  if (!options_.progress) return;
  Progress progress;
  progress.tried = static_cast<size_t>(tried());
  for (auto& trial : history_) progress.failed += !trial.verdict.ok();
  progress.in_flight = flying_.size();
  if (auto* best = history_.best(); best && best != history_.baseline()) {
    progress.best = std::max(1.0, best->verdict.speedup_low());
    progress.best_note = best->candidate.tier + ": " + best->candidate.note;
  }
  progress.tier = last_tier_;
  progress.seconds = elapsed();
  if (options_.seconds > 0) progress.seconds_left = std::max(0.0, options_.seconds - spent());
  if (options_.evaluations > 0) progress.evaluations_left = std::max<int64_t>(0, options_.evaluations - tried());
  progress.improved = improved;
  progress.message = std::move(message);
  options_.progress(progress);
}

TuneReport Tuning::report() const {
  TuneReport report;
  std::vector<RunTrial> trials(history_.begin(), history_.end());
  if (history_.baseline()) report.baseline = *history_.baseline();
  report.best = best_of(trials, false), report.best_applicable = best_of(trials, true);
  report.tried = static_cast<size_t>(tried());
  for (auto& trial : trials) {
    ++report.outcomes[name(trial.verdict.outcome)];
    ++report.tiers[trial.candidate.tier];
    report.failed += !trial.verdict.ok();
  }
  report.seconds = spent();
  report.interrupted = interrupted();
  report.stopped_by = stopped_by_;
  return report;
}

Result<TuneReport> Tuning::go(const Candidate& original) {
  KERNELIFT_TRY(recall());
  KERNELIFT_TRY(measure_original(original));
  report_progress(false);
  int barren = 0;
  while (stopped_by_.empty()) {
    repeated_ = false;
    launch_more();
    KERNELIFT_ASSIGN(bool collected, collect());
    if (collected) barren = 0;
    if (interrupted()) stopped_by_ = "interrupt";
    else if (out_of_time()) stopped_by_ = "time";
    else if (flying_.empty() && out_of_evaluations()) stopped_by_ = "evaluations";
    else if (flying_.empty() && !collected) {
      bool waiting = std::any_of(proposers_.begin(), proposers_.end(), [](auto& proposer) { return proposer->waiting(); });
      if (!waiting && ++barren > (repeated_ ? kRepeatRounds : kBarrenRounds)) stopped_by_ = "nothing left to try";
      if (!repeated_) std::this_thread::sleep_for(waiting ? kWaitForIdeas : kPoll);
    } else if (!collected) {
      std::this_thread::sleep_for(kPoll);
    }
  }
  // What is in flight has been paid for, but neither an interrupt nor the end of the time waits for it.
  while (!flying_.empty() && !interrupted() && !(options_.seconds > 0 && spent() > options_.seconds)) {
    KERNELIFT_TRY(collect());
    std::this_thread::sleep_for(kPoll);
  }
  KERNELIFT_TRY(confirm_finalists());
  KERNELIFT_TRY(run_.record_time(spent()));
  if (interrupted()) stopped_by_ = "interrupt";
  return report();
}

Json trial_json(const std::optional<RunTrial>& trial) {
  if (!trial) return nullptr;
  auto& figures = trial->figures();
  return {{"id", trial->id}, {"tier", trial->candidate.tier}, {"proposer", trial->candidate.proposer},
          {"note", trial->candidate.note}, {"recipe", trial->candidate.recipe.text()}, {"confirmed", trial->confirmed.has_value()},
          {"outcome", name(figures.outcome)}, {"speedup", figures.speedup()}, {"speedup_low", figures.speedup_low()},
          {"seconds", figures.seconds()}, {"device", figures.device}};
}

}  // namespace

Json to_json(const TuneReport& report) {
  return {{"tried", report.tried}, {"failed", report.failed}, {"outcomes", report.outcomes}, {"tiers", report.tiers},
          {"seconds", report.seconds}, {"stopped_by", report.stopped_by}, {"interrupted", report.interrupted},
          {"gained", report.gained(report.best)}, {"gained_applicable", report.gained(report.best_applicable)},
          {"baseline", trial_json(report.baseline)}, {"best", trial_json(report.best)},
          {"best_applicable", trial_json(report.best_applicable)}};
}

Result<Candidate> original_candidate(const Mep& mep, const std::filesystem::path& folder) {
  Candidate candidate;
  KERNELIFT_ASSIGN(candidate.source, read_text(folder / (mep.language == "hip" ? "kernel.hip" : "kernel.cu")));
  candidate.tier = "baseline", candidate.proposer = "original", candidate.note = "as recorded";
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
  return Tuning(evaluator, run, proposers, options).go(original);
}

}  // namespace kernelift
