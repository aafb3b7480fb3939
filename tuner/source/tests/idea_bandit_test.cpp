// Tests of the choice among models and kinds of prompt.
#include "tuner/source/evolution/idea_bandit.h"

#include <gtest/gtest.h>

namespace kernelift::tuner {
namespace {

const std::vector<double> kBoth{kFreshHope, kFreshHope};

TEST(IdeaBandit, TriesEveryArmFirst) {
  EXPECT_EQ(choose_arm({}, kBoth), 0u);
  const std::vector<IdeaCall> one{{0, 5, 100, 0}};
  EXPECT_EQ(choose_arm(one, kBoth), 1u);
  EXPECT_EQ(choose_arm({}, {0, kFreshHope}), 1u) << "only what can be used";
}

TEST(IdeaBandit, PrefersAnArmOfWhichMoreIsKnown) { EXPECT_EQ(choose_arm({}, {kFreshHope, 0.2}), 1u); }

/// The share of uses of arm 0 among 200, if each call costs and gains so.
double share(IdeaCall zero, IdeaCall one) {
  std::vector<IdeaCall> calls;
  zero.arm = 0, one.arm = 1;
  double uses = 0;
  for (int i = 0; i < 200; ++i) {
    const bool first = choose_arm(calls, kBoth) == 0;
    calls.push_back(first ? zero : one);
    uses += first;
  }
  return uses / 200;
}

TEST(IdeaBandit, PrefersWhatGains) { EXPECT_GT(share({0, 1, 10, 0.2}, {0, 1, 10, 0}), 0.8); }

TEST(IdeaBandit, PrefersWhatCostsLessForTheSameGain) {
  EXPECT_GT(share({0, 1, 10, 0.1}, {0, 10, 10, 0.1}), 0.6) << "seconds";
  EXPECT_GT(share({0, 1, 10, 0.1}, {0, 1, 100, 0.1}), 0.6) << "tokens";
}

TEST(IdeaBandit, NeverLeavesAnArmAlone) {
  const double bad = 1 - share({0, 1, 10, 0.05}, {0, 1, 10, 0});
  EXPECT_GT(bad, 0.02);
  EXPECT_LT(bad, 0.4);
}

}  // namespace
}  // namespace kernelift::tuner
