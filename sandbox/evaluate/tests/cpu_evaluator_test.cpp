// Candidates of every kind through the real thing: compiled by real workers, run in real children.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "core/compiler/tests/warm_front_end.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

[[maybe_unused]] auto* const warm = testing::AddGlobalTestEnvironment(new WarmFrontEnd(WarmFrontEnd::Place::FirstSlot));

/// One evaluator for all tests of this file: that it survives them in a row is part of the claim.
class CpuEvaluatorTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fixture_ = new MepFixture(scale_mep());
    EvaluatorOptions options;
    options.launch_limit = std::chrono::milliseconds(1500);
    options.few_candidates = true;
    auto made = make_evaluator(fixture_->mep, fixture_->path(), options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    evaluator_ = made->release();
  }
  static void TearDownTestSuite() {
    delete evaluator_;
    delete fixture_;
  }
  static Candidate body(const std::string& statements, const std::string& before = "") {
    Candidate candidate;
    candidate.source = "__constant__ float bias;\n" + before +
                       "__global__ void scale(const float* in, float* out, int n, float factor) {\n"
                       "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
                       statements + "}\n";
    candidate.tier = "source";
    return candidate;
  }
  static Verdict evaluate(Candidate candidate) {
    return std::get<Verdict>(evaluator_->submit(std::move(candidate)).get());
  }
  static constexpr const char* kRight = "  if (i < n) out[i] = in[i] * factor + bias;\n";

  static MepFixture* fixture_;
  static Evaluator* evaluator_;
};
MepFixture* CpuEvaluatorTest::fixture_ = nullptr;
Evaluator* CpuEvaluatorTest::evaluator_ = nullptr;

TEST_F(CpuEvaluatorTest, AcceptsTheOriginalAsItself) {
  Candidate candidate;
  candidate.source = kScaleSource;
  Verdict verdict = evaluate(candidate);
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_EQ(verdict.speedup(), 1);
  EXPECT_TRUE(verdict.device.starts_with("cpu: ")) << verdict.device;
}

TEST_F(CpuEvaluatorTest, NotesHowFarWhatIsRightLiesFromTheRecordedAnswers) {
  Verdict exact = evaluate(body("  if (i < n) out[i] = (in[i] * factor + bias) * (n < 0 ? 2.0f : 1.0f);\n"));
  Verdict off = evaluate(body("  if (i < n) out[i] = (in[i] * factor + bias) * 1.0000005f;\n"));
  ASSERT_TRUE(exact.ok() && off.ok()) << exact.text() << "; " << off.text();
  ASSERT_TRUE(exact.largest_ulps && off.largest_ulps);
  EXPECT_GE(*off.largest_ulps, *exact.largest_ulps + 3);
}

TEST_F(CpuEvaluatorTest, VerifiesWithoutTimingAnything) {
  auto verify = [](const Candidate& candidate) { return std::get<Verdict>(evaluator_->verify(candidate)); };
  Verdict right = verify(body("  if (i < n) out[i] = in[i] * factor + bias + 0.0f * (float)(i & 3);\n"));
  EXPECT_TRUE(right.ok()) << right.text();
  EXPECT_EQ(right.stage, Stage::Verify);
  EXPECT_TRUE(right.timings.empty());
  EXPECT_TRUE(right.device.starts_with("cpu: ")) << right.device;
  Verdict wrong = verify(body("  if (i < n) out[i] = i == 7 ? 0 : in[i] * factor + bias;\n"));
  EXPECT_EQ(wrong.outcome, Outcome::Wrong);
  EXPECT_EQ(wrong.index, 7u);
  EXPECT_EQ(verify(body("  out[i] = inn[i];\n")).outcome, Outcome::CompileFailed);
}

TEST_F(CpuEvaluatorTest, MeasuresAnEquivalentCandidateOnTuningInstancesOnly) {
  Verdict verdict =
      evaluate(body("  if (i < n) { float x = in[i]; out[i] = x * factor + bias + 0.0f * (float)(i & 1); }\n"));
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  ASSERT_EQ(verdict.timings.size(), 1u);
  EXPECT_EQ(verdict.timings[0].instance, "a");
  EXPECT_GT(verdict.timings[0].seconds, 0);
  EXPECT_GE(verdict.timings[0].samples, 2) << "how many, the machine decides: a race that looks lost ends early";
}

TEST_F(CpuEvaluatorTest, NamesTheWrongElementAndBothValues) {
  Verdict verdict = evaluate(body("  if (i < n) out[i] = in[i] * factor + bias + (i == 7 ? 1.0f : 0.0f);\n"));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_EQ(verdict.stage, Stage::Verify);
  EXPECT_EQ(verdict.buffer, "out");
  EXPECT_EQ(verdict.index, 7u);
  EXPECT_NE(verdict.expected, verdict.got);
}

TEST_F(CpuEvaluatorTest, CatchesACandidateThatWritesNothing) {
  EXPECT_EQ(evaluate(body("  (void)i;\n")).outcome, Outcome::Wrong);
}

TEST_F(CpuEvaluatorTest, CatchesACandidateThatIsRightOnTheTuningInstanceOnly) {
  Verdict verdict = evaluate(body("  if (i < n) out[i] = in[i] * 3.0f + bias;\n"));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_EQ(verdict.instance, "b");
}

TEST_F(CpuEvaluatorTest, CatchesAWriteToAnInput) {
  Verdict verdict = evaluate(body(std::string(kRight) + "  if (i == 3) const_cast<float*>(in)[i] += 1.0f;\n"));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_EQ(verdict.buffer, "in");
}

TEST_F(CpuEvaluatorTest, CatchesAWriteJustPastABuffer) {
  Verdict verdict = evaluate(body(std::string(kRight) + "  if (i == 0) out[n] = 1.0f;\n"));
  EXPECT_EQ(verdict.outcome, Outcome::WroteOutside) << verdict.text();
  EXPECT_NE(verdict.detail.find("after the end of out"), std::string::npos) << verdict.detail;
}

TEST_F(CpuEvaluatorTest, CatchesAWriteIntoTheGuardPages) {
  Verdict verdict = evaluate(body(std::string(kRight) + "  if (i == 0) out[n + 4096] = 1.0f;\n"));
  EXPECT_EQ(verdict.outcome, Outcome::WroteOutside) << verdict.text();
}

TEST_F(CpuEvaluatorTest, TurnsAWildPointerIntoAVerdict) {
  Verdict verdict = evaluate(body(std::string(kRight) + "  if (i == 0) *(volatile int*)0x10 = 1;\n"));
  EXPECT_EQ(verdict.outcome, Outcome::Crashed) << verdict.text();
  EXPECT_EQ(verdict.stage, Stage::Verify);
}

TEST_F(CpuEvaluatorTest, EndsAnEndlessLoop) {
  Verdict verdict = evaluate(body(std::string(kRight) + "  volatile int x = 1; while (x) { }\n"));
  EXPECT_EQ(verdict.outcome, Outcome::TimedOut) << verdict.text();
}

TEST_F(CpuEvaluatorTest, SurvivesInfiniteRecursion) {
  Verdict verdict = evaluate(body("  if (i < n) out[i] = deep(in[i], n) * 0.0f + in[i] * factor + bias;\n",
                                  "__device__ __noinline__ float deep(float x, int n) {\n"
                                  "  volatile float local[64]; local[n & 63] = x;\n"
                                  "  return n > -1000000000 ? deep(x + local[0], n) + local[n & 63] : x;\n}\n"));
  EXPECT_EQ(verdict.outcome, Outcome::Crashed) << verdict.text();
}

TEST_F(CpuEvaluatorTest, RefusesHostCodeByItsRule) {
  Verdict verdict = evaluate(body(kRight, "int helper() { return 1; }\n"));
  EXPECT_EQ(verdict.outcome, Outcome::Refused) << verdict.text();
  EXPECT_EQ(verdict.stage, Stage::Admit);
  EXPECT_TRUE(verdict.detail.starts_with("host-function")) << verdict.detail;
}

TEST_F(CpuEvaluatorTest, RefusesToReadOtherFiles) {
  Verdict verdict = evaluate(body(kRight, "#include \"/etc/passwd\"\n"));
  EXPECT_EQ(verdict.outcome, Outcome::Refused) << verdict.text();
  EXPECT_TRUE(verdict.detail.starts_with("include")) << verdict.detail;
}

TEST_F(CpuEvaluatorTest, ReturnsTheCompilersDiagnostics) {
  Verdict verdict = evaluate(body("  out[i] = undeclared;\n"));
  EXPECT_EQ(verdict.outcome, Outcome::CompileFailed) << verdict.text();
  EXPECT_NE(verdict.detail.find("undeclared"), std::string::npos);
}

TEST_F(CpuEvaluatorTest, BlamesThePassThatCrashes) {
  Candidate candidate;
  candidate.source = kScaleSource;
  candidate.recipe.passes = "function(sroa,trigger-crash-function)";
  Verdict verdict = evaluate(candidate);
  EXPECT_EQ(verdict.outcome, Outcome::CompileCrashed) << verdict.text();
  EXPECT_NE(verdict.detail.find("trigger-crash-function"), std::string::npos) << verdict.detail;
  EXPECT_NE(evaluate(candidate).detail.find("remembered"), std::string::npos);
}

TEST_F(CpuEvaluatorTest, RefusesAnUnknownPassOrOptionByName) {
  Candidate candidate;
  candidate.source = kScaleSource;
  candidate.recipe.passes = "function(no-such-pass)";
  Verdict verdict = evaluate(candidate);
  EXPECT_EQ(verdict.outcome, Outcome::Refused);
  EXPECT_NE(verdict.detail.find("no-such-pass"), std::string::npos) << verdict.detail;
  candidate.recipe = {};
  candidate.recipe.options = {"-no-such-option"};
  EXPECT_NE(evaluate(candidate).detail.find("-no-such-option"), std::string::npos);
}

TEST_F(CpuEvaluatorTest, RunsCompilerRecipes) {
  Recipe recipes[5];
  recipes[0].level = "O1";
  recipes[1].vectorize = false;
  recipes[2].fast_math = {"contract", "reassoc"};
  recipes[3].passes = "function(sroa,early-cse,gvn,instcombine)";
  recipes[4].unroll_threshold = 500;
  for (auto& recipe : recipes) {
    Candidate candidate;
    candidate.source = kScaleSource;
    candidate.recipe = recipe;
    Verdict verdict = evaluate(candidate);
    EXPECT_TRUE(verdict.ok()) << recipe.text() << ": " << verdict.text();
  }
}

TEST_F(CpuEvaluatorTest, LaunchesWithAGeometryOfItsOwn) {
  Candidate candidate = body("  for (; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] * factor + bias;\n");
  candidate.launches = {CandidateLaunch::as_recorded("scale")};
  candidate.launches[0].grid[0] = *Expression::parse("ceil_div(gx, COARSE)");
  candidate.values["COARSE"] = 4;
  EXPECT_TRUE(evaluate(candidate).ok()) << evaluate(candidate).text();
  candidate.launches[0].grid[0] = *Expression::parse("gx - 1000000");
  EXPECT_EQ(evaluate(candidate).outcome, Outcome::LaunchFailed);
  candidate.launches[0].grid[0] = *Expression::parse("gx");
  candidate.launches[0].block[0] = *Expression::parse("4096");
  Verdict verdict = evaluate(candidate);
  EXPECT_EQ(verdict.outcome, Outcome::OverResources) << verdict.text();
  EXPECT_NE(verdict.detail.find("4096, limit 1024"), std::string::npos) << verdict.detail;
  EXPECT_EQ(verdict.stage, Stage::Launch);
}

TEST_F(CpuEvaluatorTest, RunsSeveralLaunchesWithScratch) {
  Candidate candidate;
  candidate.source =
      "__constant__ float bias;\n"
      "__global__ void first(const float* in, float* out, int n, float factor, float* scratch) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) scratch[i] += in[i] * factor;\n}\n"
      "__global__ void second(const float* in, float* out, int n, float factor, float* scratch) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = scratch[i] + bias;\n}\n";
  candidate.launches = {CandidateLaunch::as_recorded("first"), CandidateLaunch::as_recorded("second")};
  candidate.scratch = {{*Expression::parse("gx * bx * 4"), true}};
  Verdict verdict = evaluate(candidate);
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  candidate.scratch[0].zeroed = false;
  EXPECT_EQ(evaluate(candidate).outcome, Outcome::Wrong) << "a second run finds the first one's sums";
}

TEST_F(CpuEvaluatorTest, CallsAChangedSignatureALaunchFailure) {
  Candidate candidate;
  candidate.source =
      "__constant__ float bias;\n__global__ void scale(const float* in, float* out, long n, float factor) {}\n";
  candidate.launches = {CandidateLaunch::as_recorded("scale")};
  Verdict verdict = evaluate(candidate);
  EXPECT_EQ(verdict.outcome, Outcome::LaunchFailed) << verdict.text();
  EXPECT_EQ(verdict.stage, Stage::Load);
}

TEST_F(CpuEvaluatorTest, ConfirmsInAFreshProcessOnEveryInstance) {
  Verdict verdict = std::get<Verdict>(evaluator_->confirm(body("  if (i < n) out[i] = bias + factor * in[i];\n")));
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_EQ(verdict.timings.size(), 2u);
}

TEST_F(CpuEvaluatorTest, IsStillWellAfterAllThat) {
  EXPECT_TRUE(evaluate(body("  if (i < n) out[i] = in[i] * factor + bias;\n")).ok());
}

EvaluatorOptions quickly() {
  EvaluatorOptions options;
  options.few_candidates = true;
  return options;
}

TEST(CpuEvaluator, RefusesToTuneAnOriginalThatDoesNotReproduceItsCapture) {
  MepFixture fixture = scale_mep();
  fixture.set_source(
      "__constant__ float bias;\n__global__ void scale(const float* in, float* out, int n, float factor) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = in[i];\n}\n");
  auto made = make_evaluator(fixture.mep, fixture.path(), quickly());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().exit, Exit::No);
  EXPECT_NE(made.error().message.find("out"), std::string::npos) << made.error().message;
}

TEST(CpuEvaluator, SaysWhatIsWrongWithAnUncompilableOriginal) {
  MepFixture fixture = scale_mep();
  fixture.set_source("this is not a kernel\n");
  auto made = make_evaluator(fixture.mep, fixture.path(), quickly());
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("kernel.cu"), std::string::npos) << made.error().message;
}

TEST(CpuEvaluator, AsksForNoMoreTimeWhereDataIsMissing) {
  MepFixture fixture = scale_mep();
  std::filesystem::remove(fixture.path() / "data" / fixture.mep.instances.at(0).regions.at(0).before);
  EvaluatorOptions options = quickly();
  options.deadline = std::chrono::steady_clock::now();
  auto made = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().exit, Exit::Environment);
  EXPECT_EQ(made.error().message.find("--time"), std::string::npos) << made.error().message;
}

TEST(CpuEvaluator, SaysWhatTheTimeWentToThatWasOverAtTheBeginning) {
  MepFixture fixture = scale_mep();
  EvaluatorOptions options = quickly();
  options.deadline = std::chrono::steady_clock::now();
  auto made = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().exit, Exit::No);
  // What took less than a tenth of a second is not told.
  EXPECT_TRUE(made.error().message.find("had been measured (compiling it ") != std::string::npos ||
              made.error().message.find("had been measured, so nothing") != std::string::npos)
      << made.error().message;
}

TEST(CpuEvaluator, AnswersEverySubmissionEvenWhenItIsClosed) {
  MepFixture fixture = scale_mep();
  std::vector<std::future<Evaluation>> futures;
  {
    auto made = make_evaluator(fixture.mep, fixture.path(), quickly());
    ASSERT_TRUE(made.ok()) << made.error().message;
    for (int i = 0; i < 6; ++i) {
      Candidate candidate;
      candidate.source = std::string(kScaleSource) + "// " + std::to_string(i) + "\n";
      futures.push_back((*made)->submit(candidate));
    }
  }
  for (auto& future : futures) EXPECT_TRUE(std::get<Verdict>(future.get()).ok());
}

TEST(CpuEvaluator, KnowsThatLargeBuffersTakeLongToConfirmHoweverShortTheLaunch) {
  MepFixture fixture(kScaleSource, "_Z5scalePKfPfif", "scale(float const*, float*, int, float)");
  MepInstance& instance = fixture.add_instance("a", 8, 128);
  std::vector<float> in(4 << 20, 1.5f), before(in.size(), -1.0f), after = before;
  std::fill_n(after.begin(), 1000, 1.5f * 3 + 2);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), before, after);
  fixture.add_argument(instance, 1000, "n");
  fixture.add_argument(instance, 3.0f, "factor");
  fixture.add_variable<float>(instance, "bias", "bias", "float", true, {2.0f}, {2.0f});
  auto made = make_evaluator(fixture.mep, fixture.path(), quickly());
  ASSERT_TRUE(made.ok()) << made.error().message;
  // A launch takes microseconds; 32 MiB are restored, perturbed, poisoned and compared dozens of times.
  EXPECT_GT((*made)->confirm_cost().each, 0.05);
  Candidate same;
  same.source = std::string(kScaleSource) + "\n";
  EXPECT_TRUE(std::get<Verdict>((*made)->confirm(same)).ok());
  EXPECT_EQ((*made)->confirm_cost().first, 0) << "perturbed inputs that take less than two seconds are made at once";
}

/// Processes whose parent is `parent`.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  for (pid_t child; list >> child;) found.push_back(child);
  return found;
}

std::string name_of(pid_t process) {
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm") >> std::ws, name);
  return name;
}

/// The fork servers; those in a process namespace are children of a process that waits for them.
std::vector<pid_t> fork_servers() {
  std::vector<pid_t> found;
  for (pid_t child : children_of(getpid()))
    if (name_of(child) == "kl-waiting") std::ranges::copy(children_of(child), std::back_inserter(found));
    else found.push_back(child);
  return found;
}

/// The runner that has a candidate's process just now; 0: none.
pid_t busy_runner() {
  for (pid_t fork_server : fork_servers())
    for (pid_t runner : children_of(fork_server))
      if (name_of(runner) == "kl-runner" && !children_of(runner).empty()) return runner;
  return 0;
}

/// Right, and tried for long enough to be met at it.
Candidate slow() {
  Candidate candidate;
  candidate.source = std::string(kScaleSource);
  candidate.source.insert(
      candidate.source.rfind("  if (i < n)"),
      "  float x = factor;\n  for (int k = 0; k < 2000; ++k) x = x * 0.5f + 0.25f;\n  if (x < 0) return;\n");
  return candidate;
}

/// Of a candidate that loses its runner while it is tried.
Evaluation after_the_runners_end(Evaluator& evaluator, const std::function<void()>& before = [] {}) {
  auto verdict = evaluator.submit(slow());
  pid_t runner = 0;
  while (runner == 0 && verdict.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
    runner = busy_runner();
  before();
  if (runner != 0) kill(runner, SIGKILL);
  return verdict.get();
}

TEST(CpuEvaluator, DoesNotBlameACandidateForTheEndOfItsRunner) {
  MepFixture fixture = scale_mep();
  auto made = make_evaluator(fixture.mep, fixture.path(), quickly());
  ASSERT_TRUE(made.ok()) << made.error().message;
  Verdict answer = std::get<Verdict>(after_the_runners_end(**made));
  EXPECT_TRUE(answer.ok()) << answer.text();
}

TEST(CpuEvaluator, JudgesNothingWhereTheOriginalCannotBeMeasuredAgain) {
  MepFixture fixture = scale_mep();
  EvaluatorOptions options = quickly();
  options.share_measurements = false;
  auto made = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  auto data = fixture.path() / "data", away = fixture.path() / "away";
  Evaluation none = after_the_runners_end(**made, [&] { std::filesystem::rename(data, away); });
  EXPECT_TRUE(std::holds_alternative<NotJudged>(none)) << std::get<Verdict>(none).text();
  std::filesystem::rename(away, data);
  Verdict answer = std::get<Verdict>((*made)->submit(slow()).get());
  EXPECT_TRUE(answer.ok()) << answer.text();
}

TEST(CpuEvaluator, FindsAWrongAnswerInABufferWithoutAName) {
  MepFixture fixture = scale_mep();
  fixture.mep.parameters[1].name = "";
  for (auto& instance : fixture.mep.instances) instance.regions[1].reached_from = {};
  auto made = make_evaluator(fixture.mep, fixture.path(), quickly());
  ASSERT_TRUE(made.ok()) << made.error().message;
  Candidate candidate;
  candidate.source =
      "__constant__ float bias;\n__global__ void scale(const float* in, float* out, int n, float factor) {\n  out[0] = "
      "in[0] * factor + bias;\n}\n";
  Verdict verdict = std::get<Verdict>((*made)->submit(candidate).get());
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
}

TEST(CpuEvaluator, RefusesAMepWithNothingToTuneOn) {
  MepFixture fixture = scale_mep();
  for (auto& instance : fixture.mep.instances) instance.held_out = true;
  auto made = make_evaluator(fixture.mep, fixture.path(), quickly());
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("held out"), std::string::npos) << made.error().message;
}

TEST(CpuEvaluator, AnswersWhatIsAbandonedAndGoesOn) {
  MepFixture fixture = scale_mep();
  auto made = make_evaluator(fixture.mep, fixture.path(), quickly());
  ASSERT_TRUE(made.ok()) << made.error().message;
  std::vector<std::future<Evaluation>> futures;
  Candidate candidate;
  for (int i = 0; i < 12; ++i) {
    candidate.source = std::string(kScaleSource) + "// " + std::to_string(i) + "\n";
    futures.push_back((*made)->submit(candidate));
  }
  (*made)->abandon();
  size_t abandoned = 0;
  for (auto& future : futures) abandoned += std::holds_alternative<NotJudged>(future.get());
  // Those that were being compiled or measured may have ended as usual; the rest never began.
  EXPECT_GE(abandoned, 6u);
  EXPECT_TRUE(std::get<Verdict>((*made)->submit(candidate).get()).ok());
}

TEST(CpuEvaluator, LaunchesAKernelThatWaitsForTheWholeGridAsCooperative) {
  const std::string source =
      "#include <cooperative_groups.h>\n"
      "__global__ void reverse(const int* in, int* middle, int* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) middle[i] = in[i] + 1;\n"
      "  cooperative_groups::this_grid().sync();\n"
      "  if (i < n) out[i] = middle[n - 1 - i];\n}\n";
  MepFixture fixture(source, "_Z7reversePKiPiS1_i", "reverse(int const*, int*, int*, int)");
  std::vector<int> in(256), middle(256), out(256), empty(256, -1);
  for (int i = 0; i < 256; ++i) in[i] = i, middle[i] = i + 1, out[i] = 256 - i;
  MepInstance& instance = fixture.add_instance("a", 4, 64);
  instance.geometry.cooperative = true;
  fixture.add_buffer(instance, "in", "int", kTestArena, in, in, true);
  fixture.add_buffer(instance, "middle", "int", kTestArena + (uint64_t(4) << 20), empty, middle);
  fixture.add_buffer(instance, "out", "int", kTestArena + (uint64_t(8) << 20), empty, out);
  fixture.add_argument(instance, 256, "n");
  EvaluatorOptions options;
  options.few_candidates = true;
  auto made = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(made.ok()) << made.error().message;
}

}  // namespace
}  // namespace kernelift::sandbox
