// Tests of pass pipelines as text, and of the genetic search over them.
#include "tuner/compiler/pass_pipeline.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/file.h"
#include "core/base/process.h"
#include "tuner/compiler/pass_proposer.h"
#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {
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
      EXPECT_NE(pass.name, "instcombine") << "it aborts the compiler if it does not reach a fixpoint";
}

TEST(PassProposer, ReducesTheLeaderToPassesThatMatter) {
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
    bool helps = passes.find("licm") != std::string::npos;  // The only pass with an effect.
    RunTrial trial{id, proposals[0].candidate, fake_ok(helps ? 1.2 : 1.0), {}, {1}, 0};
    double merit = trial.verdict.speedup() - passes.size() * 1e-5;
    if (merit > highest) highest = merit, best = passes;
    proposer.learn(trial);
  }
  EXPECT_EQ(best, "function(loop-mssa(licm))");
}

/// Names of the passes of a pipeline, without parameters and adaptors.
std::set<std::string> passes_of(const std::string& pipeline) {
  std::set<std::string> names;
  std::string name;
  for (char c : pipeline + ",") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-') name += c;
    else names.insert(std::exchange(name, ""));
  }
  return names;
}

bool uses_pass(const std::string& pipeline, const std::string& pass) { return passes_of(pipeline).contains(pass); }

TEST(PassProposer, DoesNotReuseAPassThatCrashedTheCompiler) {
  History history;
  Candidate original;
  original.source = "s", original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  PassProposer proposer(5);
  bool crashed = false;
  for (int64_t id = 2; id < 200; ++id) {
    auto proposals = proposer.propose(history, 1);
    ASSERT_FALSE(proposals.empty());
    bool crashes = uses_pass(proposals[0].candidate.recipe.passes, "gvn");
    EXPECT_FALSE(crashed && crashes) << proposals[0].candidate.recipe.passes;
    Verdict verdict = crashes ? fake_failure(Outcome::CompileCrashed, "pass gvn") : fake_ok(1);
    crashed |= crashes;
    proposer.learn({id, proposals[0].candidate, verdict, {}, {1}, 0});
  }
  EXPECT_TRUE(crashed);
}

TEST(PassProposer, BlamesThePassByItsWholeNameAndNotByWordsOfTheMessage) {
  History history;
  Candidate original;
  original.source = "s", original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  PassProposer proposer(5);
  std::set<std::string> used;  // Passes of the pipelines that are proposed after the crash.
  bool crashed = false;
  for (int64_t id = 2; id < 300; ++id) {
    auto proposals = proposer.propose(history, 1);
    ASSERT_FALSE(proposals.empty());
    std::set<std::string> passes = passes_of(proposals[0].candidate.recipe.passes);
    bool crashes = passes.contains("adce"), now = crashes && !crashed;
    if (crashed) used.merge(passes);
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
}  // namespace kernelift::tuner
