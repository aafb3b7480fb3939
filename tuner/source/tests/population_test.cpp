// Tests of a population's invariants, with trials of which only the verdict and the steps matter.
#include "tuner/source/evolution/population.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {
namespace {

const char* const kRuleOf[] = {"shared_tiling", "block_merging", "fast_math", "unroll"};

class PopulationTest : public testing::Test {
 protected:
  PopulationTest() { add(original()); }
  static RunTrial original() {
    RunTrial trial{1, {}, fake_ok(1), {}, {}, 0};
    trial.candidate.source = "__global__ void k(float* x) { x[0] = 1; }", trial.candidate.tier = "baseline";
    return trial;
  }
  /// A candidate of a rule of the family; `body` decides its cell and its code.
  RunTrial made(Family family, const std::string& body, double speedup, std::vector<int64_t> parents = {1}) {
    RunTrial trial{++last_, {}, fake_ok(speedup), {}, std::move(parents), 0};
    trial.candidate.source = "__global__ void k(float* x) { " + body + " /* " + std::to_string(last_) + " */ }";
    trial.candidate.tier = "source", trial.candidate.proposer = "rules/x";
    trial.candidate.add_step({.origin = Step::Origin::Rule, .rule = kRuleOf[static_cast<size_t>(family)]});
    trial.verdict.image.identity = ImageIdentity{static_cast<uint64_t>(last_)};
    return trial;
  }
  Population::Placed add(const RunTrial& trial) { return population_.add(trial); }

  int64_t last_ = 1;
  Population population_{7};
};

using Placed = Population::Placed;

TEST_F(PopulationTest, TheOriginalFoundsEveryIsland) {
  for (Family family : kFamilies) EXPECT_EQ(population_.best_of(family)->id, 1) << name(family);
}

TEST_F(PopulationTest, ACellKeepsItsFastest) {
  EXPECT_EQ(add(made(Family::Memory, "__shared__ float a[2];", 1.2)), Placed::Elite);
  EXPECT_EQ(add(made(Family::Memory, "__shared__ float b[2];", 1.1)), Placed::Worse);
  EXPECT_EQ(population_.best_of(Family::Memory)->id, 2);
  EXPECT_EQ(add(made(Family::Memory, "__shared__ float c[2];", 1.3)), Placed::Elite);
  EXPECT_EQ(population_.best_of(Family::Memory)->id, 4);
  EXPECT_EQ(population_.island(Family::Memory).size(), 2u) << "the original's cell, and this one";
}

TEST_F(PopulationTest, ASlowTextOfAnotherKindIsKept) {
  add(made(Family::Memory, "__shared__ float a[2];", 2));
  EXPECT_EQ(add(made(Family::Memory, "float4 v; __syncthreads();", 0.5)), Placed::Elite);
  EXPECT_EQ(population_.island(Family::Memory).size(), 3u);
}

TEST_F(PopulationTest, EqualCodeCountsOnce) {
  RunTrial one = made(Family::Memory, "__shared__ float a[2];", 1.2), twin = made(Family::Structure, "", 1.5);
  twin.verdict.image = one.verdict.image;
  EXPECT_EQ(add(one), Placed::Elite);
  EXPECT_EQ(add(twin), Placed::Known);
  EXPECT_EQ(population_.best_of(Family::Structure)->id, 1);
}

TEST_F(PopulationTest, WhatIsWrongOrHasARecipeHasNoPlace) {
  RunTrial wrong = made(Family::Memory, "", 1);
  wrong.verdict = fake_failure(Outcome::Wrong);
  EXPECT_EQ(add(wrong), Placed::Not);
  RunTrial recipe = made(Family::Memory, "", 2);
  recipe.candidate.recipe.level = "O2";
  EXPECT_EQ(add(recipe), Placed::Not);
}

TEST_F(PopulationTest, KnobsStayOnTheIslandOfTheirParent) {
  add(made(Family::Parallelism, "__syncwarp();", 1.2));
  RunTrial tuned = made(Family::Memory, "__syncthreads();", 1.3, {2});
  tuned.candidate.tier = "params", tuned.candidate.steps = {{.origin = Step::Origin::Knob}};
  EXPECT_EQ(add(tuned), Placed::Elite);
  EXPECT_EQ(population_.best_of(Family::Parallelism)->id, tuned.id);
}

TEST_F(PopulationTest, TheBestMigratesToTheNextIslandAndReplacesNothingFaster) {
  add(made(Family::Parallelism, "atomicAdd(x, 1);", 3));
  for (size_t i = 0; i < Population::kMigration; ++i)
    add(made(Family::Memory, "atomicAdd(x, 2);", 1.1 + 0.1 * static_cast<double>(i)));
  EXPECT_EQ(population_.best_of(Family::Parallelism)->id, 2) << "an immigrant of the same cell is slower";
  add(made(Family::Memory, "__shared__ float a[2];", 2.5));
  for (size_t i = 1; i < Population::kMigration; ++i)
    add(made(Family::Memory, "atomicAdd(x, 3);", 1.8 + 0.1 * static_cast<double>(i)));
  EXPECT_EQ(population_.island(Family::Parallelism).size(), 3u) << "the original, its own, and the immigrant";
  EXPECT_EQ(population_.island(Family::Structure).size(), 1u) << "one step at a time";
}

TEST_F(PopulationTest, DrawsPreferWhatIsExpectedToGainAndLeaveNoIslandOut) {
  add(made(Family::Memory, "__shared__ float a[2];", 3));
  add(made(Family::Arithmetic, "__syncwarp();", 1.5));
  std::map<int64_t, int> drawn;
  for (uint64_t draw = 0; draw < 400; ++draw) ++drawn[population_.choose_parent(draw, {})->id];
  EXPECT_GT(drawn[2], 200);
  EXPECT_GT(drawn[3], 5);
  EXPECT_GT(drawn[1], 5);
  EXPECT_EQ(population_.choose_parent(0, {})->id, 2);
  EXPECT_NE(population_.choose_parent(0, {2})->id, 2) << "it is busy";
  EXPECT_FALSE(population_.choose_parent(0, {1, 2, 3}));
}

TEST_F(PopulationTest, AParentOfWhichNothingComesIsDrawnLess) {
  add(made(Family::Memory, "__shared__ float a[2];", 1.1));
  EXPECT_EQ(population_.choose_parent(0, {})->id, 2);
  for (int i = 0; i < 6; ++i) {
    RunTrial idea = made(Family::Memory, "", 1, {2});
    idea.candidate.proposer = "llm/m", idea.verdict = fake_failure(Outcome::Wrong);
    add(idea);
  }
  EXPECT_EQ(population_.choose_parent(0, {})->id, 1);
}

TEST_F(PopulationTest, InspirationsAreOfOtherCellsTheIslandsBestFirst) {
  add(made(Family::Memory, "__shared__ float a[2];", 3));
  add(made(Family::Arithmetic, "__syncwarp();", 1.5));
  add(made(Family::Arithmetic, "float2 v; __syncwarp();", 1.2));
  auto parent = *population_.best_of(Family::Memory);
  std::vector<int64_t> ids;
  for (auto& member : population_.inspirations(parent, 9)) ids.push_back(member.id);
  EXPECT_THAT(ids, testing::ElementsAre(3, 1, 4));
  EXPECT_EQ(population_.inspirations(parent, 1).size(), 1u);
}

/// Ten thousand trials of all kinds: families, cells, failures, ideas of models.
std::vector<RunTrial> many_trials(const std::function<RunTrial(Family, const std::string&, double)>& made) {
  const char* const bodies[] = {"",          "__syncwarp();", "__shared__ float a[2];",
                                "float4 v;", "float a[4];",   "atomicAdd(x, 1);"};
  std::vector<RunTrial> trials;
  for (uint64_t i = 0; i < 10000; ++i) {
    const uint64_t bits = Hasher().add(i).finish().low;
    RunTrial trial = made(kFamilies[bits % 4], bodies[bits / 4 % 6], 0.5 + double(bits / 32 % 1000) / 400);
    if (bits / 65536 % 5 == 0) trial.verdict = fake_failure(Outcome::Wrong);
    if (bits / 65536 % 7 == 0) trial.candidate.proposer = "llm/m";
    trials.push_back(std::move(trial));
  }
  return trials;
}

TEST_F(PopulationTest, ManyTrialsKeepItSmallDiverseAndItsBestInPlace) {
  double best = 0;
  for (auto& trial : many_trials([&](auto... of) { return made(of...); })) {
    add(trial);
    if (trial.verdict.ok()) best = std::max(best, trial.verdict.speedup_low());
  }
  double found = 0;
  for (Family family : kFamilies) {
    EXPECT_GE(population_.island(family).size(), 5u) << name(family) << " has collapsed";
    EXPECT_LE(population_.island(family).size(), 6u);
    for (auto& [cell, member] : population_.island(family)) {
      EXPECT_EQ(cell, member.cell);
      found = std::max(found, member.speedup);
    }
  }
  EXPECT_EQ(found, best);
}

TEST_F(PopulationTest, TheSameTrialsGiveTheSameDraws) {
  Population replayed(7), other(8);
  for (auto* population : {&replayed, &other}) population->add(original());
  bool differs = false;
  uint64_t draw = 0;
  for (auto& trial : many_trials([&](auto... of) { return made(of...); })) {
    for (auto* population : {&population_, &replayed, &other}) population->add(trial);
    EXPECT_EQ(replayed.add(trial), Placed::Known) << "added twice";
    if (++draw % 100) continue;
    const auto one = population_.choose_parent(draw / 100, {}), same = replayed.choose_parent(draw / 100, {});
    ASSERT_EQ(one->id, same->id);
    differs |= one->id != other.choose_parent(draw / 100, {})->id;
  }
  EXPECT_TRUE(differs) << "another seed draws others";
}

TEST(ArchiveCell, IsReadFromTheTextAndTheVerdict) {
  Candidate candidate;
  candidate.source =
      "__global__ void k(float4* x) { // __shared__ atomicAdd\n  float sums[4]; __shfl_xor_sync(~0u, 1, 2); }";
  Verdict verdict = fake_ok(1);
  auto cell = cell_of(candidate, verdict);
  EXPECT_EQ(cell.text(), "reuse in registers, vectors of 4, warp operations");
  verdict.resources.registers = 70, verdict.resources.occupancy = 0.6, verdict.resources.shared_bytes = 64;
  EXPECT_EQ(cell_of(candidate, verdict).text(),
            "reuse in shared memory, vectors of 4, warp operations, occupancy up to 75 %, at most 128 registers");
  candidate.source = "__global__ void k(float* x) { x[threadIdx.x] = x[1]; return; }";
  EXPECT_EQ(cell_of(candidate, fake_ok(1)).text(), "no reuse");
}

TEST(Family, IsThatOfTheLastStepThatHasOne) {
  Candidate candidate;
  EXPECT_FALSE(family_of(candidate));
  candidate.steps = {{.origin = Step::Origin::Rule, .rule = "fast_math"}, {.origin = Step::Origin::Knob}};
  EXPECT_EQ(family_of(candidate), Family::Arithmetic);
  candidate.add_step({.origin = Step::Origin::Model, .summary = "Stage the tile in shared memory"});
  EXPECT_EQ(family_of(candidate), Family::Memory);
  EXPECT_EQ(family_of_words("one warp per row, reduced by shuffles"), Family::Parallelism);
  EXPECT_EQ(family_of_words("peel the first iteration"), Family::Structure);
}

}  // namespace
}  // namespace kernelift::tuner
