// Claims about extractor/record/profile.h.
#include "extractor/record/profile.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <random>

#include "extractor/record/config.h"

namespace kernelift::record {
namespace {

/// Of the application: 256 KiB of stack are what some give their threads.
TEST(KernelPattern, NeedsLittleStackForALongName) {
  RecordConfig config;
  config.kernel = "f.*gemm.*k$";
  static KernelPattern pattern(config);
  static const std::string name = "f" + std::string(200'000, 'x') + "gemm" + std::string(1000, 'y') + "k";
  pthread_attr_t small;
  pthread_attr_init(&small);
  ASSERT_EQ(pthread_attr_setstacksize(&small, 256 << 10), 0);
  pthread_t thread;
  void* wanted = nullptr;
  ASSERT_EQ(pthread_create(
                &thread, &small, [](void*) -> void* { return pattern.wants(name, "") ? &pattern : nullptr; }, nullptr),
            0);
  pthread_join(thread, &wanted);
  EXPECT_TRUE(wanted);
}

TEST(Durations, MedianIsExactForFewLaunches) {
  Durations durations;
  for (double us : {5.0, 1.0, 9.0, 3.0}) durations.add(us);
  EXPECT_EQ(durations.median(), 4);
  EXPECT_EQ(durations.shortest(), 1);
  EXPECT_EQ(durations.longest(), 9);
  EXPECT_EQ(durations.total(), 18);
}

TEST(Durations, MedianStaysCloseOverManyLaunches) {
  Durations durations;
  std::mt19937 generator(3);
  std::lognormal_distribution<double> distribution(2, 1);
  for (int i = 0; i < 200'000; ++i) durations.add(distribution(generator));
  EXPECT_NEAR(durations.median(), std::exp(2.0), 0.1 * std::exp(2.0));
}

TEST(LaunchProfile, SumsByGeometryMostTimeFirst) {
  LaunchProfile profile;
  Geometry small{{1, 1, 1}, {32, 1, 1}, 0, false}, large{{100, 1, 1}, {32, 1, 1}, 0, false};
  for (int i = 0; i < 10; ++i) profile.add(small, 1), profile.add(large, 5);
  auto summary = profile.summary();
  ASSERT_EQ(summary.shapes.size(), 2u);
  EXPECT_EQ(summary.shapes[0].geometry, large);
  EXPECT_EQ(summary.shapes[0].total_us, 50);
  EXPECT_EQ(summary.count, 20u);
}

TEST(LaunchProfile, StaysBoundedOverEndlessGeometries) {
  LaunchProfile profile;
  for (uint32_t i = 1; i <= 5000; ++i) profile.add({{i, 1, 1}, {32, 1, 1}, 0, false}, 1);
  EXPECT_LE(profile.summary().shapes.size(), 1024u);
  EXPECT_EQ(profile.summary().count, 5000u);
}

TEST(MergeProfiles, JoinsOneKernelOfTwoModules) {
  std::vector<KernelProfile> profiles = {{"k", "_Z1kv", 2, 10, 1, 5, 9, {{{}, 2, 10}}},
                                         {"other", "_Z5otherv", 1, 100, 100, 100, 100, {}},
                                         {"k", "_ZL1kv", 3, 30, 0.5, 10, 20, {{{}, 3, 30}}},
                                         {"never", "", 0, 0, 0, 0, 0, {}}};
  auto merged = merge_profiles(profiles);
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].key, "other");
  EXPECT_EQ(merged[1].count, 5u);
  EXPECT_EQ(merged[1].min_us, 0.5);
  ASSERT_EQ(merged[1].shapes.size(), 1u);
  EXPECT_EQ(merged[1].shapes[0].count, 5u);
}

TEST(KernelSpan, IsFromTheFirstStartToTheLastEndInWhateverOrderKernelsAreReported) {
  KernelSpan span;
  EXPECT_EQ(span.seconds(), 0);
  span.add(12, 13), span.add(10, 10.5), span.add(11, 11.25);
  EXPECT_EQ(span.seconds(), 3);
}

}  // namespace
}  // namespace kernelift::record
