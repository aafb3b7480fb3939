// Short conditions in place of the sets of sizes that isl finds.
#include "core/legality/premise.h"

#include <gtest/gtest.h>

#include "core/legality/isl_context.h"

namespace kernelift::legality {
namespace {

class PremiseTest : public testing::Test {
 protected:
  std::string positive(const std::string& right, const std::string& asked = "n = n") {
    const isl::set context(context_.get(), "[n, m, k] -> { : " + asked + " }"),
        set(context_.get(), "[n, m, k] -> { : " + asked + " and (" + right + ") }");
    auto premise = positive_premise(set, context, parameters_);
    return premise ? premise->text() : "none";
  }
  BoundedContext context_{1'000'000, 10, {}};
  const Parameters parameters_{{"n", Expression::variable("n")}, {"m", Expression::variable("m")}};
};

TEST_F(PremiseTest, IsThatSizesAreAboveZeroWhereThatSuffices) {
  EXPECT_EQ(positive("n > 0 and m > 0"), "n > 0 && m > 0");
  EXPECT_EQ(positive("(n > 0 and m > 0) or m < -7"), "n > 0 && m > 0");
  EXPECT_EQ(positive("n > 0 or m > 0"), "m > 0") << "one of them suffices";
  EXPECT_EQ(positive("n > 0", "m > 0"), "n > 0");
}

TEST_F(PremiseTest, IsNoneWhereMoreIsNeeded) {
  EXPECT_EQ(positive("n > 1"), "none");
  EXPECT_EQ(positive("k > 0"), "none") << "what is no parameter of the kernel cannot be asked";
}

TEST_F(PremiseTest, LeavesOutSizesThatNobodyHas) {
  auto likely = [&](const std::string& right) {
    const isl::set context(context_.get(), "[n, m, k] -> { : n = n }");
    auto premise =
        as_expression(likely_part(isl::set(context_.get(), "[n, m, k] -> { : " + right + " }")), context, parameters_);
    return premise ? premise->text() : "none";
  };
  EXPECT_EQ(likely("m <= 0 or (m <= 256 and n >= 2146435073)"), "m <= 0");
  EXPECT_EQ(likely("m <= -2147483649 or (m >= 2 and n <= 7)"), "n <= 7 && m >= 2");
  EXPECT_EQ(likely("m + 256 * n <= 2147483904 and m <= 256"), "m <= 256 && 256 * n + m <= 2147483904");
  EXPECT_EQ(likely("n >= 2146435073"), "n >= 2146435073") << "there is nothing else";
}

}  // namespace
}  // namespace kernelift::legality
