// Tests of the proposer of rewrite rules and of the splitting of lines that it uses.
#include "tuner/source/rule_proposer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/rules/for_loops.h"
#include "tuner/source/rules/own_lines.h"
#include "tuner/source/tests/rule_text.h"
#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

/// With the text as the original.
History history_of(const std::string& text) {
  History history;
  Candidate original;
  original.source = text, original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  return history;
}

std::string first_rule(const std::string& text, Bound bound) {
  History history = history_of(text);
  RuleContext known = facts();
  known.bound = bound;
  return RuleProposer(known, arguments()).propose(history, 1).at(0).candidate.proposer;
}

TEST(RuleProposer, BeginsWithRulesThatHelpTheKernelsBound) {
  const std::string sum =
      "__global__ void k(float *y, float s, int n) {\n  y[n] = 0;\n  float all = 0;\n  for (int i = 0; i < n; ++i)\n"
      "    all += expf(y[i]) / s;\n  y[0] = all;\n}\n";
  EXPECT_EQ(first_rule(sum, Bound::Latency), "rules/unroll");
  EXPECT_EQ(first_rule(sum, Bound::Compute), "rules/reciprocal");
}

TEST(RuleProposer, LeavesOutTheRulesThatItIsTold) {
  History history = history_of(kProduct);
  auto rules_of = [&](std::vector<std::string> without) {
    std::set<std::string> rules;
    for (auto& proposal : RuleProposer(facts(), arguments(), std::move(without)).propose(history, 100))
      rules.insert(proposal.candidate.proposer);
    return rules;
  };
  auto all = rules_of({});
  ASSERT_TRUE(all.contains("rules/restrict_pointers"));
  all.erase("rules/restrict_pointers");
  EXPECT_EQ(rules_of({"restrict_pointers"}), all);
}

/// A kernel for several types, one of which has operators of its own: what `+=` is follows from the instance.
const std::string kForTypes =
    "struct Half {\n  short bits;\n  Half() = default;\n  __device__ Half(int value);\n};\n__device__ Half& "
    "operator+=(Half&, Half);\n"
    "template <class T> __global__ void k(const T *x, T *out) {\n  __shared__ T part[256];\n"
    "  part[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
    "  if (threadIdx.x == 0) {\n    T sum = 0;\n    for (int w = 0; w < 256; ++w) sum += part[w];\n    *out = sum;\n  "
    "}\n}\n"
    "template __global__ void k<float>(const float *, float *);\n";

/// Texts that the rule makes.
std::vector<std::string> texts_of(const std::string& rule, const std::string& original) {
  History history = history_of(original);
  std::vector<std::string> texts;
  for (auto& proposal : RuleProposer(facts(), arguments()).propose(history, 200))
    if (proposal.candidate.proposer == "rules/" + rule) texts.push_back(proposal.candidate.source);
  return texts;
}

TEST(RuleProposer, SeesTheTypesThatATemplateHasInItsInstance) {
  const auto texts = texts_of("thread_to_warp", kForTypes);
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_THAT(texts[0], HasSubstr("    T sum = 0;\n    for (int w = lane; w < 256; w += 32) sum += part[w];\n"))
      << "the text is that of all types";
}

TEST(RuleProposer, RepeatsWhatItFoundInAnInstance) {
  RuleProposer proposer(facts(), arguments());
  History history = history_of(kForTypes);
  for (auto& proposal : proposer.propose(history, 200)) {
    if (proposal.candidate.proposer != "rules/thread_to_warp") continue;
    auto again = proposer.repeat(history.baseline()->candidate, proposal.candidate.steps.back());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->source, proposal.candidate.source);
  }
}

TEST(RuleProposer, TakesATemplateAsItIsSpelledWhereOtherInstancesAreOther) {
  EXPECT_TRUE(
      texts_of("thread_to_warp", kForTypes + "template __global__ void k<Half>(const Half *, Half *);\n").empty());
  std::string text = kForTypes;
  text.replace(text.find("  part[threadIdx.x] ="), 0, "  if constexpr (sizeof(T) == 2) part[0] = x[0];\n");
  EXPECT_TRUE(texts_of("thread_to_warp", text).empty()) << "an edit would not see the discarded branch";
}

TEST(RuleProposer, BeginsWithTheRuleThatGainsMostWhereItApplies) {
  const std::string rows =
      "__global__ void k(float *y, float s, int n) {\n  for (int i = 0; i < n; ++i)\n    y[i] = expf(y[i]) / s;\n}\n";
  for (Bound bound : {Bound::Unknown, Bound::Latency, Bound::Compute})
    EXPECT_EQ(first_rule(rows, bound), "rules/loop_to_threads");
}

TEST(RuleProposer, ChangesWhatTheKernelUsesAndNothingElseOfAWholeUnit) {
  const std::string loop = "    for (int i = 0; i < 64; ++i)\n      y[i] += sqrtf(y[i]) / s;\n";
  const std::string unit =
      "template <class F> __global__ void k(F f) {\n  f(1.0f);\n}\n"  // 0 to 2
      "__global__ void other(float *y, float s) {\n" +
      loop +
      "}\n"  // 3 to 6
      "void host(float *y) {\n  auto first = [=] __attribute__((device)) (float s) {\n" +
      loop +
      "  };\n"  // 7 to 11
      "  auto second = [=] __attribute__((device)) (float s) {\n" +
      loop +
      "  };\n"  // 12 to 15
      "  (void)first, (void)second;\n}\n";
  History history = history_of(unit);
  RuleContext known = facts();
  known.own_lines = {0, 1, 2, 12, 13, 14, 15};
  const size_t other = unit.find("__global__ void other");
  const std::string kept = unit.substr(other, unit.find("  auto second") - other);
  auto proposals = RuleProposer(known, arguments()).propose(history, 50);
  ASSERT_GE(proposals.size(), 3u);
  bool named = false;
  for (auto& one : proposals) {
    EXPECT_THAT(one.candidate.source, HasSubstr(kept));
    named |= one.candidate.steps.back().place == "the second lambda in host";
  }
  EXPECT_TRUE(named) << "a lambda is named by the function around it";
}

TEST(RuleProposer, StacksEditsOnTheFastestCandidates) {
  History history = history_of(kProduct);
  RuleProposer proposer(facts(), arguments());
  for (int64_t id = 2; id < 60; ++id) {
    auto proposals = proposer.propose(history, 1);
    if (proposals.empty()) break;
    const std::string& text = proposals[0].candidate.source;
    bool accumulated = text.find("c_sum") != text.npos, restricted = text.find("__restrict__") != text.npos;
    auto& trial = history.add(
        {id, proposals[0].candidate, fake_ok(1 + 0.5 * accumulated + 0.3 * restricted), {}, proposals[0].parents, 0});
    proposer.learn(trial);
  }
  EXPECT_NEAR(history.best()->verdict.speedup(), 1.8, 1e-9);
  std::set<std::string> rules;
  for (auto& step : history.best()->candidate.steps) rules.insert(step.rule);
  EXPECT_THAT(rules, testing::IsSupersetOf({"scalar_promotion", "restrict_pointers"}));
}

TEST(RuleProposer, RepeatsItsOwnStepsOneAfterTheOther) {
  History history = history_of(kProduct);
  const Candidate original = history.baseline()->candidate;
  RuleProposer rules(facts(), arguments());
  int64_t id = 1;
  for (int round = 0; round < 3; ++round)
    for (auto& proposal : rules.propose(history, 10)) {
      std::optional<Candidate> made = original;
      for (auto& step : proposal.candidate.steps) {
        ASSERT_TRUE(made) << proposal.candidate.note();
        made = rules.repeat(*made, step);
      }
      ASSERT_TRUE(made) << proposal.candidate.note();
      EXPECT_EQ(made->key(), proposal.candidate.key()) << proposal.candidate.note();
      ++id;
      history.add({id, proposal.candidate, fake_ok(1 + 0.1 * double(id)), {}, proposal.parents, 0});
    }
  EXPECT_GT(history.best()->candidate.steps.size(), 1u);
  Step unknown = history.best()->candidate.steps[0];
  unknown.place = "the loop over nothing";
  EXPECT_FALSE(rules.repeat(original, unknown));
}

TEST(RuleProposer, GoesOnWithWhatEachRuleGainedThoughAnotherOnesFormsLead) {
  // A tile can be made of a thread for each element, and of no form in which blocks share the loop.
  const std::string serial_columns =
      "__global__ void k(const float *a, const float *b, float *c, int m, int n, int l) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < m) {\n    for (int j = 0; j < n; j++) {\n"
      "      float sum = 0;\n      for (int k = 0; k < l; k++) {\n"
      "        sum += a[k * m + i] * b[k * n + j];\n      }\n      c[i * n + j] = sum;\n    }\n  }\n}\n";
  History history = history_of(serial_columns);
  RuleProposer proposer(facts(), arguments());
  int64_t id = 2;
  auto learn = [&](const Proposal& proposal, double speed) {
    proposer.learn(history.add({id++, proposal.candidate, fake_ok(speed), {}, proposal.parents, 0}));
  };
  auto last_rule = [](const Proposal& proposal) { return proposal.candidate.steps.back().rule; };
  std::optional<Proposal> threads;
  for (auto& proposal : proposer.propose(history, 12)) {
    if (last_rule(proposal) == "loop_to_threads") threads = proposal;
    else learn(proposal, last_rule(proposal) == "loop_to_grid" ? 300 : 1);
  }
  ASSERT_TRUE(threads);
  // Its verdict comes when three other texts are faster.
  for (int i = 0; i < 6; ++i) learn(proposer.propose(history, 1).at(0), 300 + i);
  learn(*threads, 15);
  std::vector<std::string> next;
  for (int i = 0; i < 6; ++i) {
    const Proposal proposal = proposer.propose(history, 1).at(0);
    next.push_back(last_rule(proposal));
    learn(proposal, 250);
  }
  EXPECT_THAT(next, testing::Contains("shared_tiling"));
}

TEST(RuleProposer, TriesEveryOpportunityOfTheOriginal) {
  History history = history_of(kProduct);
  RuleProposer proposer(facts(), arguments());
  std::vector<std::string> texts;
  // Speed grows with the text's length, so that the fastest candidates are always many edits from the original.
  for (int64_t id = 2; id < 220; ++id) {
    auto proposals = proposer.propose(history, 1);
    if (proposals.empty()) break;
    texts.push_back(proposals[0].candidate.source);
    double speed = 1 + static_cast<double>(texts.back().size()) * 1e-5;
    proposer.learn(history.add({id, proposals[0].candidate, fake_ok(speed), {}, proposals[0].parents, 0}));
  }
  auto source = KernelSource::parse(kProduct, arguments());
  for (auto* rule : all_rules())
    for (auto& opportunity : opportunities(*rule, *source, facts()))
      EXPECT_THAT(texts, testing::Contains(*apply_edits(kProduct, opportunity.edits)))
          << rule->name << " " << opportunity.place;
}

TEST(RuleProposer, PromotesSumsInMemoryForRulesThatNeedThemInRegisters) {
  const std::string two_sums =
      "__global__ void rows(const float *a, const float *b, const float *x, float *y, float *z, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) {\n    y[i] = 0;\n    z[i] = 0;\n"
      "    for (int j = 0; j < n; j++) {\n      y[i] += a[i * n + j] * x[j];\n    }\n"
      "    for (int j = 0; j < n; j++) {\n      z[i] += b[i * n + j] * x[j];\n    }\n  }\n}\n";
  auto source = KernelSource::parse(two_sums, arguments());
  ASSERT_TRUE(source.ok());
  RuleContext known = facts();
  known.kernel = "rows";
  ASSERT_TRUE(opportunities(kWarpReduction, *source, known).empty());
  History history = history_of(two_sums);
  const Candidate original = history.baseline()->candidate;
  const auto proposals = RuleProposer(known, arguments()).propose(history, 200);
  const auto warp = std::ranges::find_if(
      proposals, [](auto& proposal) { return proposal.candidate.proposer == "rules/warp_reduction"; });
  ASSERT_NE(warp, proposals.end());
  std::vector<std::string> rules;
  for (auto& step : warp->candidate.steps) rules.push_back(step.rule);
  EXPECT_EQ(rules, (std::vector<std::string>{"scalar_promotion", "scalar_promotion", "warp_reduction"}));
  EXPECT_THAT(warp->candidate.source, HasSubstr("__shfl_xor_sync"));
  // Each step can be repeated, or left out when the winner is reduced.
  RuleProposer again(known, arguments());
  Candidate repeated = original;
  for (auto& step : warp->candidate.steps) {
    auto next = again.repeat(repeated, step);
    ASSERT_TRUE(next) << step.rule;
    repeated = *next;
  }
  EXPECT_EQ(repeated.source, warp->candidate.source);
  // A user who leaves out the promotion gets nothing that rests on it.
  for (auto& proposal : RuleProposer(known, arguments(), {"scalar_promotion"}).propose(history, 200))
    EXPECT_NE(proposal.candidate.proposer, "rules/warp_reduction");
}

TEST(RuleProposer, ShrinksTheLaunchOfACoarsenedKernel) {
  auto source = KernelSource::parse(kProduct, arguments());
  Candidate original;
  original.source = kProduct, original.tier = "baseline";
  auto changed = apply(original, kBlockCoarsening, opportunities(kBlockCoarsening, *source, facts()).at(1), "k");
  EXPECT_EQ(changed->launches.at(0).evaluate({{101, 1, 1}, {256, 1, 1}}, {})->grid.x, 26u);
}

TEST(RuleProposer, GivesALaunchItsSizesOverThoseThatItHad) {
  Candidate original;
  original.source = "text";
  Opportunity tile;
  tile.edits = {{0, 4, "tile"}};
  tile.launch = {{"gx", *Expression::parse("ceil_div(gx * bx, 64)")}, {"bx", Expression::constant(16)}};
  auto changed = apply(original, kSharedTiling, tile, "k");
  EXPECT_EQ(changed->launches.at(0).grid[0].text(), "ceil_div(gx * bx, 64)");
  EXPECT_EQ(changed->launches.at(0).block[0].text(), "16");
  EXPECT_EQ(changed->launches.at(0).grid[1].text(), "gy");
  original.launches = {CandidateLaunch::as_recorded("k")};
  original.launches[0].grid[0] = *Expression::parse("gx * 8"), original.launches[0].block[0] = Expression::constant(32);
  changed = apply(original, kSharedTiling, tile, "k");
  EXPECT_EQ(changed->launches.at(0).grid[0].text(), "ceil_div(gx * 8 * 32, 64)");
}

TEST(RuleProposer, AsksRulesAgainOnceTheFastestCandidateWithATextHasOtherBlocks) {
  History history = history_of(kProduct);
  const Candidate original = history.baseline()->candidate;
  RuleProposer proposer(facts(1, 1024), arguments(), {"restrict_pointers", "scalar_promotion", "unroll"});
  auto offered = [&] {
    std::multiset<std::string> rules;
    for (;;) {
      auto proposals = proposer.propose(history, 1);
      if (proposals.empty()) return rules;
      rules.insert(proposals[0].candidate.steps.back().text());
    }
  };
  const auto before = offered();
  Candidate narrow = original;
  narrow.tier = "params", narrow.values = {{"block_x", 100}};
  narrow.launches = {CandidateLaunch::as_recorded("k")};
  narrow.launches[0].block[0] = Expression::variable("block_x");
  narrow.launches[0].grid[0] = *Expression::parse("ceil_div(gx * bx, block_x)");
  history.add({2, narrow, fake_ok(2), {}, {1}, 0});
  const auto after = offered();
  for (auto& rule : after) EXPECT_FALSE(before.contains(rule)) << rule << " was tried with this text";
  EXPECT_FALSE(before.contains("block_coarsening blocks along x (factor 2)")) << "a single block has no neighbours";
  EXPECT_EQ(after.count("block_coarsening blocks along x (factor 2)"), 1u);
}

TEST(RuleProposer, OffersFormsThatKeepTheGridOnceASmallerOneWasWrong) {
  History history = history_of(kProduct);
  RuleProposer proposer(facts(), arguments());
  bool refuted = false, kept = false;
  for (int64_t id = 2; id < 200 && !kept; ++id) {
    auto proposals = proposer.propose(history, 1);
    if (proposals.empty()) break;
    auto& candidate = proposals[0].candidate;
    const bool smaller = !candidate.launches.empty();
    for (auto& step : candidate.steps)
      for (auto& effect : step.effects) kept |= effect.starts_with("leaves the grid unchanged");
    EXPECT_TRUE(refuted || !kept) << candidate.note();
    refuted |= smaller;
    proposer.learn(history.add(
        {id, candidate, smaller ? fake_failure(Outcome::Wrong) : fake_ok(0.9), {}, proposals[0].parents, 0}));
  }
  EXPECT_TRUE(kept);
}

TEST(RuleProposer, TakesTheLaunchOfTheFastestCandidateWithTheSameText) {
  History history = history_of(kProduct);
  const Candidate original = history.baseline()->candidate;
  RuleProposer proposer(facts(4000), arguments());
  EXPECT_EQ(proposer.propose(history, 1).at(0).parents.at(0), 1);
  Candidate wider = original;
  wider.tier = "params", wider.launches = {CandidateLaunch::as_recorded("k")};
  wider.launches[0].block[0] = *Expression::parse("bx * 2");
  history.add({2, wider, fake_ok(1.5), {}, {1}, 0});
  Proposal next = proposer.propose(history, 1).at(0);
  EXPECT_EQ(next.parents.at(0), 2);
  ASSERT_EQ(next.candidate.launches.size(), 1u) << "the opportunity was found before the launch changed";
  EXPECT_EQ(next.candidate.launches[0].block[0].text(), "bx * 2");
}

TEST(RuleContext, KnowsTheLaunchesOfTheCandidate) {
  RuleContext recorded = facts(100, 96);
  recorded.whole_warps = true, recorded.block_is_knob = true, recorded.threads_text = "BLOCK";
  Candidate candidate;
  EXPECT_EQ(recorded.launched_as(candidate).geometries, recorded.geometries);
  candidate.launches = {CandidateLaunch::as_recorded("k")};
  candidate.launches[0].grid[0] = *Expression::parse("ceil_div(gx, 4)");
  EXPECT_EQ(recorded.launched_as(candidate).geometries[0].grid.x, 25u);
  EXPECT_EQ(recorded.launched_as(candidate).most_threads, 96u);
  candidate.launches[0].block[1] = *Expression::parse("P"), candidate.values["P"] = 8;
  candidate.launches[0].block[0] = *Expression::parse("24");
  const RuleContext now = recorded.launched_as(candidate);
  EXPECT_EQ(now.geometries[0].block.count(), 24u * 8);
  EXPECT_EQ(now.most_threads, 0u) << "no bound of the launch is known";
  EXPECT_TRUE(now.threads_text.empty() && !now.block_is_knob);
  EXPECT_EQ(now.whole_warps, false);
}

TEST(OwnLines, AreThoseOfTheStatementsOfTheKernelsBlocks) {
  auto of = [](const std::string& text) {
    auto source = KernelSource::parse(text, arguments());
    EXPECT_TRUE(source.ok()) << source.error().message;
    return on_own_lines(*source, "k").value_or("as it is");
  };
  EXPECT_EQ(
      of("__global__ void k(float* x, int n) { int i = threadIdx.x; if (i < n) { x[i] = 1; n = 2; } }\n"),
      "__global__ void k(float* x, int n) {\n  int i = threadIdx.x;\n  if (i < n) {\n    x[i] = 1;\n    n = 2;\n  "
      "}\n}\n");
  EXPECT_EQ(of("__device__ int f() { return 1; }\n__global__ void k(float* x) {\n  int i = f(); /* one */ x[i] = 1; // "
               "set\n  x[1] = 2; }\n"),
            "__device__ int f() { return 1; }\n__global__ void k(float* x) {\n  int i = f(); /* one */\n  x[i] = 1; // "
            "set\n  x[1] = 2;\n}\n");
  EXPECT_EQ(
      of("__global__ void k(float* x) {\n  for (int i = 0; i < 4; ++i) { if (i) { x[i] = 1; x[i + 4] = 2; } else { "
         "x[9] = 0; } }\n}\n"),
      "__global__ void k(float* x) {\n  for (int i = 0; i < 4; ++i) {\n    if (i) {\n      x[i] = 1;\n      x[i + 4] "
      "= 2;\n    } else { x[9] = 0; }\n  }\n}\n");
  EXPECT_EQ(
      of("__global__ void k(float* x) {\n  auto f = [&](int i) { x[i] = 1; x[i + 1] = 2; };\n  if (x) { f(1); }\n}\n"),
      "as it is");
  EXPECT_EQ(of("__global__ void k(float*) {}\n"), "__global__ void k(float*) {\n}\n");
  EXPECT_EQ(of("#define TWO x[0] = 1; x[1] = 2\n__global__ void k(float* x) { TWO; }\n"), "as it is")
      << "a macro spells the statements";
}

std::string with_for(const std::string& body) {
  const std::string text = "__global__ void k(float* x, int* at, int n, int s) {\n" + body + "}\n";
  auto source = KernelSource::parse(text, arguments());
  EXPECT_TRUE(source.ok()) << source.error().message;
  auto made = with_for_loops(*source, "k");
  if (!made) return "as it is";
  EXPECT_TRUE(KernelSource::parse(*made, arguments()).ok()) << *made;
  const size_t begin = made->find("\n") + 1;
  return made->substr(begin, made->size() - 2 - begin);
}

TEST(ForLoops, AreWhileLoopsThatStepAtTheirEnd) {
  EXPECT_EQ(with_for("  int i = threadIdx.x;\n  float all = 0;\n  // All of it.\n  while (i < n) {\n    all += x[i];\n"
                     "    i = i + s;\n  }\n  x[0] = all;\n"),
            "  float all = 0;\n  // All of it.\n  for (int i = threadIdx.x; i < n; i += s) {\n    all += x[i];\n  }\n"
            "  x[0] = all;\n");
  EXPECT_EQ(with_for("  if (n > 0) {\n    int j = at[0];\n    while (j < at[1]) {\n      if (x[j] < 0) break;\n"
                     "      x[j] = 1;\n      j++;\n    }\n  }\n"),
            "  if (n > 0) {\n    for (int j = at[0]; j < at[1]; j++) {\n      if (x[j] < 0) break;\n      x[j] = 1;\n"
            "    }\n  }\n");
}

TEST(ForLoops, AreDoLoopsBehindTheirOwnCondition) {
  EXPECT_EQ(
      with_for("  int i = 0;\n  if (i < n) {\n    do {\n      x[i] = 1;\n      i += s;\n    } while (i < n);\n  }\n"),
      "  for (int i = 0; i < n; i += s) {\n    x[i] = 1;\n  }\n");
  EXPECT_EQ(with_for("  int i = 0;\n  do {\n    x[i] = 1;\n    i += s;\n  } while (i < n);\n"), "as it is");
}

TEST(ForLoops, AreNoneWhoseCounterIsUsedOrChangedElsewhere) {
  for (auto* body : {"  int i = 0;\n  while (i < n) {\n    x[i] = 1;\n    i += s;\n  }\n  x[i] = 2;\n",
                     "  int i = 0;\n  x[i] = 3;\n  while (i < n) {\n    x[i] = 1;\n    i += s;\n  }\n",
                     "  int i = 0;\n  while (i < n) {\n    if (x[i] > 0) i += 2;\n    i += s;\n  }\n",
                     "  int i = 0;\n  while (i < n) {\n    if (x[i] > 0) continue;\n    i += s;\n  }\n",
                     "  int i = 0;\n  while (i < n) {\n    int by = at[i];\n    i += by;\n  }\n",
                     "  int i = s;\n  s = 1;\n  while (i < n) {\n    x[i] = 1;\n    i += s;\n  }\n",
                     "  int i = 0;\n  while (n > 0) {\n    x[n] = 1;\n    i += s;\n  }\n"})
    EXPECT_EQ(with_for(body), "as it is") << body;
}

TEST(RuleProposer, TakesWhileLoopsAsForLoops) {
  History history = history_of(
      "__global__ void k(float* y, const float* x, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  for (int t = 0; t < n; ++t) y[i] += x[t];\n  float s = 0;\n  int j = 0;\n  while (j < n) {\n    s += x[j];\n"
      "    ++j;\n  }\n  y[i] = s;\n}\n");
  std::set<std::string> places;
  for (auto& one : RuleProposer(facts(), arguments()).propose(history, 200))
    if (one.candidate.proposer == "rules/unroll") {
      places.insert(one.candidate.steps.at(0).place);
      EXPECT_EQ(one.candidate.source.find("while") == std::string::npos,
                one.candidate.steps[0].place == "the loop over j");
    }
  EXPECT_EQ(places, (std::set<std::string>{"the loop over j", "the loop over t"}));
}

TEST(RuleProposer, SplitsLinesForRulesThatNeedWholeLines) {
  History history = history_of(
      "__global__ void k(float* y, const float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) "
      "y[i] = x[i]; }\n");
  std::map<std::string, std::string> made;
  for (auto& one : RuleProposer(facts(), arguments()).propose(history, 100))
    made.emplace(one.candidate.proposer, one.candidate.source);
  EXPECT_THAT(made["rules/unroll_and_jam"], HasSubstr("  int i["));
  EXPECT_THAT(made["rules/block_coarsening"], HasSubstr("{\n  for (int block_iteration"));
  EXPECT_THAT(made["rules/restrict_pointers"], testing::Not(HasSubstr("{\n"))) << "this rule needs no whole lines";
}

TEST(RuleProposer, ReportsTextThatDoesNotParse) {
  History history = history_of("__global__ void k( {");
  RuleProposer proposer(facts(), arguments());
  EXPECT_TRUE(proposer.propose(history, 1).empty());
  EXPECT_THAT(proposer.take_notes().at(0), HasSubstr("does not parse: line 1"));
}

}  // namespace
}  // namespace kernelift::tuner
