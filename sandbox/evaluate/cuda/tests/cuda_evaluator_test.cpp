// The CUDA device's front doors, from source text to verdicts and replays: on a GPU with our compiler linked in. Where
// there is no GPU only what is said about that is tested.
#include "sandbox/evaluate/cuda/cuda_evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/evaluate/tests/sums_mep.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;

TEST(CudaDeviceNames, AreParsedOrRefusedByName) {
  EXPECT_EQ(*cuda_ordinal("cuda"), -1);
  EXPECT_EQ(*cuda_ordinal("auto"), -1);
  EXPECT_EQ(*cuda_ordinal("cuda:3"), 3);
  for (auto wrong : {"cuda:", "cuda:x", "cuda3", "gpu", "cuda:-1", "cuda:99999999999"}) {
    auto parsed = cuda_ordinal(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_EQ(parsed.error().exit, Exit::Usage);
    EXPECT_THAT(parsed.error().message, HasSubstr(wrong));
  }
}

bool gpu_answers() {
  static const bool answers = open_gpu("cuda", {}, ".", {}, false).ok();
  return answers;
}

TEST(CudaEvaluatorWithoutGpu, SaysWhatIsMissingAndAutoTakesTheCpu) {
  if (gpu_answers()) GTEST_SKIP() << "this machine has a GPU";
  MepFixture fixture = scale_mep();
  EvaluatorOptions options;
  options.device = "cuda", options.few_candidates = true;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_FALSE(evaluator.ok());
  EXPECT_EQ(evaluator.error().exit, Exit::Environment);
  EXPECT_THAT(evaluator.error().message, HasSubstr("--device cpu"));
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  ReplayOptions replaying;
  replaying.device = "auto", replaying.cold = false;
  auto report = replay(fixture.path(), replaying);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(report->device, HasSubstr("cpu"));
}

class CudaEvaluatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gpu_answers()) GTEST_SKIP() << "no NVIDIA GPU answers here";
  }
  std::unique_ptr<Evaluator> start(const MepFixture& fixture) {
    EvaluatorOptions options;
    options.device = "cuda";
    auto made = make_evaluator(fixture.mep, fixture.path(), options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? std::move(*made) : nullptr;
  }
  static Candidate candidate(const std::string& body) {
    Candidate made;
    made.source =
        "__constant__ float bias;\n__global__ void scale(const float* in, float* out, int n, float factor) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
        body + "\n}\n";
    return made;
  }
};

TEST_F(CudaEvaluatorTest, GoesFromSourceToEachKindOfVerdict) {
  MepFixture fixture = scale_mep(1 << 16);
  auto evaluator = start(fixture);
  ASSERT_TRUE(evaluator);
  std::vector<std::pair<Outcome, std::future<Evaluation>>> expected;
  auto add = [&](Outcome outcome, const std::string& body) {
    expected.push_back({outcome, evaluator->submit(candidate(body))});
  };
  add(Outcome::Ok, "if (i < n) out[i] = bias + factor * in[i];");
  add(Outcome::Wrong, "if (i < n && i != 9) out[i] = bias + factor * in[i];");
  add(Outcome::WroteOutside, "if (i < n) out[i] = bias + factor * in[i]; if (i == 0) out[n] = 0;");
  add(Outcome::CompileFailed, "this is not C++;");
  add(Outcome::Refused, "if (i < n) out[i] = bias + factor * in[i]; asm volatile(\".include \\\"x\\\";\");");
  add(Outcome::OverResources,
      "__shared__ float all[20000]; all[threadIdx.x] = in[0]; __syncthreads(); if (i < n) out[i] = all[threadIdx.x ^ "
      "1];");
  add(Outcome::Crashed, "if (i < n) out[i] = bias + factor * in[i]; if (i == 0) *(volatile float*)16 = 1;");
  add(Outcome::TimedOut, "while (((volatile const float*)in)[0] == in[0]) {} out[0] = 1;");
  add(Outcome::Ok, "for (int j = i; j < n; j += gridDim.x * blockDim.x) out[j] = in[j] * factor + bias;");
  for (auto& [outcome, future] : expected) {
    Verdict verdict = std::get<Verdict>(future.get());
    EXPECT_EQ(verdict.outcome, outcome) << verdict.text();
    EXPECT_THAT(verdict.device, HasSubstr("cuda: "));
  }
}

TEST_F(CudaEvaluatorTest, ConfirmsInAFreshProcessAndAsTheApplicationIsBuilt) {
  MepFixture fixture = scale_mep(1 << 20);
  auto evaluator = start(fixture);
  ASSERT_TRUE(evaluator);
  Verdict verdict = std::get<Verdict>(evaluator->confirm(candidate("if (i < n) out[i] = factor * in[i] + bias;")));
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_EQ(verdict.timings.size(), 2u);
  EXPECT_FALSE(verdict.detail.empty());
}

TEST_F(CudaEvaluatorTest, ConfirmsNoCandidateOfAnotherFormulaThoughNoFloatShowsIt) {
  MepFixture fixture = scale_mep(1 << 16);
  auto evaluator = start(fixture);
  ASSERT_TRUE(evaluator);
  auto confirmed = [&](const std::string& sum) {
    return std::get<Verdict>(evaluator->confirm(candidate("if (i < n) out[i] = " + sum + ";")));
  };
  const Verdict same = confirmed("bias + (in[i] + in[i]) * factor / 2");
  EXPECT_TRUE(same.ok()) << same.text();
  ASSERT_TRUE(same.field);
  EXPECT_EQ(same.field->found, FieldEquality::Found::Equal) << same.field->text();
  const Verdict other = confirmed("factor * in[i] + bias + 1e-30f * in[0]");
  EXPECT_EQ(other.outcome, Outcome::Wrong) << other.text();
  EXPECT_THAT(other.detail, HasSubstr("another formula than the original's: out["));
}

TEST_F(CudaEvaluatorTest, ConfirmsNoCandidateThatRacesOrWritesBesideAVariableThoughItIsRight) {
  MepFixture fixture = scale_mep(1 << 16);
  auto evaluator = start(fixture);
  ASSERT_TRUE(evaluator);
  auto with = [](const std::string& trick) {
    Candidate made = candidate(trick + " if (i < n) out[i] = factor * in[i] + bias;");
    made.source.insert(0, "__device__ int count;\n");
    return made;
  };
  const std::pair<Outcome, std::string> tricks[] = {
      {Outcome::Unstable, "if (threadIdx.x == 0) count = i;"},
      {Outcome::Unstable,
       "__shared__ float tile[128]; tile[threadIdx.x] = bias; if (tile[127 - threadIdx.x] == 12345.25f) count = 1;"},
      {Outcome::WroteOutside, "if (i == 0) *((volatile int*)&count + 4096) = 7;"}};
  for (auto& [outcome, trick] : tricks) {
    Verdict confirmed = std::get<Verdict>(evaluator->confirm(with(trick)));
    EXPECT_EQ(confirmed.outcome, outcome) << trick << ": " << confirmed.text();
  }
  Verdict honest = std::get<Verdict>(evaluator->confirm(with("")));
  EXPECT_TRUE(honest.ok()) << honest.text();
  EXPECT_THAT(honest.detail, ::testing::Not(HasSubstr("not checked")));
}

TEST_F(CudaEvaluatorTest, HoldsSumsInAnotherOrderToTheErrorBoundsOfTheirLength) {
  constexpr int kTerms = 1024;
  const SumsShape shape{.rows = 2048, .terms = kTerms};
  MepFixture fixture = sums_mep(sums_source(kSumsInOrder, kTerms), shape);
  auto evaluator = start(fixture);
  ASSERT_TRUE(evaluator);
  auto of = [](const std::string& body) {
    Candidate made;
    made.source = sums_source(body, kTerms), made.tier = "source";
    return made;
  };
  const Candidate halves = of(kSumsByHalves), lost = of(kSumsWithALostTerm);
  for (const Evaluation& evaluation : {evaluator->submit(halves).get(), evaluator->confirm(halves)}) {
    const Verdict& verdict = std::get<Verdict>(evaluation);
    EXPECT_TRUE(verdict.ok()) << verdict.text();
    EXPECT_THAT(verdict.detail, HasSubstr(kHeldToLength));
  }
  for (const Evaluation& evaluation : {evaluator->submit(lost).get(), evaluator->confirm(lost)}) {
    const Verdict& verdict = std::get<Verdict>(evaluation);
    EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
    EXPECT_THAT(verdict.detail, HasSubstr("another formula than the original's"));
  }
}

TEST_F(CudaEvaluatorTest, AcceptsNoCopyOfTheOriginalAsAGain) {
  MepFixture fixture = scale_mep(1 << 20);
  EvaluatorOptions options;
  options.device = "cuda", options.share_measurements = false;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  Candidate original;
  original.source = kScaleSource;
  std::vector<std::future<Evaluation>> verdicts;
  for (int i = 0; i < 20; ++i) verdicts.push_back((*evaluator)->submit(original));
  for (auto& future : verdicts) {
    Verdict verdict = std::get<Verdict>(future.get());
    ASSERT_TRUE(verdict.ok()) << verdict.text();
    EXPECT_LE(verdict.speedup_low(), kSmallestGain) << verdict.text();
  }
}

TEST_F(CudaEvaluatorTest, ReplaysWarmAndCold) {
  MepFixture fixture = scale_mep(1 << 20);
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  ReplayOptions options;
  options.device = "cuda";
  auto report = replay(fixture.path(), options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->pass()) << report->text();
  ASSERT_TRUE(report->warm && report->cold);
  EXPECT_GT(report->cold->instances[0].seconds, 0);
}

}  // namespace
}  // namespace kernelift::sandbox
