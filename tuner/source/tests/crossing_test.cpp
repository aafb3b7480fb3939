// Tests of merging two changes of one text, and of crossing what models and rules found.
#include "tuner/source/evolution/crossing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tests/expression_literal.h"
#include "tuner/source/evolution/merged_text.h"
#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {
namespace {

TEST(MergedText, HasBothChanges) {
  EXPECT_EQ(merged_text("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nb\nc\nd\ne\n"), "a\nB\nc\nd\ne\n");
  EXPECT_EQ(merged_text("a\nb\nc\n", "b\nc\n", "a\nb\nx\nc\n"), "b\nx\nc\n") << "a line left out, a line added";
  EXPECT_EQ(merged_text("a\nb\nc\n", "a\nx\nc\n", "a\nx\nc\n"), "a\nx\nc\n") << "the same change";
  EXPECT_EQ(merged_text("a\nb", "a\nb", "x\nb"), "x\nb") << "no line end at the end";
  EXPECT_EQ(merged_text("", "a\n", ""), "a\n");
}

TEST(MergedText, RefusesAContradiction) {
  EXPECT_FALSE(merged_text("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n"));
  EXPECT_FALSE(merged_text("a\nb\n", "a\n", "a\nB\n"));
}

Candidate text(const std::string& source, Step::Origin origin, const std::string& what) {
  Candidate candidate;
  candidate.source = source, candidate.tier = "source";
  candidate.add_step({.origin = origin, .rule = what, .summary = what});
  return candidate;
}

const char* const kOriginal = "__global__ void k(float* x) {\n  x[0] = 1;\n\n  x[1] = 2;\n}\n";
const char* const kByModel = "__global__ void k(float* x) {\n  __syncwarp();\n  x[0] = 1;\n\n  x[1] = 2;\n}\n";
const char* const kByRule = "__global__ void k(float* x) {\n  x[0] = 1;\n\n  atomicAdd(x + 1, 2);\n}\n";

TEST(Crossed, HasBothTextsStepsAndTheOnlyChangedLaunch) {
  Candidate base, one = text(kByModel, Step::Origin::Model, "idea"),
                  other = text(kByRule, Step::Origin::Rule, "unroll");
  base.source = kOriginal;
  CandidateLaunch launch = CandidateLaunch::as_recorded("k");
  launch.grid[0] = "ceil_div(gx, 2)"_e;
  other.launches = {launch}, other.values = {{"T", 2}};
  auto made = crossed(base, one, other);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->source, testing::AllOf(testing::HasSubstr("__syncwarp"), testing::HasSubstr("atomicAdd")));
  EXPECT_EQ(made->launches.size(), 1u);
  EXPECT_EQ(made->values.at("T"), 2);
  EXPECT_EQ(made->steps.size(), 2u);
  EXPECT_EQ(made->proposer, "crossover");
  one.launches = {launch}, one.launches[0].grid[0] = "gx * 2"_e;
  EXPECT_FALSE(crossed(base, one, other)) << "two launches";
  one.launches = {}, one.values = {{"T", 4}};
  EXPECT_FALSE(crossed(base, one, other)) << "two values";
}

class CrossingTest : public testing::Test {
 protected:
  void add(Candidate candidate, const Verdict& verdict, std::vector<int64_t> parents) {
    population_.add(history_.add(
        {static_cast<int64_t>(history_.size()) + 1, std::move(candidate), verdict, {}, std::move(parents), 0}));
  }
  void SetUp() override {
    Candidate original;
    original.source = kOriginal, original.tier = "baseline";
    add(original, fake_ok(1), {});
  }
  History history_;
  Population population_{1};
  Crossing crossing_;
};

TEST_F(CrossingTest, TakesAModelsWinnerAndARulesWinnerOnce) {
  add(text(kByRule, Step::Origin::Rule, "unroll"), fake_ok(1.5), {1});
  EXPECT_FALSE(crossing_.next(population_, history_)) << "no model has won";
  add(text(kByModel, Step::Origin::Model, "idea"), fake_ok(1.3), {1});
  auto made = crossing_.next(population_, history_);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->parents, (std::vector<int64_t>{3, 2}));
  add(made->candidate, fake_ok(1.9), made->parents);
  EXPECT_FALSE(crossing_.next(population_, history_));
}

TEST_F(CrossingTest, LeavesLosersAlone) {
  add(text(kByRule, Step::Origin::Rule, "unroll"), fake_ok(0.9), {1});
  add(text(kByModel, Step::Origin::Model, "idea"), fake_ok(1.3), {1});
  EXPECT_FALSE(crossing_.next(population_, history_));
}

}  // namespace
}  // namespace kernelift::tuner
