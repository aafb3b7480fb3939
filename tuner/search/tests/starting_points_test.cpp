// Tests of proposed starting configurations: what is read of an answer, and what they do to a search that they help or
// mislead.
#include "tuner/search/starting_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tests/expression_literal.h"
#include "tuner/search/simulation.h"

namespace kernelift::tuner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Space space() {
  return *Space::create(
      {{"bx", {16, 32, 64, 128}, 1}, {"by", {1, 2, 4, 8}}, {"layout", {0, 1}, 0, false, {"row", "column"}}},
      {"bx * by <= 256"_e});
}

TEST(StartingPoints, AreReadFromWordsAroundTheJson) {
  auto read =
      StartingPoints::read(space(),
                           "Sure!\n```json\n{\"configurations\": [{\"bx\": 64, \"layout\": \"column\"}, {\"by\": "
                           "2.0}]}\n```\nGood luck.");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(read->points, ElementsAre(ElementsAre(2, 0, 1), ElementsAre(1, 1, 0)));
  EXPECT_TRUE(read->rejected.empty());
}

TEST(StartingPoints, AreFoundAmongWordsWithBracesOfTheirOwn) {
  auto read =
      StartingPoints::read(space(), "bx in {64, 128} fits best.\n{\"configurations\": [{\"bx\": 128}]} or {so}");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->points.size(), 1u);
  for (auto* answer : {"The object with \"configurations\":\n{\"configurations\": [{\"bx\": 128}]}",
                       "{\"why\": {\"a\": 1}, \"configurations\": [{\"bx\": 128}]}"})
    EXPECT_TRUE(StartingPoints::read(space(), answer).ok()) << answer;
}

TEST(StartingPoints, ThatDoNotFitAreNamedByWhatIsWrong) {
  auto read = StartingPoints::read(space(), R"({"configurations": [{"bx": 48}, {"tile": 2}, {"bx": 128, "by": 8}, 7,
                                               {"bx": 16}, {"bx": 16}, {"bx": [1]}]})");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->points.size(), 1u);
  EXPECT_THAT(read->rejected,
              ElementsAre(HasSubstr("bx has no value 48; it has 16, 32, 64, 128"), HasSubstr("no parameter tile"),
                          HasSubstr("do not go together"), HasSubstr("no object"), HasSubstr("repeats"),
                          HasSubstr("bx has no value of this kind")));
}

TEST(StartingPoints, OfAnAnswerThatCannotBeReadAreAnError) {
  for (auto& answer :
       {std::string(), std::string("{"), std::string("}{"), std::string("[1]"), std::string("{\"configurations\": 1}"),
        std::string(1 << 20, '{'), std::string(60'000, '[') + "{}"})
    EXPECT_FALSE(StartingPoints::read(space(), answer).ok()) << answer.substr(0, 40);
}

TEST(StartingPoints, AreBoundedInNumber) {
  std::string all;
  for (int64_t bx : {16, 32, 64})
    for (int by : {1, 2, 4})
      for (auto* layout : {"row", "column"})
        all += std::string(all.empty() ? "" : ",") + "{\"bx\":" + std::to_string(bx) + ",\"by\":" + std::to_string(by) +
               ",\"layout\":\"" + layout + "\"}";
  auto read = StartingPoints::read(space(), "{\"configurations\":[" + all + "]}");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->points.size(), kMostStartingPoints);
}

/// A bowl in five parameters, all of whose points are recorded.
Trials recorded_bowl() {
  std::vector<Tunable> parameters;
  for (auto* name : {"a", "b", "c", "d"}) parameters.push_back({name, {0, 1, 2, 3, 4, 5}});
  Trials trials;
  trials.space = *Space::create(parameters, {});
  trials.optimum = 1;
  for (uint64_t rank = 0; rank < static_cast<uint64_t>(trials.space.count()); ++rank) {
    Point point = trials.space.at(rank);
    double cost = 1;
    for (size_t p = 0; p < point.size(); ++p) cost += 0.1 * (1 + double(p)) * std::abs(point[p] - 3.0);
    trials.results[point] = {point, true, cost};
  }
  return trials;
}

double reached(const Trials& trials, const std::string& kind, size_t evaluations) {
  SimulationStart start;
  if (!kind.empty()) start.points = [&](uint64_t seed) { return *proposed_by(kind, trials, seed); };
  return simulate(trials, "portfolio", evaluations, 4, 1, start)->mean(evaluations);
}

TEST(StartingPoints, HelpWhereTheyAreRight) {
  const Trials trials = recorded_bowl();
  EXPECT_GT(reached(trials, "right", 8), reached(trials, "", 8) + 0.05);
  EXPECT_GT(reached(trials, "right", 40), 0.95 * reached(trials, "", 40));
}

TEST(StartingPoints, CostTheirOwnEvaluationsAloneWhereTheyMislead) {
  const Trials trials = recorded_bowl();
  for (const char* strategy : {"portfolio", "bayesian", "local", "genetic"})
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      auto points = proposed_by("misleading", trials, seed)->points;
      points.resize(kTriedAtOnce);
      auto asked = [&](bool with) {
        auto searcher = *make_searcher(strategy, trials.space, seed);
        if (with) searcher->begin_with(points, nullptr);
        std::vector<Point> own;
        for (int ask = 0; own.size() < 20 && ask < 40; ++ask) {
          auto point = searcher->ask(1).at(0);
          searcher->tell(trials.results.at(point));
          if (std::ranges::find(points, point) == points.end()) own.push_back(point);
        }
        return own;
      };
      EXPECT_EQ(asked(true), asked(false)) << strategy << ", seed " << seed;
    }
}

TEST(StartingPoints, OfTrialsOfWhichHardlyAnyWorkedAreThese) {
  Trials trials = recorded_bowl();
  size_t kept = 0;
  for (auto& [point, result] : trials.results) result.ok = result.ok && kept++ < 2;
  for (auto* kind : {"right", "misleading", "random"})
    EXPECT_EQ(proposed_by(kind, trials, 1)->points.size(), 2u) << kind;
  for (auto& [point, result] : trials.results) result.ok = false;
  for (auto* kind : {"right", "misleading", "random"})
    EXPECT_TRUE(proposed_by(kind, trials, 1)->points.empty()) << kind;
}

TEST(StartingPoints, AreDroppedWhenTheFirstOfThemIsSlow) {
  const Trials trials = recorded_bowl();
  auto tried = [&](const std::string& kind) {
    auto searcher = *make_searcher("portfolio", trials.space, 1);
    auto points = proposed_by(kind, trials, 1)->points;
    points.resize(kTriedAtOnce);
    searcher->begin_with(points, nullptr);
    std::vector<Point> asked;
    for (int ask = 0; ask < 10; ++ask) {
      asked.push_back(searcher->ask(1).at(0));
      searcher->tell(trials.results.at(asked.back()));
    }
    return std::ranges::count_if(points, [&](auto& point) { return std::ranges::find(asked, point) != asked.end(); });
  };
  EXPECT_EQ(tried("misleading"), 1);
  EXPECT_EQ(tried("right"), 3);
}

}  // namespace
}  // namespace kernelift::tuner
