// Finalists that are run at sizes that were not recorded, on this machine's processor, with real compilers.
#include "sandbox/evaluate/runner/sizes/size_runs.h"

#include <gmock/gmock.h>

#include "core/tests/expression_literal.h"
#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/cpu/cpu_runners.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/evaluation_queue.h"
#include "sandbox/evaluate/size_plan.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;

constexpr int kBlock = 128;

LaunchSite site_of(const char* grid, std::vector<std::string> arguments) {
  LaunchSite site;
  site.grid[0] = expression_of(grid), site.grid[1] = "1"_e, site.grid[2] = "1"_e;
  site.block[0] = "B"_e, site.block[1] = "1"_e, site.block[2] = "1"_e;
  site.argument_text = std::move(arguments);
  return site;
}

const std::string kDiff =
    "__global__ void diff(const float* x, float* out, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  const bool last = i == n - 1;\n"
    "  if (last) out[i] = 0.0f; else out[i] = x[i + 1] - x[i];\n"
    "}\n";
const std::string kGuardedHead =
    "__global__ void diff(const float* x, float* out, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n";
const std::string kGuardedDiff = kGuardedHead + "  if (i < n) out[i] = i == n - 1 ? 0.0f : x[i + 1] - x[i];\n}\n";

/// Differences of neighbours, in one allocation as an application would have it: x, then out.
MepFixture diff_mep(const std::string& source, int n = 4096) {
  MepFixture fixture(source, "_Z4diffPKfPfi", "diff(float const*, float*, int)");
  std::vector<float> x(n), before(n, -1), after(n);
  for (int i = 0; i < n; ++i) x[i] = static_cast<float>(i * 7 % 1013) * 0.25f;
  for (int i = 0; i < n; ++i) after[i] = i == n - 1 ? 0.0f : x[i + 1] - x[i];
  MepInstance& instance = fixture.add_instance("a", (n + kBlock - 1) / kBlock, kBlock);
  fixture.add_buffer(instance, "x", "float", kTestArena, x, x, true);
  fixture.add_buffer(instance, "out", "float", kTestArena + n * sizeof(float), before, after);
  fixture.add_argument(instance, n, "n");
  fixture.mep.launches = {site_of("(n + B - 1) / B", {"pool", "pool + n", "n"})};
  return fixture;
}

Candidate with_block(const std::string& source, int block) {
  Candidate candidate;
  candidate.source = source;
  candidate.launches = {CandidateLaunch::as_recorded("diff")};
  candidate.launches[0].grid[0] = *Expression::parse("ceil_div(gx * bx, " + std::to_string(block) + ")");
  candidate.launches[0].block[0] = Expression::constant(block);
  return candidate;
}

/// A runner alone: no comparison for all sizes keeps a candidate from being run.
class SizeRunsTest : public testing::Test {
 protected:
  void start(MepFixture fixture) {
    fixture_.emplace(std::move(fixture));
    RunnerSettings settings;
    settings.race.most_rounds = 4;
    auto runners = cpu_runners(fixture_->mep, fixture_->path(), settings, 1);
    ASSERT_TRUE(runners.ok()) << runners.error().message;
    runners_ = std::move(*runners);
    CompilePoolOptions options;
    options.workers = 1, options.few = true;
    auto baseline = compile_baseline(fixture_->mep, fixture_->path(), options);
    ASSERT_TRUE(baseline.ok()) << baseline.error().message;
    baseline_.emplace(std::move(*baseline));
    Original original;
    original.code.image = baseline_->reply.image;
    original.code.checked = baseline_->pool->compile_checked(baseline_->source, {}, baseline_->reply).image;
    BaselineReport report;
    std::set<std::string> fatal;
    auto process = RunnerProcess::start(*runners_, 0, original, false, fatal, report);
    ASSERT_TRUE(process.ok()) << process.error().message;
    process_ = std::move(*process);
    ASSERT_TRUE(report.judges()) << report.complaint();
  }
  Verdict judge(const Candidate& candidate, const std::optional<Expression>& premise = {}) {
    CompileReply compiled = baseline_->pool->compile(candidate.source, candidate.recipe);
    EXPECT_TRUE(compiled.ok()) << compiled.detail;
    Inquiry inquiry;
    inquiry.confirm = true, inquiry.sizes = plan_sizes(fixture_->mep, {candidate, {}, {}, premise, {}, 7});
    auto evaluation = process_->evaluate(runnable_code(candidate, compiled.image), inquiry);
    return evaluation ? std::get<Verdict>(*evaluation) : Verdict{};
  }

  std::optional<MepFixture> fixture_;
  std::unique_ptr<ForkServer> runners_;
  std::optional<CompiledBaseline> baseline_;
  std::unique_ptr<RunnerProcess> process_;
};

TEST_F(SizeRunsTest, ABlockThatDoesNotDivideIsWrongWhereTheOldOneDoes) {
  start(diff_mep(kDiff));
  Verdict verdict = judge(with_block(kDiff, 1024));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run && verdict.sizes_run->wrong) << verdict.text();
  EXPECT_EQ(verdict.sizes_run->wrong->size.text(), "n = 3968");
  EXPECT_EQ(verdict.buffer, "out");
  EXPECT_GE(verdict.index, 3968u);
  EXPECT_THAT(verdict.text(), HasSubstr("wrong at n = 3968 on instance a: out[3968] expected "));
}

TEST_F(SizeRunsTest, SizesAtWhichTheOriginalRacesAreDroppedAndCounted) {
  start(diff_mep(kDiff));
  // Where blocks are not full, the last thread reads what the first one writes to `out`.
  Verdict verdict = judge(with_block(kDiff, kBlock));
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run);
  const SizesRun& run = *verdict.sizes_run;
  EXPECT_THAT(run.text(), HasSubstr("left out (n = "));
  EXPECT_GT(run.right.size(), 1u) << run.text();
  EXPECT_THAT(run.text(), HasSubstr("4095): the original races there"));
}

TEST_F(SizeRunsTest, ARightCandidateWithAnotherBlockIsRightAtAllSizes) {
  start(diff_mep(kGuardedDiff));
  Verdict verdict = judge(with_block(kGuardedDiff, 1024));
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run);
  EXPECT_EQ(verdict.sizes_run->dropped.size(), 0u) << verdict.sizes_run->text();
  EXPECT_EQ(verdict.sizes_run->right.size(), 12u) << verdict.sizes_run->text();
  EXPECT_EQ(verdict.sizes_run->unshown.size(), 3u);
}

TEST_F(SizeRunsTest, ATailThatIsDroppedIsFound) {
  start(diff_mep(kGuardedDiff));
  // Four elements for each thread, and none of the last that are fewer.
  Candidate candidate;
  candidate.source = kGuardedHead +
                     "  for (int j = 4 * i; j + 3 < n; j += n + 4)\n"
                     "    for (int k = j; k < j + 4; ++k) out[k] = k == n - 1 ? 0.0f : x[k + 1] - x[k];\n}\n";
  Verdict verdict = judge(candidate);
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run && verdict.sizes_run->wrong) << verdict.text();
  EXPECT_EQ(verdict.sizes_run->wrong->size.text(), "n = 4095");
}

TEST_F(SizeRunsTest, WhatIsOnlyWrongAboveTheRecordedSizeIsFoundInLargerMemory) {
  start(diff_mep(kGuardedDiff));
  Candidate candidate;
  candidate.source = kGuardedHead + "  if (i < n && i < 4100) out[i] = i == n - 1 ? 0.0f : x[i + 1] - x[i];\n}\n";
  Verdict verdict = judge(candidate);
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run && verdict.sizes_run->wrong) << verdict.text();
  EXPECT_EQ(verdict.sizes_run->wrong->size.text(), "n = 4224");
  EXPECT_EQ(verdict.index, 4100u);
}

const std::string kTwoSums =
    "__global__ void sums(const float* x, float* a, float* b, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i >= n) return;\n"
    "  a[i] = 0;\n  b[i] = 0;\n"
    "  for (int k = 0; k < 64; ++k) a[i] += x[i] * k, b[i] += x[i] - k;\n}\n";

/// `a` and `b` lie in one allocation, `n` elements apart.
MepFixture two_sums_mep(int n = 4096) {
  MepFixture fixture(kTwoSums, "_Z4sumsPKfPfS1_i", "sums(float const*, float*, float*, int)");
  std::vector<float> x(n), before(2 * n, -1), after(2 * n, 0);
  for (int i = 0; i < n; ++i) x[i] = static_cast<float>(i * 7 % 101);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 64; ++k) after[i] += x[i] * k, after[n + i] += x[i] - k;
  MepInstance& instance = fixture.add_instance("a", n / kBlock, kBlock);
  fixture.add_buffer(instance, "x", "float", kTestArena, x, x, true);
  const uint64_t pool = kTestArena + (uint64_t(64) << 20);
  fixture.add_buffer(instance, "a", "float", pool, before, after);
  fixture.add_argument(instance, pool + n * sizeof(float));
  fixture.mep.parameters.push_back({"b", "float*", "float", false, {}});
  fixture.add_argument(instance, n, "n");
  fixture.mep.launches = {site_of("(n + B - 1) / B", {"x", "pool", "pool + n", "n"})};
  return fixture;
}

TEST_F(SizeRunsTest, ArraysOfOneAllocationDoNotRunIntoEachOtherAtLargerSizes) {
  start(two_sums_mep());
  Candidate candidate;
  candidate.source =
      "__global__ void sums(const float* x, float* a, float* b, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i >= n) return;\n"
      "  float s = 0, t = 0;\n"
      "  for (int k = 0; k < 64; ++k) s += x[i] * k, t += x[i] - k;\n"
      "  a[i] = s;\n  b[i] = t;\n}\n";
  Verdict verdict = judge(candidate);
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run);
  EXPECT_THAT(verdict.sizes_run->text(), HasSubstr("4097"));
  EXPECT_TRUE(verdict.sizes_run->dropped.empty()) << verdict.sizes_run->text();
  candidate.source.replace(candidate.source.find("b[i] = t"), 8, "b[i] = i > 4100 ? 0 : t");
  verdict = judge(candidate);
  EXPECT_EQ(verdict.outcome, Outcome::Wrong);
  ASSERT_TRUE(verdict.sizes_run && verdict.sizes_run->wrong) << verdict.text();
  EXPECT_EQ(verdict.sizes_run->wrong->size.text(), "n = 4224");
}

TEST_F(SizeRunsTest, AGuardThatIsLostIsFound) {
  start(diff_mep(kGuardedDiff));
  Candidate candidate;
  candidate.source = kDiff;
  Verdict verdict = judge(candidate);
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run && verdict.sizes_run->wrong) << verdict.text();
}

TEST_F(SizeRunsTest, WhatThePremiseKeepsFromACandidateIsNotHeldAgainstIt) {
  start(diff_mep(kDiff));
  Verdict verdict = judge(with_block(kDiff, 1024), "arg.a2 % 1024 == 0"_e);
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run);
  EXPECT_GT(verdict.sizes_run->beyond_premise, 5u);
  EXPECT_EQ(to_text(verdict.sizes_run->right), "n = 3072");
}

TEST_F(SizeRunsTest, AProposerIsNotToldWhichDrawnSizeIsWrong) {
  start(diff_mep(kGuardedDiff));
  // Right at all sizes that are shown.
  std::string right;
  const Candidate recorded = with_block(kGuardedDiff, kBlock);
  for (auto& sized : plan_sizes(fixture_->mep, {recorded, {}, {}, {}, {}, 7}).launches)
    if (sized.shown) right += " || n == " + std::to_string(sized.values.at(2));
  Candidate candidate;
  candidate.source = kGuardedHead + "  const bool known = n == 4096" + right +
                     ";\n  if (i < n) out[i] = i == n - 1 ? (known ? 0.0f : 2.0f) : x[i + 1] - x[i];\n}\n";
  Verdict verdict = judge(candidate);
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run && verdict.sizes_run->wrong) << verdict.text();
  EXPECT_FALSE(verdict.sizes_run->wrong->shown);
  EXPECT_EQ(verdict.text(), "wrong at verify on instance a: at a size that is not shown");
  EXPECT_THAT(verdict.sizes_run->text(), HasSubstr("wrong at n = "));
  EXPECT_THAT(verdict.sizes_run->text(), HasSubstr("expected 0, got 2"));
}

TEST_F(SizeRunsTest, AnOriginalThatLeavesItsMemoryAtASizeIsNoReferenceThere) {
  // With one element the original writes in front of `out`.
  start(diff_mep(kGuardedHead + "  if (n == 1) out[-20000000] = 1.0f;\n" + kGuardedDiff.substr(kGuardedHead.size())));
  Candidate candidate;
  candidate.source = kGuardedDiff;
  Verdict verdict = judge(candidate);
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  ASSERT_EQ(verdict.sizes_run->dropped.size(), 1u) << verdict.sizes_run->text();
  EXPECT_EQ(verdict.sizes_run->dropped[0].size.text(), "n = 1");
  EXPECT_THAT(verdict.sizes_run->dropped[0].why, ::testing::StartsWith("the original "));
}

/// Four elements at once, which asks for pointers that are multiples of 16 bytes.
const std::string kFours =
    kGuardedHead +
    "  if (4 * i + 4 < n) {\n"
    "    float4 a = ((const float4*)x)[i];\n"
    "    float next = x[4 * i + 4];\n"
    "    ((float4*)out)[i] = make_float4(a.y - a.x, a.z - a.y, a.w - a.z, next - a.w);\n"
    "  } else {\n"
    "    for (int k = 4 * i; k < n && k < 4 * i + 4; ++k) out[k] = k == n - 1 ? 0.0f : x[k + 1] - x[k];\n"
    "  }\n}\n";

TEST(SizesOfFinalists, WideAccessesAskForPointersThatAreAligned) {
  MepFixture fixture = diff_mep(kGuardedDiff);
  EvaluatorOptions options;
  options.most_rounds = 4, options.compile_workers = 1, options.few_candidates = true;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  auto confirmed = [&](const Candidate& candidate) { return std::get<Verdict>((*evaluator)->confirm(candidate)); };
  auto expect_asked = [](const Verdict& verdict) {
    EXPECT_TRUE(verdict.ok()) << verdict.text();
    ASSERT_TRUE(verdict.sizes_run);
    EXPECT_EQ(verdict.sizes_run->beyond_premise, 1u);
    EXPECT_THAT(verdict.sizes_run->text(), HasSubstr("; 1 size left out: its premise does not hold there"));
  };
  Candidate candidate;
  candidate.source = kFours;
  const Verdict proven = confirmed(candidate);
  expect_asked(proven);
  EXPECT_THAT(proven.other_sizes->assumed(), HasSubstr("is a multiple of 16 bytes"));
  // Where nothing is proven, the candidate has to name it.
  candidate.source.insert(kGuardedHead.size(), "  if (i < n && x[(i * i) % n] == 12345.5f) return;\n");
  const std::string moved = " at n = 4095, pointers one element further on instance a: ";
  const Verdict unknown = confirmed(candidate);
  EXPECT_THAT(unknown.text(), HasSubstr(moved));
  EXPECT_TRUE(unknown.timings.empty());
  candidate.steps.resize(1);
  candidate.steps[0].premises = {Premise::aligned("x", 16)};
  EXPECT_THAT(confirmed(candidate).text(), HasSubstr(moved)) << "out moves as well";
  candidate.steps[0].premises.push_back(Premise::aligned("out", 16));
  expect_asked(confirmed(candidate));
}

TEST(SizesOfFinalists, CheckModeLooksAtOtherSizesToo) {
  // What another thread writes does not change its results, so that only check mode sees that it is read.
  MepFixture fixture = diff_mep(kGuardedDiff);
  EvaluatorOptions options;
  options.most_rounds = 4, options.compile_workers = 1, options.few_candidates = true;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  Candidate candidate;
  candidate.source = kGuardedHead + "  if (n == 31 && i == 0 && out[1] == 12345.0f) return;\n" +
                     kGuardedDiff.substr(kGuardedHead.size());
  Evaluation confirmed = (*evaluator)->confirm(candidate);
  const Verdict& verdict = std::get<Verdict>(confirmed);
  EXPECT_EQ(verdict.outcome, Outcome::Unstable)
      << verdict.text() << "; " << verdict.detail << "; " << (verdict.sizes_run ? verdict.sizes_run->text() : "");
  EXPECT_THAT(verdict.text(), HasSubstr("unstable at n = 31 on instance a: race: "));
}

TEST(SizesOfFinalists, WhatIsWrongInABranchThatNoRecordedLaunchTakesIsFound) {
  const std::string head =
      "__global__ void diff(const float* x, float* out, int n, int mode, float p) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i >= n) return;\n"
      "  float v = i == n - 1 ? 0.0f : x[i + 1] - x[i];\n";
  const std::string turn = "  if (mode == 2) v = -v;\n", add = "  if (p > 0.25f) v += 1;\n", end = "  out[i] = v;\n}\n";
  MepFixture fixture = diff_mep(head + turn + add + end);
  fixture.mep.kernel_mangled = "_Z4diffPKfPfiif", fixture.mep.kernel_name = "diff";
  auto& instance = fixture.mep.instances[0];
  fixture.add_argument(instance, 0, "mode"), fixture.add_argument(instance, 0.0f, "p");
  fixture.mep.parameters[4].scalar = "float";
  fixture.mep.launches[0].argument_text = {"pool", "pool + n", "n", "mode", "p"};
  EvaluatorOptions options;
  options.most_rounds = 4, options.compile_workers = 1, options.few_candidates = true;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  auto confirmed = [&](const std::string& middle) {
    Candidate candidate;
    candidate.source = head + middle + end;
    return std::get<Verdict>((*evaluator)->confirm(candidate));
  };
  EXPECT_THAT(confirmed(add).text(), HasSubstr("wrong at mode = 2 on instance a"));
  EXPECT_THAT(confirmed(turn).text(), HasSubstr("wrong at p = 0.75 on instance a"));
  const Verdict same = confirmed("  if (p > 0.25f) v = 1 + (mode == 2 ? -v : v); else if (mode == 2) v = -v;\n");
  EXPECT_TRUE(same.ok()) << same.text();
  ASSERT_TRUE(same.sizes_run);
  EXPECT_THAT(same.sizes_run->text(), HasSubstr("mode = 2"));
  EXPECT_THAT(same.sizes_run->text(), HasSubstr("p = 0.5"));
}

TEST(SizesOfFinalists, AConfirmationRunsThemAndAScreeningDoesNot) {
  MepFixture fixture = diff_mep(kGuardedDiff);
  EvaluatorOptions options;
  options.most_rounds = 4, options.compile_workers = 1, options.few_candidates = true;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  const Candidate candidate = with_block(kGuardedDiff, 256);
  Evaluation screened = (*evaluator)->submit(candidate).get(), confirmed = (*evaluator)->confirm(candidate);
  EXPECT_FALSE(std::get<Verdict>(screened).sizes_run);
  ASSERT_TRUE(std::get<Verdict>(confirmed).sizes_run) << std::get<Verdict>(confirmed).text();
  EXPECT_THAT(std::get<Verdict>(confirmed).sizes_run->text(),
              HasSubstr("right at 12 other sizes (n = 1, 31, 33, 3840, 3968, 4089, 4095, 4097, 4224, 4353, 8193; n = "
                        "4095, pointers one element further)"));
  // Of a launch whose blocks are not known no size can be run, and nothing proves this text for any number of them.
  MepFixture unknown = diff_mep(kDiff);
  unknown.mep.launches = {site_of("blocks", {"pool", "pool + n", "n"})};
  auto other = make_evaluator(unknown.mep, unknown.path(), options);
  ASSERT_TRUE(other.ok()) << other.error().message;
  Evaluation refused = (*other)->confirm(with_block(kDiff + "// for other blocks\n", 256));
  EXPECT_FALSE(std::get<Verdict>(refused).ok()) << std::get<Verdict>(refused).text();
  Candidate same;
  same.source = kDiff + "// as it is launched\n";
  EXPECT_TRUE(std::get<Verdict>((*other)->confirm(same)).ok());
  fixture.mep.launches.clear();
  evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  confirmed = (*evaluator)->confirm(candidate);
  ASSERT_TRUE(std::get<Verdict>(confirmed).sizes_run);
  const std::string text = std::get<Verdict>(confirmed).sizes_run->text();
  EXPECT_THAT(text, HasSubstr("4089, 4095;")) << "no larger one: its grid would not come to all of it";
  EXPECT_THAT(
      text,
      HasSubstr("the application's launch sites are not known, so other sizes were run with the recorded number"));
}

}  // namespace
}  // namespace kernelift::sandbox
