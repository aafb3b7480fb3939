// Finalists are asked for their formulas: what a verdict says of them, and which are not right for them.
#include <gmock/gmock.h>

#include <algorithm>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;
using Found = FieldEquality::Found;

constexpr int kRows = 256, kTerms = 64;

std::string sums_of(const std::string& body) {
  return "__global__ void sums(const float* in, float* out, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  const float* row = in + i * 64;\n" +
         body + "\n}\n";
}
const std::string kInOrder = "  float s = 0; for (int j = 0; j < 64; ++j) s += row[j]; out[i] = s;";

/// out[i] is the sum of row i of in, whose last element is tiny; or `answer` of what the sum is.
MepFixture sums_of_rows(const std::string& source = sums_of(kInOrder), float (*answer)(float) = nullptr) {
  MepFixture fixture(source, "_Z4sumsPKfPfi", "sums(float const*, float*, int)");
  std::vector<float> in(kRows * kTerms), before(kRows, -1), after(kRows, 0);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = i % kTerms == kTerms - 1 ? 1e-30f : float(i % 7) + 0.25f;
    after[i / kTerms] += in[i];
  }
  if (answer) std::ranges::transform(after, after.begin(), answer);
  MepInstance& instance = fixture.add_instance("a", kRows / 64, 64);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in, true);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), before, after);
  fixture.add_argument(instance, kRows, "n");
  return fixture;
}

Verdict confirmed(const MepFixture& fixture, const std::string& source) {
  EvaluatorOptions options;
  options.most_rounds = 4, options.compile_workers = 1, options.few_candidates = true;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  if (!evaluator.ok()) throw std::runtime_error(evaluator.error().message);
  Candidate candidate;
  candidate.source = source;
  Evaluation evaluation = (*evaluator)->confirm(candidate);
  return std::get<Verdict>(evaluation);
}

TEST(FieldComparison, SaysOfAKernelAloneWhetherItsFormulaCanBeCompared) {
  auto formula = [](const MepFixture& fixture) { return *formula_of(fixture.mep, fixture.path()); };
  const FieldEquality settled = formula(sums_of_rows());
  EXPECT_EQ(settled.found, Found::Equal) << settled.why;
  EXPECT_EQ(settled.decided, "");
  const FieldEquality decides = formula(sums_of_rows(
      sums_of("  float s = 0; for (int j = 0; j < 64; ++j) if (row[j] < 100.0f) s += row[j]; out[i] = s;")));
  EXPECT_EQ(decides.found, Found::Equal) << decides.why;
  EXPECT_THAT(decides.decided, HasSubstr("the comparison at kernel.cu:4"));
  const FieldEquality none = formula(sums_of_rows(sums_of("  ((int*)out)[i] = ((const int*)in)[i];")));
  EXPECT_EQ(none.found, Found::NotRun);
  EXPECT_EQ(none.why, "it has no floating-point arithmetic");
  EXPECT_FALSE(formula_of(Mep{}, "nowhere").ok());
}

TEST(FieldComparison, AFinalistThatSumsInAnotherOrderComputesTheSameFormula) {
  const Verdict verdict =
      confirmed(sums_of_rows(), sums_of("  float a = 0, b = 0; for (int j = 0; j < 64; j += 2) a += row[j], "
                                        "b += row[j + 1]; out[i] = a + b;"));
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  ASSERT_TRUE(verdict.field);
  EXPECT_EQ(verdict.field->text(), "the same formula as the original's; probability of error at most 2^-29");
  EXPECT_EQ(verdict.field->instance, "a");
  auto read = verdict_from_json(to_json(verdict), "a test");
  ASSERT_TRUE(read.ok() && read->field);
  EXPECT_EQ(read->field->text(), verdict.field->text());
}

TEST(FieldComparison, ALostTermIsFoundHoweverSmallItIs) {
  const Verdict verdict =
      confirmed(sums_of_rows(), sums_of("  float s = 0; for (int j = 0; j < 63; ++j) s += row[j]; out[i] = s;"));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong);
  EXPECT_EQ(verdict.stage, Stage::Verify);
}

TEST(FieldComparison, ALostTermThatNoInputShowsIsFound) {
  // Every perturbed input keeps the factor that makes the term nothing.
  const std::string whole = "  float s = 0; for (int j = 0; j < 64; ++j) s += row[j]; out[i] = s + 1e-30f * row[5];";
  const Verdict verdict = confirmed(sums_of_rows(sums_of(whole)), sums_of(kInOrder));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong);
  EXPECT_EQ(verdict.detail, "another formula than the original's: out[0] is another number");
  EXPECT_EQ(verdict.timings.size(), 0u);
}

TEST(FieldComparison, AComparisonIsNamedAndItsOutcomeFollowed) {
  auto kernel = [](const std::string& condition) {
    return sums_of("  float s = 0; for (int j = 0; j < 64; ++j) if (" + condition + ") s += row[j]; out[i] = s;");
  };
  const Verdict same = confirmed(sums_of_rows(), kernel("row[j] > -1.0f"));
  EXPECT_TRUE(same.ok()) << same.text();
  ASSERT_TRUE(same.field);
  EXPECT_EQ(same.field->decided, "the comparison at kernel.cu:4");
  const Verdict other = confirmed(sums_of_rows(), kernel("row[j] > 0.01f"));
  EXPECT_TRUE(other.ok()) << other.text();
  ASSERT_TRUE(other.field);
  EXPECT_EQ(other.field->text(),
            "not known: out[0] is another number; the comparison at kernel.cu:4 is no part of a rational function");
}

TEST(FieldComparison, ConstantsThatAreRoundedOtherwiseAreNoOtherFormula) {
  const Verdict verdict =
      confirmed(sums_of_rows(sums_of("  float s = 0; for (int j = 0; j < 64; ++j) s += row[j]; out[i] = s / 3.0f;"),
                             [](float sum) { return sum / 3.0f; }),
                sums_of("  float s = 0; for (int j = 0; j < 64; ++j) s += row[j]; out[i] = s * (1.0f / 3.0f);"));
  ASSERT_TRUE(verdict.field) << verdict.text();
  EXPECT_TRUE(verdict.field->constants_rounded);
  EXPECT_THAT(verdict.field->text(), HasSubstr("but for the rounding of constants"));
}

}  // namespace
}  // namespace kernelift::sandbox
