// Sums whose terms cancel, in another order: no tolerance that is derived from the original's roundings explains their
// results, and the error bounds of the sums do.
#include <gmock/gmock.h>

#include <random>

#include "core/tests/expression_literal.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kRows = 256, kTerms = 64;
constexpr const char* kHeld = "but it computes the original's formula";

std::string sums(const std::string& body) {
  return "__global__ void sums(const float* in, float* out, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
         "  const float* row = in + i * 64;\n" +
         body + "\n}\n";
}
const std::string kInOrder = "  float s = 0; for (int j = 0; j < 64; ++j) s += row[j]; out[i] = s;";
/// Term 40 of each row is tiny.
const std::string kByHalves =
    "  float a = 0, b = 0; for (int j = 0; j < 32; ++j) a += row[j], b += row[63 - j]; out[i] = a + b;";

/// Terms of about a thousand that cancel to about a thousandth.
MepFixture sums_mep(const std::string& body = kInOrder, bool doubles = false) {
  MepFixture fixture(sums(body), "_Z4sumsPKfPfi", "sums(float const*, float*, int)");
  std::vector<float> in(kRows * kTerms), before(kRows, -1), after(kRows);
  std::mt19937 random(5);
  for (int row = 0; row < kRows; ++row) {
    float* terms = &in[size_t(row) * kTerms];
    double exactly = 0;
    for (int j = 0; j < kTerms - 1; ++j) {
      terms[j] = j == 40 ? 1e-7f : static_cast<float>(static_cast<double>(random()) / 0x1p31 - 1) * 1000;
      exactly += static_cast<double>(terms[j]);
    }
    terms[kTerms - 1] = static_cast<float>(1e-3 - exactly);
    float sum = 0;
    double wide = 0;
    for (int j = 0; j < kTerms; ++j) sum += terms[j], wide += static_cast<double>(terms[j]);
    after[row] = doubles ? static_cast<float>(wide) : sum;
  }
  MepInstance& instance = fixture.add_instance("a", kRows / 64, 64);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in, true);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), before, after);
  fixture.add_argument(instance, kRows, "n");
  LaunchSite site;
  site.grid[0] = "(n + 63) / 64"_e, site.grid[1] = "1"_e, site.grid[2] = "1"_e;
  site.block[0] = "64"_e, site.block[1] = "1"_e, site.block[2] = "1"_e;
  site.argument_text = {"in", "out", "n"};
  fixture.mep.launches = {site};
  return fixture;
}

class Judge {
 public:
  explicit Judge(MepFixture fixture, std::optional<Tolerance> tolerance = {}) : fixture_(std::move(fixture)) {
    EvaluatorOptions options;
    options.most_rounds = 4, options.compile_workers = 1, options.few_candidates = true, options.tolerance = tolerance;
    auto made = make_evaluator(fixture_.mep, fixture_.path(), options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    evaluator_ = std::move(*made);
  }
  Verdict screened(const std::string& body) { return std::get<Verdict>(evaluator_->submit(candidate(body)).get()); }
  Verdict confirmed(const std::string& body) { return std::get<Verdict>(evaluator_->confirm(candidate(body))); }

 private:
  static Candidate candidate(const std::string& body) {
    Candidate made;
    made.source = sums(body), made.tier = "source";
    return made;
  }
  MepFixture fixture_;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST(HeldToLength, ASumInAnotherOrderIsRightWithinTheErrorBoundOfItsLength) {
  Judge judge(sums_mep());
  const Verdict screened = judge.screened(kByHalves), confirmed = judge.confirmed(kByHalves);
  for (auto& verdict : {screened, confirmed}) {
    EXPECT_TRUE(verdict.ok()) << verdict.text();
    EXPECT_THAT(verdict.detail, HasSubstr("beyond the tolerance that is derived from the original"));
    EXPECT_THAT(verdict.detail, HasSubstr(kHeld));
  }
  ASSERT_TRUE(confirmed.sizes_run);
  EXPECT_THAT(confirmed.sizes_run->text(), HasSubstr("right at ")) << "sums of other sizes have bounds of their own";
}

TEST(HeldToLength, ALostTermIsRefusedThoughItIsSmallerThanTheErrorBound) {
  Judge judge(sums_mep());
  const std::string lost =
      "  float a = 0, b = 0; for (int j = 0; j < 32; ++j) a += row[j], b += j == 23 ? 0.0f : row[63 - j]; out[i] = a + "
      "b;";
  for (const Verdict& verdict : {judge.screened(lost), judge.confirmed(lost)}) {
    EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
    EXPECT_THAT(verdict.detail, Not(HasSubstr(kHeld)));
  }
}

TEST(HeldToLength, FloatsInPlaceOfTheOriginalsDoublesAreRefusedThoughTheFormulaIsTheSame) {
  const std::string wide = "  double s = 0; for (int j = 0; j < 64; ++j) s += row[j]; out[i] = (float)s;";
  const Verdict verdict = Judge(sums_mep(wide, true)).screened(kByHalves);
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  const Verdict lenient = Judge(sums_mep(wide, true), Tolerance{1, 1}).confirmed(kByHalves);
  ASSERT_TRUE(lenient.field) << lenient.text();
  EXPECT_EQ(lenient.field->found, FieldEquality::Found::Equal) << lenient.field->text();
}

TEST(HeldToLength, AUsersToleranceIsTheOnlyOne) {
  Judge judge(sums_mep(), Tolerance{1e-6, 0});
  const Verdict verdict = judge.screened(kByHalves);
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
}

}  // namespace
}  // namespace kernelift::sandbox
