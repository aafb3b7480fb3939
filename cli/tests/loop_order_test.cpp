// The order in which `optimize` takes kernels, and how it divides its time.
#include "cli/loop/loop_order.h"

#include <gtest/gtest.h>

namespace kernelift::cli {
namespace {

LoopRow with(double share, double roof = 0) {
  LoopRow row;
  row.share = share, row.roof = roof;
  return row;
}

TEST(LoopOrder, AKernelAtItsRoofComesAfterASmallerOneThatIsFarFromIts) {
  std::vector<LoopRow> rows{with(0.4, 0.9), with(0.2), with(0.1)};
  EXPECT_EQ(most_promising(rows, 0), 1u);
  EXPECT_EQ(most_promising(rows, 2), 2u);
  rows[0].roof = 0;
  EXPECT_EQ(most_promising(rows, 0), 0u) << "its roof is not known";
}

TEST(LoopOrder, SmallKernelsMatterWhereTheyMatterTogether) {
  LoopLimits limits;
  std::vector<LoopRow> flat(12, with(0.01)), few{with(0.5), with(0.01)};
  EXPECT_TRUE(share_matters(flat[0], flat, limits));
  EXPECT_FALSE(share_matters(few[1], few, limits)) << "1 % alone shows in no application";
  EXPECT_TRUE(share_matters(few[0], few, limits));
  limits.smallest_share = 0.03;
  EXPECT_FALSE(share_matters(flat[0], flat, limits));
}

TEST(LoopOrder, TimeIsDividedByWhatCanBeWonAndOneKernelDoesNotTakeAllOfIt) {
  LoopLimits limits;
  EXPECT_NEAR(time_slice({with(0.3), with(0.1)}, 0, 100, limits), 70, 1e-9) << "75 by its share";
  EXPECT_NEAR(time_slice({with(0.3), with(0.3), with(0.3)}, 0, 90, limits), 30, 1e-9);
  EXPECT_NEAR(time_slice({with(0.3, 0.9), with(0.27)}, 0, 100, limits), 10, 1e-9);
  EXPECT_EQ(time_slice({with(0.3), with(0.1)}, 1, 40, limits), 40) << "the last has all that is left";
  EXPECT_NEAR(time_slice({with(0.44), with(0.22)}, 0, 30, limits), 20, 1e-9)
      << "what is worth tuning is left for another";
  EXPECT_EQ(time_slice({with(0.6), with(0.2), with(0.1)}, 0, 20, limits), 10);
  EXPECT_EQ(time_slice({with(0.3), with(0.1)}, 0, 15, limits), 15) << "the rest would be too short for another one";
}

LoopRow refused(double share) {
  LoopRow row = with(share);
  row.looked_at = true, row.outcome = "refused";
  return row;
}
LoopRow tuned(double share) {
  LoopRow row = with(share);
  row.looked_at = true, row.outcome = "no gain", row.run = "k-1.klrun";
  return row;
}

TEST(LoopOrder, AKernelThatIsRefusedBeforeItsSearchDoesNotCount) {
  const LoopLimits one{.kernels = 1};
  EXPECT_EQ(beyond_limits({refused(0.5), with(0.42)}, 1, one), "") << "the application's own comes next";
  EXPECT_EQ(beyond_limits({refused(0.5), tuned(0.3), with(0.1)}, 2, one),
            "beyond the requested number of kernels (--kernels)");
  EXPECT_EQ(time_slice({refused(0.5), with(0.3), with(0.1)}, 1, 60, one), 60) << "no other will be tuned";
}

TEST(LoopOrder, OfManyThatAreRefusedNotAllAreLookedAt) {
  LoopLimits limits{.kernels = 1, .in_vain = 3};
  std::vector<LoopRow> rows{refused(0.3), refused(0.2), tuned(0.1), with(0.1), with(0.1)};
  limits.kernels = 2;
  EXPECT_EQ(beyond_limits(rows, 3, limits), "");
  rows[3] = refused(0.1);
  EXPECT_EQ(beyond_limits(rows, 4, limits), "3 kernels before it could not be tuned, and no more are looked at");
  rows[3] = with(0.1), rows[3].outcome = "skipped";
  EXPECT_EQ(beyond_limits(rows, 4, limits), "") << "it was left out without a look";
}

TEST(LoopOrder, SaysWhyAKernelCameWhenItDid) {
  LoopRow row = with(0.12, 0.82);
  row.roof_name = "DRAM";
  EXPECT_EQ(order_text(row, 2), "3rd: 12.0 % of the time, at 82 % of its DRAM roof");
  EXPECT_EQ(order_text(with(0.5), 10), "11th: 50.0 % of the time");
}

}  // namespace
}  // namespace kernelift::cli
