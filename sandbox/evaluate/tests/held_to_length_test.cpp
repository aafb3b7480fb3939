// Sums whose terms cancel, in another order: no tolerance that is derived from the original's roundings explains their
// results, and the error bounds of the sums do.
#include <gmock/gmock.h>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/sums_mep.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
    made.source = sums_source(body), made.tier = "source";
    return made;
  }
  MepFixture fixture_;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST(HeldToLength, ASumInAnotherOrderIsRightWithinTheErrorBoundOfItsLength) {
  Judge judge(sums_mep(sums_source(kSumsInOrder)));
  const Verdict screened = judge.screened(kSumsByHalves), confirmed = judge.confirmed(kSumsByHalves);
  for (auto& verdict : {screened, confirmed}) {
    EXPECT_TRUE(verdict.ok()) << verdict.text();
    EXPECT_THAT(verdict.detail, HasSubstr("beyond the tolerance that is derived from the original"));
    EXPECT_THAT(verdict.detail, HasSubstr(kHeldToLength));
  }
  ASSERT_TRUE(confirmed.sizes_run);
  EXPECT_THAT(confirmed.sizes_run->text(), HasSubstr("right at ")) << "sums of other sizes have bounds of their own";
}

TEST(HeldToLength, ALostTermIsRefusedThoughItIsSmallerThanTheErrorBound) {
  Judge judge(sums_mep(sums_source(kSumsInOrder)));
  for (const Verdict& verdict : {judge.screened(kSumsWithALostTerm), judge.confirmed(kSumsWithALostTerm)}) {
    EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
    EXPECT_THAT(verdict.detail, Not(HasSubstr(kHeldToLength)));
    EXPECT_THAT(verdict.detail, HasSubstr("not held to the error bounds of the original's sums: another formula"));
  }
}

TEST(HeldToLength, FloatsInPlaceOfTheOriginalsDoublesAreRefusedThoughTheFormulaIsTheSame) {
  const SumsShape doubles{.doubles = true};
  const std::string wide = sums_source("  double s = 0; for (int j = 0; j < 64; ++j) s += row[j]; out[i] = (float)s;");
  const Verdict verdict = Judge(sums_mep(wide, doubles)).screened(kSumsByHalves);
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_THAT(verdict.detail, HasSubstr("beyond the error bounds of the original's sums, too"));
  const Verdict lenient = Judge(sums_mep(wide, doubles), Tolerance{1, 1}).confirmed(kSumsByHalves);
  ASSERT_TRUE(lenient.field) << lenient.text();
  EXPECT_EQ(lenient.field->found, FieldEquality::Found::Equal) << lenient.field->text();
}

TEST(HeldToLength, AUsersToleranceIsTheOnlyOne) {
  Judge judge(sums_mep(sums_source(kSumsInOrder)), Tolerance{1e-6, 0});
  const Verdict verdict = judge.screened(kSumsByHalves);
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
}

}  // namespace
}  // namespace kernelift::sandbox
