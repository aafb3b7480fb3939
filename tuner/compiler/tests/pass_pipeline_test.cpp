// Claims about pass pipelines: LLVM accepts whatever the search makes of them, and leaders are reduced.
#include "tuner/compiler/pass_pipeline.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/file.h"
#include "core/base/process.h"
#include "tuner/compiler/pass_proposer.h"
#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift {
namespace {

TEST(PassPipeline, GroupsNeighboursOfOneLevel) {
  PassPipeline pipeline{{"globalopt", PassLevel::Module},
                        {"sroa", PassLevel::Function},
                        {"gvn", PassLevel::Function},
                        {"licm", PassLevel::LoopMemory},
                        {"inline", PassLevel::Cgscc}};
  EXPECT_EQ(text(pipeline), "globalopt,function(sroa,gvn),function(loop-mssa(licm)),cgscc(inline)");
}

TEST(PassPipeline, LlvmAcceptsSeedsAndTheirDescendants) {
  auto opt = find_program("opt-22");
  if (!opt) GTEST_SKIP() << "opt-22 is not installed";
  auto folder = *TemporaryFolder::create("passes");
  auto module = folder.path() / "m.ll";
  ASSERT_TRUE(
      write_atomically(module, std::string_view("define i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n"))
          .ok());
  Random random(11);
  auto accepts = [&](const PassPipeline& pipeline) {
    auto outcome = run_process({opt->string(), "-passes=" + text(pipeline), "-disable-output", module.string()});
    EXPECT_TRUE(outcome.ok() && outcome->ok()) << text(pipeline) << "\n" << outcome->err;
  };
  for (auto& seed : seed_pipelines()) accepts(seed);
  accepts(curated_passes());
  PassPipeline pipeline = seed_pipelines().back();
  for (int generation = 0; generation < 12; ++generation) {
    pipeline = mutate(cross(pipeline, mutate(pipeline, random), random), random);
    accepts(pipeline);
  }
}

TEST(PassPipeline, NeverAsksForAVerifiedFixpoint) {
  auto pipelines = seed_pipelines();
  pipelines.push_back(curated_passes());
  for (auto& pipeline : pipelines)
    for (auto& pass : pipeline)
      EXPECT_NE(pass.name, "instcombine") << "it aborts the compiler where it does not reach it";
}

TEST(PassProposer, ReducesTheLeaderToWhatMatters) {
  History history;
  Candidate original;
  original.source = "s", original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  PassProposer proposer(5);
  std::string best;
  double highest = 0;
  for (int64_t id = 2; id < 400; ++id) {
    auto proposals = proposer.propose(history, 1);
    if (proposals.empty()) break;
    const std::string& passes = proposals[0].candidate.recipe.passes;
    bool helps = passes.find("licm") != std::string::npos;  // The only pass that does anything.
    RunTrial trial{id, proposals[0].candidate, fake_ok(helps ? 1.2 : 1.0), {}, {1}, 0};
    double merit = trial.verdict.speedup() - passes.size() * 1e-5;
    if (merit > highest) highest = merit, best = passes;
    proposer.learn(trial);
  }
  EXPECT_EQ(best, "function(loop-mssa(licm))");
}

TEST(PassProposer, DoesNotUseAPassAgainThatBroughtTheCompilerDown) {
  History history;
  Candidate original;
  original.source = "s", original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  PassProposer proposer(5);
  bool crashed = false;
  for (int64_t id = 2; id < 200; ++id) {
    auto proposals = proposer.propose(history, 1);
    ASSERT_FALSE(proposals.empty());
    bool guilty = proposals[0].candidate.recipe.passes.find("gvn") != std::string::npos;
    EXPECT_FALSE(crashed && guilty && proposals[0].candidate.recipe.passes.find(",gvn,") != std::string::npos);
    Verdict verdict = guilty ? fake_failure(Outcome::CompileCrashed, "pass gvn") : fake_ok(1);
    crashed |= guilty;
    proposer.learn({id, proposals[0].candidate, verdict, {}, {1}, 0});
  }
  EXPECT_TRUE(crashed);
}

TEST(PassProposer, BlamesThePassByItsWholeNameAndNoWordOfTheMessage) {
  History history;
  Candidate original;
  original.source = "s", original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  PassProposer proposer(5);
  // Whole words of the pipelines that are proposed after the crash, parameters left away.
  std::set<std::string> used;
  bool crashed = false;
  for (int64_t id = 2; id < 300; ++id) {
    auto proposals = proposer.propose(history, 1);
    ASSERT_FALSE(proposals.empty());
    const std::string& passes = proposals[0].candidate.recipe.passes;
    std::string word;
    bool crashes = false;
    for (char c : passes + ",") {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '-') word += c;
      else {
        if (crashed) used.insert(word);
        crashes |= word == "adce";
        word.clear();
      }
    }
    bool now = crashes && !crashed;
    crashed |= crashes;
    proposer.learn(
        {id,
         proposals[0].candidate,
         now ? fake_failure(Outcome::CompileCrashed, "pass adce on k: while sinking what gvn had left") : fake_ok(1),
         {},
         {1},
         0});
  }
  ASSERT_TRUE(crashed);
  EXPECT_FALSE(used.contains("adce"));
  for (auto* other : {"gvn", "sink"}) EXPECT_TRUE(used.contains(other)) << other;
}

}  // namespace
}  // namespace kernelift
