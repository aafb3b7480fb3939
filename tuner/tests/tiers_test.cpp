// Tests of the creation of proposers, and of a tuning run with all tiers on a fake evaluator.
#include "tuner/tiers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/compiler/paths.h"
#include "tuner/source/evolution/family.h"
#include "tuner/source/rules/rule.h"
#include "tuner/tests/fakes/fake_evaluator.h"
#include "tuner/tests/fakes/mep_folder.h"
#include "tuner/tuner.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

TEST(Tiers, AreParsedAsAList) {
  EXPECT_EQ(*parse_tiers("params,source,params"), (std::vector<std::string>{"params", "source"}));
  for (auto* wrong : {"", "kernel", "params,,"}) {
    auto tiers = parse_tiers(wrong);
    ASSERT_FALSE(tiers.ok()) << wrong;
    EXPECT_THAT(tiers.error().message, HasSubstr("source, params and compiler"));
  }
}

TEST(Tiers, CreateOnlyTheirOwnProposers) {
  MepFolder mep;
  TierOptions options;
  options.tiers = {"compiler"};
  auto proposers = *make_proposers(mep.mep, "", options);
  for (auto& proposer : proposers) EXPECT_EQ(proposer->tier(), "compiler");
  EXPECT_EQ(proposers.size(), 3u);
}

TEST(Tiers, RefuseAModelWhereNeitherTextsNorParametersAreSearched) {
  MepFolder mep;
  TierOptions options;
  options.tiers = {"compiler"};
  options.llm = LlmOptions();
  EXPECT_EQ(make_proposers(mep.mep, "", options).error().exit, Exit::Usage);
}

TEST(Tiers, RefuseAnUnknownRuleAndNameThoseThatThereAre) {
  MepFolder mep;
  TierOptions options;
  options.without_rules = {"unroll", "magic"};
  auto refused = make_proposers(mep.mep, "", options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().exit, Exit::Usage);
  EXPECT_THAT(refused.error().message, HasSubstr("'magic' is not a rewrite rule; there are scalar_promotion"));
}

TEST(Tiers, EveryRuleHasAFamily) {
  for (auto* rule : all_rules()) EXPECT_TRUE(family_of_rule(rule->name)) << rule->name;
}

TEST(Tiers, LeaveAllRulesOut) {
  MepFolder mep;
  TierOptions options;
  options.tiers = {"source"};
  EXPECT_EQ(make_proposers(mep.mep, "", options)->size(), 1u);
  options.without_rules = {"all"};
  EXPECT_EQ(make_proposers(mep.mep, "", options)->size(), 0u);
}

TEST(Tiers, RefuseAnUnknownStrategy) {
  MepFolder mep;
  TierOptions options;
  options.strategy = "luck";
  EXPECT_THAT(make_proposers(mep.mep, "", options).error().message, HasSubstr("no search strategy"));
}

TEST(Tiers, StackSourceParametersAndFlagsInOneRun) {
  MepFolder mep;
  std::string source =
      "#define B 64\n#define U 1\n__global__ void k(float* data, int n) {\n  for (int i = 0; i < n; ++i)\n    data[0] "
      "+= data[0] * U;\n}\n";
  ASSERT_TRUE(write_atomically(mep.folder.path() / "kernel.cu", source).ok());
  FakeEvaluator evaluator([](const Candidate& candidate) {
    auto block = candidate.values.find("B");
    bool contracted = std::count(candidate.recipe.fast_math.begin(), candidate.recipe.fast_math.end(), "contract");
    return fake_ok(1 + 0.5 * (candidate.source.find("data_sum") != std::string::npos) +
                   0.3 * (block != candidate.values.end() && block->second == 256) + 0.2 * contracted);
  });
  auto folder = *TemporaryFolder::create("tiers");
  RunMeta meta;
  meta.mep_hash = *hash_mep(mep.folder.path(), mep.mep);
  auto run = Run::create(folder.path() / "k-1.klrun", meta);
  TierOptions options;
  // The only header, so that the test does not depend on the toolkit.
  auto prelude = folder.path() / "prelude.h";
  ASSERT_TRUE(write_atomically(prelude, std::string_view("#define __global__ __attribute__((global))\n")).ok());
  options.clang_arguments = {
      {"--no-such-option"},
      {"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90", "-nocudainc", "-nocudalib",
       "-Wno-unknown-cuda-version", "-resource-dir", clang_resource_folder().string(), "-include", prelude.string()}};
  TuneOptions tuning;
  tuning.evaluations = 250;
  auto report = tune(mep.mep, mep.folder.path(), evaluator, *run, *make_proposers(mep.mep, source, options), tuning);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_NEAR(report->best_applicable->figures().speedup(), 1.8, 1e-9);
  EXPECT_NEAR(report->best->figures().speedup(), 2.0, 1e-9);
  for (auto* tier : {"source", "params", "compiler"}) EXPECT_GT(report->tiers[tier], 5u) << tier;
}

}  // namespace
}  // namespace kernelift::tuner
