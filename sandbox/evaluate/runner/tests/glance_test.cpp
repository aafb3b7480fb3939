// What is far slower than the original is given up at a glance, over the fake device as if it were a processor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/evaluate/runner/tests/runner_rig.h"

namespace kernelift::sandbox {
namespace {

using fake::Rig, fake::scale;

class GlanceTest : public testing::Test {
 protected:
  GlanceTest() { fake::launches.clear(); }
  Verdict judge(const std::string& image) {
    fake::launches.clear();
    return rig_.judge(image);
  }
  Rig rig_{scale(), {}, "", "of ms, original", {}, {}, true};
};

TEST_F(GlanceTest, FarSlowerIsGivenUpAfterOnePairAndTheVerdictSaysSo) {
  ASSERT_EQ(rig_.trouble, "");
  Verdict verdict = judge("of ms, far slower");
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  ASSERT_EQ(verdict.timings.size(), 1u);
  EXPECT_EQ(verdict.timings[0].samples, 1);
  EXPECT_NEAR(verdict.speedup(), 0.5, 1e-3);
  EXPECT_FALSE(verdict.gains());
  EXPECT_THAT(verdict.detail, testing::HasSubstr("given up after one pair of timed launches"));
  EXPECT_EQ(fake::launches["of ms, far slower"], 2 + 1) << "verified on two instances, and timed";
  EXPECT_EQ(fake::launches["of ms, original"], 2) << "whose process, too, is past its first launch";
}

TEST_F(GlanceTest, WhatIsSlowInItsFirstLaunchesAloneWins) {
  Verdict verdict = judge("of ms, faster once warm");
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_NEAR(verdict.speedup(), 1.25, 1e-3);
  EXPECT_TRUE(verdict.gains());
  EXPECT_GT(verdict.timings[0].samples, 1);
  EXPECT_EQ(verdict.detail, "");
}

TEST_F(GlanceTest, WhatIsNotFarSlowerIsRaced) {
  Verdict verdict = judge("of ms, slower");
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_GT(verdict.timings[0].samples, 1);
  EXPECT_EQ(verdict.detail, "");
}

}  // namespace
}  // namespace kernelift::sandbox
