// Tests of patterns: what kernels are compared by, what a pattern is worth, what the library keeps, and what it leaves
// out of the application's text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "core/base/locks/lock.h"
#include "core/tests/expression_literal.h"
#include "tuner/inherit/pattern_library.h"
#include "tuner/tests/fakes/fake_evaluator.h"
#include "tuner/tests/fakes/mep_folder.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Loads of `offset` in a loop over loop.k0, and a store of one element by each thread.
KernelModel looping(const Expression& offset, Expression stored = "4 * tid.x"_e) {
  KernelModel model;
  model.objects.resize(2);
  for (auto& object : model.objects) object.kind = KernelModel::Object::Kind::Argument;
  KernelModel::Access load, store;
  load.bytes = 4, load.offset = offset, load.counters = {"loop.k0"};
  store.kind = KernelModel::Access::Kind::Store, store.object = 1, store.bytes = 4, store.offset = std::move(stored);
  model.accesses = {load, store};
  return model;
}

const Geometry kRow{{64, 1, 1}, {128, 1, 1}}, kTile{{16, 16, 1}, {16, 16, 1}};

KernelFeatures features_of(const KernelModel& model, const Geometry& launch = kRow, Bound bound = Bound::Unknown) {
  return KernelFeatures::of(launch, &model, bound);
}

TEST(KernelFeatures, TellStridesWalksAndReuseApart) {
  auto coalesced = features_of(looping("4 * tid.x + 4 * loop.k0 * ntid.x"_e)).values;
  EXPECT_EQ(coalesced.at("unit_stride"), 1);
  EXPECT_EQ(coalesced.at("reused"), 0);
  auto row = features_of(looping("4 * (tid.x * arg.a1 + loop.k0)"_e)).values;
  EXPECT_EQ(row.at("unit_stride"), 0.5);
  EXPECT_EQ(row.at("walks"), 0.5);
  auto shared = features_of(looping("4 * loop.k0"_e)).values;
  EXPECT_EQ(shared.at("uniform"), 0.5);
  EXPECT_EQ(shared.at("reused"), 1);
  auto scattered = features_of(looping("4 * term.t0"_e)).values;
  EXPECT_EQ(scattered.at("irregular"), 0.5);
}

TEST(KernelFeatures, AreAlikeForKernelsThatDoTheSameAndNotForOthers) {
  auto one = features_of(looping("4 * (tid.x * arg.a1 + loop.k0)"_e));
  auto same = features_of(looping("4 * (loop.k0 + arg.a7 * tid.x)"_e), {{80, 1, 1}, {128, 1, 1}});
  KernelModel different = looping("8 * term.t0"_e, "8 * (tid.x + ntid.x * tid.y)"_e);
  different.accesses[1].kind = KernelModel::Access::Kind::Atomic;
  different.barriers.resize(1);
  auto other = features_of(different, kTile);
  EXPECT_EQ(one.similarity(one), 1);
  EXPECT_GT(one.similarity(same), 0.9);
  EXPECT_LT(one.similarity(other), 0.3);
  EXPECT_EQ(one.similarity(other), other.similarity(one));
}

TEST(KernelFeatures, CompareOnlyWhatBothKnow) {
  const KernelModel model = looping("4 * tid.x"_e);
  auto profiled = features_of(model, kRow, Bound::Memory);
  EXPECT_EQ(profiled.similarity(features_of(model)), 1);
  EXPECT_LT(profiled.similarity(features_of(model, kRow, Bound::Compute)), 1);
  EXPECT_EQ(KernelFeatures().similarity(profiled), 0) << "nothing is known of it";
}

PatternContext context(const std::string& kernel, const Expression& load = "4 * tid.x"_e,
                       const std::string& architecture = "cpu") {
  return {kernel, architecture, features_of(looping(load))};
}
Pattern pattern(const PatternContext& of, const std::string& rule, double gain, int tried = 1, int held = 1) {
  Pattern made{of, {{.origin = Step::Origin::Rule, .rule = rule, .parameters = {{"by", 4}}}}, {}};
  made.log_gains = held * std::log(gain), made.tried = tried, made.held = held;
  return made;
}

TEST(Pattern, IsWorthLessTheLessAlikeTheKernelsAreAndTheSeldomerItHeld) {
  const PatternContext here = context("here");
  const double worth = pattern(context("there"), "unroll", 2).worth_for(here);
  EXPECT_GT(worth, 0);
  EXPECT_GT(worth, pattern(context("there", "4 * term.t0"_e), "unroll", 2).worth_for(here));
  EXPECT_GT(worth, pattern(context("there"), "unroll", 2, 5, 1).worth_for(here));
  EXPECT_LT(worth, pattern(context("there"), "unroll", 2, 5, 5).worth_for(here));
  EXPECT_LT(worth, pattern(context("there"), "unroll", 3).worth_for(here));
}

TEST(Pattern, OfAProcessorIsWorthNothingOnAGpu) {
  const Pattern there = pattern(context("there"), "unroll", 2);
  EXPECT_EQ(there.worth_for(context("here", "4 * tid.x"_e, "sm_90")), 0);
  const Pattern gpu = pattern(context("there", "4 * tid.x"_e, "sm_80"), "unroll", 2);
  EXPECT_EQ(gpu.worth_for(context("here")), 0);
  EXPECT_GT(gpu.worth_for(context("here", "4 * tid.x"_e, "sm_80")),
            gpu.worth_for(context("here", "4 * tid.x"_e, "sm_90")));
}

RunTrial winner(std::vector<Step> steps, double speedup = 2) {
  RunTrial trial{7, {}, fake_ok(speedup), fake_ok(speedup), {}, 0};
  trial.candidate.source = "__global__ void secret_text() {}", trial.candidate.tier = "source";
  trial.candidate.steps = std::move(steps);
  return trial;
}

TEST(Pattern, HoldsNeitherTextNorPathsNorNamesButTheKernels) {
  MepFolder mep;
  mep.mep.app_root = "/home/someone/secret_project", mep.mep.unit = "/home/someone/secret_project/a.cu";
  Step step{.origin = Step::Origin::Rule,
            .rule = "unroll",
            .place = "the loop over secret_index",
            .parameters = {{"by", 4}},
            .summary = "by 4 of secret_loop",
            .premises = {Premise::holds("secret_n > 0"_e)},
            .effects = {"reads secret_array"}};
  mep.mep.launches[0].block[0] = "SECRET_BLOCK"_e;
  Step knob{.origin = Step::Origin::Knob, .parameters = {{"SECRET_BLOCK", 256}}, .replaced = {{"SECRET_BLOCK", 64}}};
  auto made = Pattern::of(winner({step, knob}), mep.mep, context("k"));
  ASSERT_TRUE(made);
  const std::string stored = to_json(*made).dump();
  EXPECT_THAT(stored, Not(HasSubstr("secret")));
  EXPECT_THAT(stored, Not(HasSubstr("SECRET")));
  EXPECT_EQ(made->text(), "unroll (by 4); block.x 256");
  // In another kernel, the knob that determines its block takes the value.
  MepFolder other;
  EXPECT_EQ(made->steps_for(other.mep)[1].parameters, (Bindings{{"B", 256}}));
  other.mep.launches[0].block[0] = "2 * B"_e;
  EXPECT_EQ(made->steps_for(other.mep)[1].parameters, (Bindings{{"block.x", 256}}));
}

TEST(Pattern, IsNotMadeOfWhatNobodyCanRepeat) {
  MepFolder mep;
  auto made = [&](Step step) { return Pattern::of(winner({std::move(step)}), mep.mep, context("k")).has_value(); };
  EXPECT_TRUE(made({.origin = Step::Origin::Knob, .parameters = {{"B", 128}}}));
  EXPECT_FALSE(made({.origin = Step::Origin::Knob, .parameters = {{"U", 4}}})) << "a meaning of its own";
  EXPECT_FALSE(made({.origin = Step::Origin::Model, .rule = "a model"}));
  EXPECT_FALSE(made(Step::described("by hand")));
  EXPECT_THAT(patterns_of({winner({Step::described("by hand")}, 3),
                           winner({{.origin = Step::Origin::Rule, .rule = "unroll"}}, 2)},
                          mep.mep, context("k")),
              SizeIs(1));
  RunTrial screened = winner({{.origin = Step::Origin::Rule, .rule = "unroll"}}, 2);
  screened.confirmed.reset();
  EXPECT_THAT(patterns_of({screened}, mep.mep, context("k")), IsEmpty()) << "not confirmed";
}

class PatternLibraryTest : public testing::Test {
 protected:
  PatternLibrary read() { return *PatternLibrary::read(file_); }
  TemporaryFolder folder_ = *TemporaryFolder::create("patterns");
  std::filesystem::path file_ = folder_.path() / "made" / "patterns.json";
};

TEST_F(PatternLibraryTest, OffersWhatHelpedTheMostSimilarKernelsFirstAndEachChainOnce) {
  ASSERT_TRUE(PatternLibrary::update(
                  file_, {},
                  {pattern(context("far", "4 * term.t0"_e), "tile", 2), pattern(context("near"), "unroll", 2),
                   pattern(context("far", "4 * (tid.x * arg.a1 + loop.k0)"_e), "unroll", 2),
                   pattern(context("near"), "swap", 1.001)})
                  .ok());
  auto offers = read().offers(context("here"), 10);
  ASSERT_THAT(offers, SizeIs(2)) << "unroll once; swap promises too little";
  EXPECT_EQ(offers[0].context.kernel, "near");
  EXPECT_EQ(offers[1].chain[0].rule, "tile");
  EXPECT_THAT(read().offers(context("here"), 1), SizeIs(1));
}

TEST_F(PatternLibraryTest, APatternThatMisleadsIsOfferedLaterAndThenNoMore) {
  const Pattern misleading = pattern(context("a"), "unroll", 1.5), honest = pattern(context("b"), "swap", 1.4);
  ASSERT_TRUE(PatternLibrary::update(file_, {}, {misleading, honest}).ok());
  EXPECT_EQ(read().offers(context("here"), 1)[0].chain[0].rule, "unroll");
  ASSERT_TRUE(PatternLibrary::update(file_, {{misleading, false}}, {}).ok());
  EXPECT_EQ(read().offers(context("here"), 1)[0].chain[0].rule, "swap");
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(PatternLibrary::update(file_, {{misleading, false}}, {}).ok());
  EXPECT_THAT(read().offers(context("here"), 10), SizeIs(1));
}

TEST_F(PatternLibraryTest, CountsAnotherKernelAndNotTheSameOneAgain) {
  const Pattern first = pattern(context("a"), "unroll", 2);
  ASSERT_TRUE(PatternLibrary::update(file_, {}, {first, first, first}).ok());
  ASSERT_THAT(read().patterns(), SizeIs(1));
  EXPECT_EQ(read().patterns()[0].tried, 1);
  ASSERT_TRUE(PatternLibrary::update(file_, {{first, true, 8}}, {}).ok());
  EXPECT_EQ(read().patterns()[0].held, 2);
  EXPECT_NEAR(read().patterns()[0].gain(), 4, 1e-3);
}

TEST_F(PatternLibraryTest, ADamagedOrNewerFileIsNamedAndLeftAsItIs) {
  std::filesystem::create_directories(file_.parent_path());
  for (const char* content :
       {"{\"format\": \"kernelift-pat", "[]",
        R"({"format":"kernelift-patterns","version":9,"oldest_reader":9,"patterns":[]})",
        R"({"format":"kernelift-patterns","version":1,"oldest_reader":1,"patterns":[{"kernel":"k"}]})",
        R"({"format":"kernelift-patterns","version":1,"oldest_reader":1,"patterns":[
                                 {"kernel":"k","architecture":"cpu","chain":[],"features":{},"gain":-1,"tried":1,"held":1}]})"}) {
    std::ofstream(file_) << content;
    auto read = PatternLibrary::read(file_);
    ASSERT_FALSE(read.ok()) << content;
    EXPECT_THAT(read.error().message, HasSubstr("patterns.json"));
    EXPECT_FALSE(PatternLibrary::update(file_, {}, {pattern(context("a"), "unroll", 2)}).ok());
    EXPECT_EQ(*read_text(file_), content);
  }
}

TEST_F(PatternLibraryTest, RunsThatEndAtTheSameTimeBothGetIn) {
  std::vector<std::thread> runs;
  for (int i = 0; i < 8; ++i)
    runs.emplace_back([&, i] {
      EXPECT_TRUE(PatternLibrary::update(file_, {}, {pattern(context("k"), "rule" + std::to_string(i), 2)}).ok());
    });
  for (auto& run : runs) run.join();
  EXPECT_THAT(read().patterns(), SizeIs(8));
}

}  // namespace
}  // namespace kernelift::tuner
