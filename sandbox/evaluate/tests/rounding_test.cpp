// The rounding envelope through the real thing: a force sum with cancellation, rewritten rightly and wrongly.
#include <gtest/gtest.h>

#include <cmath>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

constexpr int kBodies = 1024;

/// `row` sums over j into out[i], with x(), d and r2 to its hand.
std::string pull(const std::string& row) {
  return "__global__ void pull(const float* x, float* out, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n" +
         row + "}\n";
}
const std::string kTerm =
    "    float d = x[j] - x[i];\n    float r2 = d * d + 0.0001f;\n    float inverse = 1.0 / sqrtf(r2);\n";
const std::string kOriginal = pull("  out[i] = 0;\n  for (int j = 0; j < n; j++) {\n" + kTerm +
                                   "    out[i] += d * inverse * inverse * inverse;\n  }\n");

std::string accumulated(const std::string& added, const std::string& loop = "for (int j = 0; j < n; j++)") {
  return pull("  float sum = 0;\n  " + loop + " {\n" + kTerm + "    sum += " + added + ";\n  }\n  out[i] = sum;\n");
}

MepFixture pull_mep() {
  MepFixture fixture(kOriginal, "_Z4pullPKfPfi", "pull(float const*, float*, int)");
  std::vector<float> x(kBodies), before(kBodies, -1.0f), after(kBodies);
  unsigned state = 12345;
  for (auto& place : x) {
    state = state * 1664525u + 1013904223u;
    place = static_cast<float>(state >> 8) / static_cast<float>(1 << 24);
  }
  for (int i = 0; i < kBodies; ++i) {
    float sum = 0;
    for (int j = 0; j < kBodies; ++j) {
      float d = x[j] - x[i], r2 = std::fma(d, d, 0.0001f);
      float inverse = static_cast<float>(1.0 / static_cast<double>(std::sqrt(r2)));
      sum = std::fma(d * inverse * inverse, inverse, sum);
    }
    after[i] = sum;
  }
  MepInstance& instance = fixture.add_instance("a", kBodies / 64, 64);
  fixture.add_buffer(instance, "x", "float", kTestArena, x, x);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), before, after);
  fixture.add_argument(instance, kBodies, "n");
  return fixture;
}

class RoundingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fixture_ = new MepFixture(pull_mep());
    EvaluatorOptions options;
    options.few_candidates = true;
    options.most_rounds = 8;
    auto made = make_evaluator(fixture_->mep, fixture_->path(), options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    evaluator_ = made->release();
  }
  static void TearDownTestSuite() {
    delete evaluator_;
    delete fixture_;
  }
  static Verdict evaluate(const std::string& source, Recipe recipe = {}) {
    Candidate candidate;
    candidate.source = source, candidate.recipe = std::move(recipe), candidate.tier = "source";
    return std::get<Verdict>(evaluator_->submit(std::move(candidate)).get());
  }
  static MepFixture* fixture_;
  static Evaluator* evaluator_;
};
MepFixture* RoundingTest::fixture_ = nullptr;
Evaluator* RoundingTest::evaluator_ = nullptr;

TEST_F(RoundingTest, AcceptsASumHeldInARegister) {
  Verdict verdict = evaluate(accumulated("d * inverse * inverse * inverse"));
  EXPECT_TRUE(verdict.ok()) << verdict.text();
}

TEST_F(RoundingTest, AcceptsFactorsAndSumsInAnotherOrder) {
  Verdict verdict = evaluate(accumulated("d * (inverse * inverse * inverse)"));
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  verdict = evaluate(accumulated("d * inverse * inverse * inverse", "for (int j = n - 1; j >= 0; j--)"));
  EXPECT_TRUE(verdict.ok()) << verdict.text();
}

TEST_F(RoundingTest, RefusesADroppedTerm) {
  Verdict verdict = evaluate(accumulated("j == n / 2 ? 0.0f : d * inverse * inverse * inverse"));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_NE(verdict.detail.find("rounding envelope"), std::string::npos) << verdict.detail;
}

TEST_F(RoundingTest, RefusesALoopThatEndsOneShort) {
  EXPECT_EQ(evaluate(accumulated("d * inverse * inverse * inverse", "for (int j = 0; j < n - 1; j++)")).outcome,
            Outcome::Wrong);
}

TEST_F(RoundingTest, RefusesAHalfPrecisionIntermediate) {
  EXPECT_EQ(evaluate(accumulated("(float)(_Float16)d * inverse * inverse * inverse")).outcome, Outcome::Wrong);
}

TEST_F(RoundingTest, RefusesAConstantThatIsSlightlyOff) {
  EXPECT_EQ(evaluate(accumulated("d * inverse * inverse * inverse * 1.0002f")).outcome, Outcome::Wrong);
}

TEST(Rounding, ReplayShowsTheEnvelope) {
  MepFixture fixture = pull_mep();
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  ReplayOptions options;
  options.cold = false;
  auto report = replay(fixture.path(), options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->pass()) << report->text();
  EXPECT_NE(report->text().find("rounding envelope"), std::string::npos) << report->text();
  options.tolerance = Tolerance{1e-3, 0};
  report = replay(fixture.path(), options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->text().find("rounding envelope"), std::string::npos) << report->text();
}

/// A sum by atomics that rounds the same way in each addition, and ends far from the exact one in whatever order.
class AtomicSumTest : public testing::Test {
 protected:
  static constexpr int kBlocks = 400, kThreads = 64;
  static std::string sum(const std::string& body) {
    return "__global__ void sum(const float* in, float* out) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
           body + "}\n";
  }
  /// By blocks in shared memory first: nearer to the exact sum than the original.
  static std::string by_blocks(const std::string& term) {
    return sum("  __shared__ float part[64];\n  part[threadIdx.x] = " + term +
               ";\n  __syncthreads();\n  for (int half = 32; half > 0; half /= 2) {\n"
               "    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];\n    __syncthreads();\n  }\n"
               "  if (threadIdx.x == 0) atomicAdd(out, part[0]);\n");
  }
  static void SetUpTestSuite() {
    fixture_ = new MepFixture(sum("  atomicAdd(out, in[i]);\n"), "_Z3sumPKfPf", "sum(float const*, float*)");
    MepInstance& instance = fixture_->add_instance("a", kBlocks, kThreads);
    std::vector<float> in(kBlocks * kThreads, 0.1f);
    float answer = 0;
    for (float term : in) answer += term;
    fixture_->add_buffer(instance, "in", "float", kTestArena, in, in);
    fixture_->add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), std::vector<float>{0},
                         std::vector<float>{answer});
    EvaluatorOptions options;
    options.few_candidates = true, options.most_rounds = 8;
    auto made = make_evaluator(fixture_->mep, fixture_->path(), options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    evaluator_ = made->release();
  }
  static void TearDownTestSuite() {
    delete evaluator_;
    delete fixture_;
  }
  static Candidate candidate(const std::string& source) {
    Candidate made;
    made.source = source, made.tier = "source";
    return made;
  }
  static Verdict evaluate(const std::string& source) {
    return std::get<Verdict>(evaluator_->submit(candidate(source)).get());
  }
  static MepFixture* fixture_;
  static Evaluator* evaluator_;
};
MepFixture* AtomicSumTest::fixture_ = nullptr;
Evaluator* AtomicSumTest::evaluator_ = nullptr;

TEST_F(AtomicSumTest, AcceptsASumThatIsNearerToTheExactOneThanTheOriginals) {
  Verdict verdict = evaluate(by_blocks("in[i]"));
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  verdict = std::get<Verdict>(evaluator_->confirm(candidate(by_blocks("in[i]"))));
  EXPECT_TRUE(verdict.ok()) << verdict.text() << ": the inputs that a finalist is tried with have sums of their own";
}

TEST_F(AtomicSumTest, RefusesDroppedTermsAndAFactorThatIsOff) {
  for (auto wrong : {"i % 4000 == 7 ? 0.0f : in[i]", "in[i] * 1.0004f", "(float)(_Float16)in[i]"}) {
    Verdict verdict = evaluate(by_blocks(wrong));
    EXPECT_EQ(verdict.outcome, Outcome::Wrong) << wrong << verdict.text();
    EXPECT_NE(verdict.detail.find("not clearly nearer to the exact sums"), std::string::npos) << verdict.detail;
  }
}

/// out[i] = `value` of x.
std::string each(const std::string& value) {
  return "__global__ void each(const float* in, float* out, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
         "  float x = in[i];\n  out[i] = " +
         value + ";\n}\n";
}

/// What becomes of a candidate whose zeros have another sign than those that `value` leaves.
Outcome with_other_zeros(const std::string& value, float (*host)(float)) {
  constexpr int kCount = 4096;
  MepFixture fixture(each(value), "_Z4eachPKfPfi", "each(float const*, float*, int)");
  std::vector<float> in(kCount), before(kCount, 7.0f), after(kCount);
  for (int i = 0; i < kCount; ++i) {
    in[i] = i % 8 == 0 ? 0.0f : i % 8 == 1 ? -0.0f : static_cast<float>(i - 2000) / 300;
    after[i] = host(in[i]);
  }
  MepInstance& instance = fixture.add_instance("a", kCount / 64, 64);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in, true);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), before, after);
  fixture.add_argument(instance, kCount, "n");
  EvaluatorOptions options;
  options.few_candidates = true, options.most_rounds = 8;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  EXPECT_TRUE(evaluator.ok()) << evaluator.error().message;
  if (!evaluator.ok()) return Outcome::Crashed;
  Candidate candidate;
  candidate.tier = "source", candidate.source = each("(" + value + ") == 0 ? -(" + value + ") : (" + value + ")");
  const Verdict verdict = std::get<Verdict>((*evaluator)->submit(candidate).get());
  if (verdict.outcome == Outcome::Wrong)
    EXPECT_NE(verdict.detail.find("differ in the sign of a zero"), std::string::npos) << verdict.detail;
  candidate.source = each(value) + "// the same\n";
  EXPECT_TRUE(std::get<Verdict>((*evaluator)->submit(candidate).get()).ok());
  return verdict.outcome;
}

TEST(ZerosSigns, CountWhereTheOriginalOnlySelectsAndNegates) {
  EXPECT_EQ(with_other_zeros("x > 0 ? x : -x", [](float x) { return x > 0 ? x : -x; }), Outcome::Wrong);
}

TEST(ZerosSigns, DoNotCountWhereRoundingMovesTheOriginalsResults) {
  EXPECT_EQ(with_other_zeros("x * x - 1.1f * x", [](float x) { return x * x - 1.1f * x; }), Outcome::Ok);
}

}  // namespace
}  // namespace kernelift::sandbox
