// Tests of constrained spaces: counting, ranking, sampling and neighbours.
#include "tuner/space/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tuner/search/searcher.h"

namespace kernelift::tuner {
namespace {

using ::testing::ElementsAre;

Expression parse(const char* text) { return *Expression::parse(text); }

Space block_space() {
  return *Space::create({{"bx", {16, 32, 64}}, {"by", {8, 16, 32}}, {"unroll", {1, 2, 4}}}, {parse("bx * by <= 1024")});
}

TEST(Space, RefusesMoreValuesThanAPointCanIndex) {
  Tunable parameter{"launch", {}};
  for (int64_t value = 0; value < 70'000; ++value) parameter.values.push_back(value);
  for (auto& space : {Space::create({parameter}, {}), Space::of_points({parameter}, {{0}, {1}})}) {
    ASSERT_FALSE(space.ok());
    EXPECT_NE(space.error().message.find("'launch' has too many values"), std::string::npos);
  }
}

TEST(Space, CountsValidPointsAcrossIndependentTrees) { EXPECT_EQ(block_space().count(), 8 * 3); }

TEST(Space, EveryRankIsADistinctValidPoint) {
  Space space = block_space();
  std::set<Point> seen;
  for (uint64_t rank = 0; rank < 24; ++rank) {
    Point point = space.at(rank);
    EXPECT_TRUE(space.valid(point));
    seen.insert(point);
  }
  EXPECT_EQ(seen.size(), 24u);
}

TEST(Space, RejectsPointsThatBreakAConstraint) { EXPECT_FALSE(block_space().valid({2, 2, 0})); }

TEST(Space, SamplesUniformly) {
  Space space = block_space();
  Random random(7);
  std::map<Point, int> seen;
  for (int i = 0; i < 24000; ++i) ++seen[space.sample(random)];
  ASSERT_EQ(seen.size(), 24u);
  for (auto& [point, times] : seen) EXPECT_NEAR(times, 1000, 200);
}

TEST(Space, CountsATrillionPointsWithoutEnumeration) {
  std::vector<Tunable> parameters;
  for (int p = 0; p < 12; ++p) parameters.push_back({"p" + std::to_string(p), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}});
  Space space = *Space::create(parameters, {parse("p0 + p1 < 9")});
  EXPECT_DOUBLE_EQ(space.count(), 45 * 1e10);
  Random random(1);
  EXPECT_TRUE(space.valid(space.sample(random)));
}

TEST(Space, DrawsFromATreeTooLargeToBuild) {
  std::vector<Tunable> parameters;
  std::string sum = "p0";
  for (int p = 0; p < 10; ++p) parameters.push_back({"p" + std::to_string(p), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}});
  for (int p = 1; p < 10; ++p) sum += " + p" + std::to_string(p);
  Space space = *Space::create(parameters, {parse((sum + " <= 45").c_str())});
  EXPECT_FALSE(space.indexed());
  EXPECT_NEAR(space.count() / 1e10, 0.53, 0.1);
  Random random(3);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(space.valid(space.sample(random)));
}

TEST(Space, NearNeighboursDifferByOneStep) {
  for (auto& point : block_space().neighbours({0, 0, 1}, true)) {
    int moved = std::abs(point[0] - 0) + std::abs(point[1] - 0) + std::abs(point[2] - 1);
    EXPECT_EQ(moved, 1);
  }
  EXPECT_EQ(block_space().neighbours({0, 0, 1}, true).size(), 4u);
  EXPECT_EQ(block_space().neighbours({0, 0, 1}, false).size(), 6u);
}

TEST(Space, TreatsAConstraintThatCannotBeEvaluatedAsViolated) {
  Space space = *Space::create({{"a", {0, 1, 2}}}, {parse("4 / a >= 2")});
  EXPECT_EQ(space.count(), 2);
}

TEST(Space, IsEmptyForAnUnsatisfiableConstraint) {
  EXPECT_EQ(Space::create({{"a", {1, 2}}}, {parse("a > 5")})->count(), 0);
  EXPECT_EQ(Space::create({{"a", {1, 2}}}, {parse("0")})->count(), 0);
}

TEST(Space, GivesNoPointIfItIsEmpty) {
  Space space = *Space::create({{"a", {1, 2}}}, {parse("a > 5")});
  Random random(1);
  EXPECT_FALSE(space.valid(space.start(random)));
  for (auto& strategy : searcher_names()) EXPECT_TRUE((*make_searcher(strategy, space, 1))->ask(1).empty()) << strategy;
}

TEST(Space, NamesTheUnknownParameterOfAConstraint) {
  auto space = Space::create({{"a", {1}}}, {parse("b < 2")});
  ASSERT_FALSE(space.ok());
  EXPECT_NE(space.error().message.find("'b'"), std::string::npos);
}

TEST(Space, ContainsExactlyTheGivenPoints) {
  Space space = *Space::of_points({{"a", {1, 2}}, {"b", {1, 2, 3}}}, {{0, 2}, {1, 0}, {0, 0}, {0, 2}});
  EXPECT_EQ(space.count(), 3);
  EXPECT_TRUE(space.valid({0, 2}));
  EXPECT_FALSE(space.valid({1, 2}));
}

TEST(Space, EncodesCategoriesOneApartAndOrderedByPosition) {
  Space space = *Space::create({{"o", {1, 2, 4}}, {"c", {0, 1, 2}, 0, false}}, {});
  auto a = space.encode({1, 0}), b = space.encode({1, 2});
  EXPECT_EQ(a[0], 0.5);
  double distance = 0;
  for (size_t i = 0; i < a.size(); ++i) distance += (a[i] - b[i]) * (a[i] - b[i]);
  EXPECT_NEAR(distance, 1, 1e-12);
}

TEST(Space, EncodesWhetherOneOfManyValuesIsAPowerOfTwo) {
  const Tunable sizes{"block", {16, 32, 48, 64, 80, 96, 112, 128, 144}};
  Space space = *Space::create({sizes, {"tile", {1, 2, 3, 4}}}, {});
  EXPECT_THAT(space.encode({3, 0}), ElementsAre(3.0 / 8, 1, 0));
  EXPECT_THAT(space.encode({2, 3}), ElementsAre(2.0 / 8, 0, 1));
  Tunable all = sizes, words = sizes;
  all.values = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  words.labels = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  EXPECT_FALSE(all.mixes_powers_of_two()) << "its position says all";
  EXPECT_FALSE(words.mixes_powers_of_two());
  words.labels = {"16", "32", "48", "64", "80", "96", "112", "128", "144"};
  EXPECT_TRUE(words.mixes_powers_of_two());
}

TEST(Space, HasCoordinatesOfAValueBetweenTwoAndOfNone) {
  const Tunable sizes{"block", {16, 32, 48, 64, 80, 96, 112, 128, 144}};
  auto coordinates = [&](double position) {
    std::vector<double> made;
    sizes.add_coordinates(position, made);
    return made;
  };
  EXPECT_THAT(coordinates(0.5), ElementsAre(0.5 / 8, 0));
  EXPECT_THAT(coordinates(8), ElementsAre(1, 0));
  EXPECT_THAT(coordinates(-1), ElementsAre(0, 0));
}

}  // namespace
}  // namespace kernelift::tuner
