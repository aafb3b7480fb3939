// Tests of the tuning loop with a fake evaluator: budgets, tiers, duplicates, finalists, interrupts.
#include "tuner/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tuner/space/parameter_proposer.h"
#include "tuner/tests/fakes/fake_time.h"
#include "tuner/tests/fakes/tuner_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

TEST_F(TunerTest, FindsTheBestOfParametersAndFlagsTogether) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator(landscape);
  options_.evaluations = 150;
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->tried, 150u);
  EXPECT_EQ(report->best_applicable->candidate.values.at("B"), 256);
  EXPECT_EQ(report->best_applicable->candidate.values.at("U"), 4);
  EXPECT_NEAR(report->best_applicable->figures().speedup(), 1.5, 1e-9);
  EXPECT_GT(report->best->figures().speedup(), 1.54);
  EXPECT_FALSE(report->best->applicable());
  EXPECT_EQ(report->stopped_by, "evaluations");
  EXPECT_EQ(*run.get_state(kStoppedBy), "evaluations");
}

TEST(TuneReport, DistinguishesNoGainFromAnUndecidedSearch) {
  EXPECT_EQ(without_gain(0, "time"), "nothing tried");
  EXPECT_EQ(without_gain(7, "time"), "undecided");
  EXPECT_EQ(without_gain(7, "interrupt"), "undecided");
  EXPECT_EQ(without_gain(7, "nothing left to try"), "no gain");
}

TEST_F(TunerTest, MeasuresTheOriginalFirstAndNoCandidateTwice) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator(landscape, 4);
  options_.evaluations = 80;
  ASSERT_TRUE(tune_into(run, evaluator).ok());
  EXPECT_EQ(evaluator.submitted.at(0).tier, "baseline");
  std::set<Hash> keys;
  for (auto& candidate : evaluator.submitted) EXPECT_TRUE(keys.insert(candidate.key()).second) << candidate.note();
}

/// Asks its model as soon as it may, and never gets an answer.
class SlowModel : public Proposer {
 public:
  explicit SlowModel(std::vector<size_t>& asked) : asked_(asked) {}
  std::string name() const override { return "slow"; }
  std::string tier() const override { return "compiler"; }
  bool in_background() const override { return true; }
  std::vector<Proposal> propose(const History& history, size_t) override {
    asked_.push_back(history.size());
    return {};
  }
  std::string closing_note() const override { return "it was asked"; }

 private:
  std::vector<size_t>& asked_;
};

TEST_F(TunerTest, AsksAModelBeforeItTriesAnything) {
  FakeEvaluator evaluator(landscape);
  options_.evaluations = 5;
  auto run = RunStore::create(file_, meta());
  std::vector<size_t> asked;
  auto all = proposers();
  all.push_back(std::make_unique<SlowModel>(asked));
  auto report = tune(mep_.mep, mep_.folder.path(), evaluator, *run, std::move(all), options_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked[0], 1u) << "only the original has been measured";
  EXPECT_EQ(report->notes, std::vector<std::string>{"it was asked"});
}

TEST_F(TunerTest, BeginsWithKnobsBeforePassPipelines) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator(landscape);
  options_.evaluations = 8;
  ASSERT_TRUE(tune_into(run, evaluator).ok());
  for (size_t i = 1; i < evaluator.submitted.size(); ++i) EXPECT_EQ(evaluator.submitted[i].tier, "params") << i;
}

TEST_F(TunerTest, AbandonsCandidatesInFlightBeforeConfirming) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator(landscape);
  options_.evaluations = 20;
  ASSERT_TRUE(tune_into(run, evaluator).ok());
  EXPECT_EQ(evaluator.abandoned_before_confirming, evaluator.confirmed.size());
}

TEST_F(TunerTest, ReportsConfirmedFigures) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator(landscape);
  options_.evaluations = 40;
  auto report = tune_into(run, evaluator);
  EXPECT_GE(evaluator.confirmed.size(), 2u);
  EXPECT_TRUE(report->best->confirmed && report->best_applicable->confirmed);
}

TEST_F(TunerTest, WhatIsWrongAtOtherSizesLeadsNoSearch) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator(landscape);
  evaluator.elsewhere = [](const Candidate& candidate, Verdict& verdict) {
    auto block = candidate.values.find("B");
    if (block != candidate.values.end() && block->second == 256) verdict = fake_failure(Outcome::Wrong, "elsewhere");
  };
  options_.evaluations = 150;
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_NE(report->best->candidate.values.at("B"), 256);
  EXPECT_GT(report->best->figures().speedup(), 1.01) << "the search found another one";
  EXPECT_GT(evaluator.forgotten, 0u);
  for (auto& candidate : evaluator.confirmed)
    EXPECT_TRUE(!candidate.values.contains("B") || candidate.values.at("B") != 256) << candidate.note();
}

TEST_F(TunerTest, SaysWhyFinalistsWereLost) {
  for (bool lost : {true, false}) {
    std::filesystem::remove(file_);
    RunStore run = std::move(*RunStore::create(file_, meta()));
    FakeEvaluator evaluator(landscape);
    if (lost) evaluator.confirms = [](const Candidate&) { return fake_failure(Outcome::Wrong, "at n = 496"); };
    options_.evaluations = 40;
    auto report = tune_into(run, evaluator);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->gained(report->best), !lost);
    EXPECT_THAT(report->lost,
                testing::ContainsRegex(lost ? "^[0-9]+ finalists were refused when confirmed .#[0-9]+: .*496" : "^$"));
  }
}

TEST_F(TunerTest, KeepsInTheRunWhatAReportSaysOfTheKernel) {
  mep_.mep.unit = "src/k.cu", mep_.mep.proof_note = "proven equal";
  mep_.mep.launches[0].grid[0] = *Expression::parse("n / B / 2 + 1");
  RunMeta with_tiers = meta();
  with_tiers.tiers = {"params"};
  RunStore run = std::move(*RunStore::create(file_, with_tiers));
  EXPECT_FALSE(*run.kernel()) << "nothing was tuned yet";
  FakeEvaluator evaluator(landscape);
  options_.evaluations = 2;
  ASSERT_TRUE(tune_into(run, evaluator).ok());
  auto kernel = run.kernel();
  ASSERT_TRUE(kernel.ok() && *kernel);
  EXPECT_EQ((*kernel)->place, "src/k.cu");
  EXPECT_EQ((*kernel)->proof, "proven equal");
  ASSERT_EQ((*kernel)->launches.size(), 1u);
  EXPECT_EQ((*kernel)->launches[0].id, "i0");
  EXPECT_EQ((*kernel)->launches[0].geometry, mep_.mep.instances[0].geometry);
  ASSERT_EQ((*kernel)->not_tried.size(), 1u);
  EXPECT_THAT((*kernel)->not_tried[0], HasSubstr("how the grid follows it is not"));
}

TEST_F(TunerTest, StopsIfTheOriginalFails) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator([](auto&) { return fake_failure(Outcome::Wrong, "buffer 0"); });
  auto report = tune_into(run, evaluator);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().exit, Exit::No);
  EXPECT_THAT(report.error().message, HasSubstr("original kernel does not pass"));
}

TEST_F(TunerTest, EndsIfNothingIsLeftToTry) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator(landscape);
  std::vector<std::unique_ptr<Proposer>> only_params;
  only_params.push_back(std::make_unique<ParameterProposer>(mep_.mep, "random", 1));
  auto report = tune(mep_.mep, mep_.folder.path(), evaluator, run, std::move(only_params), options_);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->stopped_by, "nothing left to try");
  EXPECT_NEAR(report->best->figures().speedup(), 1.5, 1e-9);
}

TEST_F(TunerTest, KeepsToItsTimeBudget) {
  struct Case {
    double seconds, start_up;
    TimedEvaluator::Costs costs;
  };
  // Quick candidates, slow ones, an expensive confirmation, a slow start. Finalists must be confirmed in time.
  const Case cases[] = {{20, 1, {.evaluation = 0.3, .calibration = 0.2, .confirmation = 0.3}},
                        {40, 4, {.evaluation = 1.3, .calibration = 2, .confirmation = 4}},
                        {40, 4, {.evaluation = 6, .calibration = 2, .confirmation = 4}},
                        {60, 20, {.evaluation = 1, .calibration = 8, .confirmation = 10}},
                        {200, 4, {.evaluation = 20, .calibration = 2, .confirmation = 5}}};
  for (auto& one : cases) {
    SCOPED_TRACE(std::to_string(one.seconds) + " s, " + std::to_string(one.costs.evaluation) + " s a candidate");
    std::filesystem::remove(file_);
    RunStore run = std::move(*RunStore::create(file_, meta()));
    FakeTime time;
    TimedEvaluator evaluator(time, one.costs, landscape);
    begin(one.seconds, time);
    time.pass(one.start_up);
    auto report = tune_into(run, evaluator);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->stopped_by, "time");
    EXPECT_LE(time.seconds(), one.seconds);
    EXPECT_GE(evaluator.last_submitted, 0.5 * one.seconds) << "the search ended too early";
    EXPECT_GE(evaluator.confirmed, 1u);
    ASSERT_TRUE(report->best);
    EXPECT_TRUE(report->best->confirmed && report->best_applicable->confirmed);
    EXPECT_EQ(report->unconfirmed, "");
    EXPECT_NEAR(report->seconds, time.seconds(), 1e-6);
  }
}

TEST_F(TunerTest, ReservesNoMoreTimeThanConfirmingCosts) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeTime time;
  TimedEvaluator evaluator(time, {.evaluation = 0.5, .calibration = 0.1, .confirmation = 0.1}, landscape);
  begin(60, time);
  ASSERT_TRUE(tune_into(run, evaluator).ok());
  EXPECT_GE(evaluator.last_submitted, 0.9 * options_.seconds) << "at most 5 % more are for reducing the leader";
  EXPECT_GE(evaluator.confirmed, 3u) << "cheap confirmations of further finalists";
}

TEST_F(TunerTest, SearchesOnWhileThereIsNoFinalist) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeTime time;
  TimedEvaluator evaluator(time, {.evaluation = 1, .calibration = 3, .confirmation = 6},
                           [](const Candidate&) { return fake_ok(0.9); });
  begin(40, time);
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GE(evaluator.last_submitted, 0.8 * options_.seconds);
  EXPECT_EQ(evaluator.confirmed, 0u);
  EXPECT_EQ(report->unconfirmed, "") << "there was no winner";
}

/// The landscape's speeds with intervals that all contain 1.
Verdict hidden_by_noise(const Candidate& candidate) {
  Verdict verdict = landscape(candidate);
  return verdict.ok() ? fake_noisy(verdict.speedup(), 0.9, 2) : verdict;
}

TEST_F(TunerTest, ConfirmsTheMostHopefulIfNoiseHidesTheWinner) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator(hidden_by_noise);
  evaluator.confirms = landscape;
  options_.evaluations = 40;
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_GE(evaluator.confirmed.size(), 1u);
  EXPECT_LE(evaluator.confirmed.size(), 2u) << "one of each kind";
  double most = 0;
  auto trials = run.history();
  ASSERT_TRUE(trials.ok()) << trials.error().message;
  for (auto& trial : *trials) most = std::max(most, trial.verdict.speedup());
  EXPECT_NEAR(landscape(evaluator.confirmed[0]).speedup(), most, 0.06);
}

TEST_F(TunerTest, ReservesTimeToConfirmHopefuls) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeTime time;
  TimedEvaluator evaluator(time, {.evaluation = 1, .calibration = 6, .confirmation = 8}, hidden_by_noise);
  begin(60, time);
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GE(evaluator.confirmed, 1u);
  EXPECT_EQ(report->unconfirmed, "");
  EXPECT_LE(time.seconds(), options_.seconds);
}

TEST_F(TunerTest, ReservesTimeToConfirmAWinnerInAShortRun) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeTime time;
  // As if a slow compiler built each finalist first: a confirmation cannot be shortened.
  TimedEvaluator evaluator(time, {.evaluation = 0.3, .calibration = 0, .confirmation = 5, .least = 0.95}, landscape);
  begin(11, time);
  std::vector<std::unique_ptr<Proposer>> only_params;
  only_params.push_back(std::make_unique<ParameterProposer>(mep_.mep, "random", 1));
  auto report = tune(mep_.mep, mep_.folder.path(), evaluator, run, std::move(only_params), options_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->unconfirmed, "");
  EXPECT_TRUE(report->best->confirmed);
  EXPECT_LE(time.seconds(), options_.seconds);
}

TEST_F(TunerTest, SearchesForAPatchIfOnlyARecipeWins) {
  auto last_submitted = [&](bool recipes_apply) {
    RunStore run = std::move(*RunStore::create(file_.string() + (recipes_apply ? "-apply" : "-do-not"), meta()));
    FakeTime time;
    TimedEvaluator evaluator(
        time, {.evaluation = 0.3, .calibration = 3, .confirmation = 10, .least = 0.9},
        [](const Candidate& candidate) { return fake_ok(candidate.recipe.is_default() ? 0.9 : 1.2); });
    begin(24, time);
    options_.recipes_apply = recipes_apply;
    EXPECT_TRUE(tune_into(run, evaluator).ok());
    return evaluator.last_submitted / options_.seconds;
  };
  EXPECT_LT(last_submitted(true), 0.6) << "the winning recipe is confirmed instead";
  EXPECT_GT(last_submitted(false), 0.7);
}

TEST_F(TunerTest, ReservesTheAdditionalCostOfTheFirstConfirmation) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeTime time;
  // As for a kernel with short launches and large buffers, whose inputs take long to perturb.
  TimedEvaluator evaluator(time, {.evaluation = 0.5, .calibration = 4, .confirmation = 1, .least = 0.9, .first = 12},
                           landscape);
  begin(30, time);
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->unconfirmed, "");
  EXPECT_TRUE(report->best->confirmed);
  EXPECT_LE(time.seconds(), options_.seconds);
}

TEST_F(TunerTest, SearchesOnIfConfirmingTookLessThanWasKeptForIt) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeTime time;
  TimedEvaluator evaluator(time, {.evaluation = 1, .confirmation = 0.5, .told = 10}, landscape);
  begin(100, time);
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->stopped_by, "time");
  EXPECT_GT(evaluator.confirmed, 2u);
  EXPECT_GT(evaluator.last_submitted, 75) << "twice ten seconds were kept for two leaders at first";
  EXPECT_TRUE(report->best->confirmed && report->best_applicable->confirmed);
  EXPECT_LE(time.seconds(), options_.seconds);
}

TEST_F(TunerTest, ReservesMoreIfScreeningAWinnerTookLong) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeTime time;
  // The machine became busy after the original had been measured.
  TimedEvaluator evaluator(time, {.evaluation = 1.5, .confirmation = 8, .least = 0.9, .told = 1},
                           [](const Candidate& candidate) {
                             Verdict verdict = landscape(candidate);
                             verdict.evaluate_seconds = 5.5, verdict.compile_seconds = 0.5;
                             return verdict;
                           });
  begin(60, time);
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->unconfirmed, "");
  EXPECT_TRUE(report->best->confirmed && report->best_applicable->confirmed);
  EXPECT_LE(time.seconds(), options_.seconds);
}

TEST_F(TunerTest, RepeatsAnInconclusiveConfirmation) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator(landscape);
  std::map<Hash, int> asked;
  evaluator.confirms = [&](const Candidate& candidate) {
    return ++asked[candidate.key()] == 1 ? fake_noisy(1.1, 1.005, 1.5) : landscape(candidate);
  };
  options_.evaluations = 40;
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->gained(report->best));
  EXPECT_EQ(asked[report->best->candidate.key()], 2);
  EXPECT_EQ((*run.best())->figures().speedup(), report->best->figures().speedup()) << "also in the run's file";
}

TEST_F(TunerTest, AcceptsTheSecondConfirmation) {
  for (bool noisy : {true, false}) {
    std::filesystem::remove(file_);
    RunStore run = std::move(*RunStore::create(file_, meta()));
    FakeEvaluator evaluator(landscape);
    std::map<Hash, int> asked;
    evaluator.confirms = [&](const Candidate& candidate) {
      return ++asked[candidate.key()] > 2 ? fake_ok(2)
             : noisy                      ? fake_noisy(1.2, 0.9, 1.5)
                                          : fake_noisy(1.005, 1.0, 1.011);
    };
    options_.evaluations = 40;
    auto report = tune_into(run, evaluator);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_FALSE(report->gained(report->best));
    for (auto& [key, times] : asked) EXPECT_LE(times, noisy ? 2 : 1) << "a conclusive confirmation is not repeated";
  }
}

TEST_F(TunerTest, ConfirmsTheNextBestIfNoFinalistGains) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  // The first three finalists gain nothing when confirmed.
  FakeEvaluator evaluator(landscape);
  std::set<Hash> lucky;
  evaluator.confirms = [&](const Candidate& candidate) {
    return lucky.size() < 3 && lucky.insert(candidate.key()).second ? fake_ok(1) : landscape(candidate);
  };
  std::vector<std::unique_ptr<Proposer>> only_params;
  only_params.push_back(std::make_unique<ParameterProposer>(mep_.mep, "random", 1));
  auto report = tune(mep_.mep, mep_.folder.path(), evaluator, run, std::move(only_params), options_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(lucky.size(), 3u);
  EXPECT_TRUE(report->gained(report->best));
  EXPECT_EQ(evaluator.confirmed.size(), 4u) << "one with a gain suffices";
}

TEST_F(TunerTest, StoresVerdictsThatAreReadyWhenTheSearchEnds) {
  auto gained = [&](bool screens) {
    std::filesystem::remove(file_);
    RunStore run = std::move(*RunStore::create(file_, meta()));
    FakeTime time;
    // Verdicts are so slow that all fast candidates are still in flight at the end.
    int submitted = 0;
    TimedEvaluator evaluator(time, {.evaluation = 7, .calibration = 0.1, .confirmation = 0.5},
                             [&](const Candidate&) { return fake_ok(++submitted < 3 ? 1.0 : 1.5); });
    evaluator.screens = screens;
    begin(20, time);
    auto report = tune_into(run, evaluator);
    EXPECT_TRUE(report.ok()) << report.error().message;
    EXPECT_GT(evaluator.abandoned, 0u);
    EXPECT_LE(time.seconds(), options_.seconds);
    return std::pair(report->tried, run.history()->size());
  };
  auto [without, kept_without] = gained(false);
  auto [with, kept_with] = gained(true);
  EXPECT_GT(with, without);
  EXPECT_EQ(kept_with - kept_without, with - without) << "also in the run's file";
}

TEST_F(TunerTest, ReportsThatTheTimeWasTooShortToConfirm) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeTime time;
  TimedEvaluator evaluator(time, {.evaluation = 0.1, .calibration = 5, .confirmation = 10}, landscape);
  begin(4, time);
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_LE(time.seconds(), options_.seconds);
  EXPECT_EQ(evaluator.confirmed, 0u);
  EXPECT_THAT(report->unconfirmed,
              HasSubstr("no finalist could be confirmed (the time was over: the last one's went to launches 3.0 s)"));
  EXPECT_THAT(to_json(*report).dump(), HasSubstr("no finalist could be confirmed"));
}

TEST_F(TunerTest, KeepsTrialsAfterAnInterrupt) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  std::atomic<bool> interrupted = false;
  FakeEvaluator evaluator(landscape);
  options_.interrupted = &interrupted;
  options_.progress = [&](const Progress& progress) {
    if (progress.tried >= 10) interrupted = true;
  };
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->interrupted);
  EXPECT_GE(run.history()->size(), 11u);
}

TEST_F(TunerTest, StopsAfterSeveralCandidatesThatWereNotJudged) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  // The GPU is lost after ten verdicts.
  std::atomic<int> answers = 0;
  FakeEvaluator evaluator([&](const Candidate& candidate) -> Evaluation {
    if (++answers <= 10) return landscape(candidate);
    return NotJudged{"no GPU"};
  });
  options_.evaluations = 30;
  auto report = tune_into(run, evaluator);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().exit, Exit::Environment);
  EXPECT_THAT(report.error().message, HasSubstr("no GPU"));
  EXPECT_THAT(report.error().message, HasSubstr("--resume"));
  EXPECT_EQ(run.history()->size(), 10u);
}

/// Proposes the original with another comment each time, and records the trials that it learns from.
class Commenter : public Proposer {
 public:
  std::string name() const override { return "commenter"; }
  std::string tier() const override { return "source"; }
  std::vector<Proposal> propose(const History& history, size_t) override {
    Proposal proposal{history.baseline()->candidate, {history.baseline()->id}};
    proposal.candidate.source += "// " + std::to_string(++proposed_) + "\n";
    proposal.candidate.tier = tier(), proposal.candidate.proposer = name();
    return {proposal};
  }
  void learn(const RunTrial& trial) override { learned.insert(trial.candidate.key()); }

  std::set<Hash> learned;

 private:
  int proposed_ = 0;
};

TEST_F(TunerTest, NeitherStoresNorLearnsFromCandidatesThatWereNotJudged) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  int answers = 0;
  std::set<Hash> not_judged;
  FakeEvaluator evaluator([&](const Candidate& candidate) -> Evaluation {
    if (!not_judged.contains(candidate.key()) && answers++ % 3 != 2) return landscape(candidate);
    not_judged.insert(candidate.key());
    return NotJudged{"the machine was busy"};
  });
  std::vector<std::unique_ptr<Proposer>> proposers;
  auto* commenter = new Commenter;
  proposers.emplace_back(commenter);
  options_.evaluations = 6;
  std::set<Hash> learned;
  options_.progress = [&](const Progress&) { learned = commenter->learned; };
  auto report = tune(mep_.mep, mep_.folder.path(), evaluator, run, std::move(proposers), options_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->tried, 6u) << "candidates that were not judged do not count";
  EXPECT_GE(not_judged.size(), 2u);
  EXPECT_EQ(learned.size(), 6u);
  auto history = run.history();
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history->size(), 7u);
  for (auto& trial : *history) EXPECT_FALSE(not_judged.contains(trial.candidate.key())) << trial.id;
  for (auto& key : learned) EXPECT_FALSE(not_judged.contains(key));
}

TEST_F(TunerTest, StoresNoConfirmationWithoutAVerdict) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator(landscape);
  evaluator.confirms = [](const Candidate&) { return NotJudged{"the original cannot be measured again"}; };
  options_.evaluations = 20;
  auto report = tune_into(run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GE(evaluator.confirmed.size(), 1u);
  EXPECT_THAT(report->unconfirmed, HasSubstr("no finalist could be confirmed (the original cannot be measured again)"));
  auto history = run.history();
  ASSERT_TRUE(history.ok());
  for (auto& trial : *history) EXPECT_FALSE(trial.confirmed) << trial.id;
}

TEST_F(TunerTest, ReportsProgressAtEveryVerdict) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  FakeEvaluator evaluator(landscape);
  options_.evaluations = 20;
  size_t improvements = 0;
  double last = 1;
  options_.progress = [&](const Progress& progress) {
    improvements += progress.improved;
    EXPECT_GE(progress.best, last);
    last = progress.best;
  };
  ASSERT_TRUE(tune_into(run, evaluator).ok());
  EXPECT_GE(improvements, 1u);
}

}  // namespace
}  // namespace kernelift::tuner
