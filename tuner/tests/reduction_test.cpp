// Tests of taking changes from leaders, alone and in the tuning loop.
#include "tuner/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/tests/fakes/tuner_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

Step rule(const std::string& name) { return {.origin = Step::Origin::Rule, .rule = name, .place = "the loop over k"}; }

Candidate with_steps(const std::vector<Step>& steps) {
  Candidate candidate;
  for (auto& step : steps) candidate.source += step.rule + ";", candidate.add_step(step);
  return candidate;
}

/// Appends the rule's name; "b" can only be made behind "a".
std::optional<Candidate> appended(const Candidate& base, const Step& step) {
  if (step.rule == "b" && base.source.find("a;") == std::string::npos) return std::nullopt;
  Candidate made = base;
  made.source += step.rule + ";", made.add_step(step);
  for (auto& [knob, value] : step.parameters) made.source += knob + std::to_string(value) + ";";
  return made;
}

std::vector<std::string> sources(const std::vector<OneChangeLess>& all) {
  std::vector<std::string> found;
  for (auto& one : all) found.push_back(one.candidate.source);
  return found;
}

TEST(WithOneChangeLess, LeavesOutEachStepWithoutWhichTheOthersCanBeMade) {
  const auto less = with_one_change_less({}, with_steps({rule("a"), rule("b"), rule("c")}), appended);
  EXPECT_THAT(sources(less), UnorderedElementsAre("a;b;", "a;c;"));
  EXPECT_EQ(less[0].without, rule("c").text());
}

TEST(WithOneChangeLess, LeavesTheOnlyChange) {
  EXPECT_THAT(with_one_change_less({}, with_steps({rule("a")}), appended), ElementsAre());
  EXPECT_EQ(count_changes(with_steps({rule("a")})), 0u);
}

TEST(WithOneChangeLess, PutsEachKnobOfAStepBackAlone) {
  Step knobs{.origin = Step::Origin::Knob, .parameters = {{"B", 4}, {"U", 2}}, .replaced = {{"B", 1}, {"U", 1}}};
  Candidate leader = with_steps({knobs});
  EXPECT_EQ(count_changes(leader), 2u);
  // Without the whole step nothing is left.
  EXPECT_THAT(sources(with_one_change_less({}, leader, appended)), UnorderedElementsAre("", ";U2;", ";B4;"));
}

TEST(WithOneChangeLess, RepeatsTheRecipeBehindAnything) {
  Candidate leader = with_steps({rule("a"), rule("c")});
  leader.recipe.level = "O2";
  leader.add_step({.origin = Step::Origin::Recipe, .summary = "O2"});
  std::vector<std::string> found;
  for (auto& one : with_one_change_less({}, leader, appended))
    found.push_back(one.candidate.source + one.candidate.recipe.level);
  EXPECT_THAT(found, UnorderedElementsAre("a;c;O3", "a;O2", "c;O2"));
}

/// Repeats rules as appended() does, and knobs by their values.
class Repeating : public Proposer {
 public:
  std::string name() const override { return "repeating"; }
  std::string tier() const override { return "source"; }
  std::vector<Proposal> propose(const History&, size_t) override { return {}; }
  std::optional<Candidate> repeat(const Candidate& base, const Step& step) override {
    if (step.origin == Step::Origin::Rule) return appended(base, step);
    Candidate made = base;
    for (auto& [knob, value] : step.parameters) made.values[knob] = value;
    made.add_step(step);
    return made;
  }
};

TEST(Reduction, EndsWhereEachOfTwoCandidatesIsTheOtherWithOneChangeLess) {
  std::vector<std::unique_ptr<Proposer>> proposers;
  proposers.push_back(std::make_unique<Repeating>());
  Step there{.origin = Step::Origin::Knob, .parameters = {{"B", 4}}, .replaced = {{"B", 8}}};
  Step back{.origin = Step::Origin::Knob, .parameters = {{"B", 8}}, .replaced = {{"B", 4}}};
  Candidate original;
  original.tier = "baseline", original.values = {{"B", 8}};
  History history;
  auto add = [&](int64_t id, const std::vector<Step>& steps, double speedup) {
    Candidate made = original;
    for (auto& step : steps) made = *proposers[0]->repeat(made, step);
    if (!steps.empty()) made.tier = "source";
    return &history.add({id, made, fake_ok(speedup), {}, {}, 0});
  };
  add(1, {}, 1);
  const RunTrial* turned = add(2, {rule("a"), there, rule("c")}, 2);
  const RunTrial* turned_back = add(3, {rule("a"), there, rule("c"), back}, 1.99);
  Reduction reduction(history, proposers, [](auto, auto&) { return done(); });
  auto said = reduction.reduce(turned_back);
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_THAT(*said, ElementsAre(HasSubstr("#3 is as fast without this change: " + back.text())));
  EXPECT_EQ(reduction.shortest(turned_back), turned);
}

TEST_F(TunerTest, AKnobThatGainsNothingGoesBackToItsValue) {
  FakeEvaluator evaluator([](const Candidate& candidate) {
    auto value = [&](const char* name) { return candidate.values.contains(name) ? candidate.values.at(name) : 1; };
    return fake_ok(1.0 + (value("U") == 4 ? 0.3 : 0) + (value("B") == 256 ? 0.004 : 0));
  });
  std::vector<std::string> said;
  options_.progress = [&](const Progress& progress) { said.push_back(progress.message); };
  options_.evaluations = 100;
  auto run = RunStore::create(file_, meta());
  auto report = tune_into(*run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->best_applicable->candidate.values.at("U"), 4);
  EXPECT_EQ(report->best_applicable->candidate.values.at("B"), 64);
  EXPECT_THAT(said, testing::Contains(HasSubstr("is as fast without this change: B = 256")));
}

TEST_F(TunerTest, AKnobThatGainsStays) {
  FakeEvaluator evaluator(landscape);
  options_.evaluations = 100;
  auto run = RunStore::create(file_, meta());
  auto report = tune_into(*run, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->best_applicable->candidate.values.at("U"), 4);
  EXPECT_EQ(report->best_applicable->candidate.values.at("B"), 256);
}

}  // namespace
}  // namespace kernelift::tuner
