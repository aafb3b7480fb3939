// Originals that do not leave the same twice: told by name where an order is raced for, allowed for where sums only
// round in another order.
#include <gmock/gmock.h>

#include <numeric>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;

MepFixture stamps() {
  MepFixture fixture("__global__ void stamp(int* out) { out[threadIdx.x] = (int)clock64(); }\n", "_Z5stampPi",
                     "stamp(int*)");
  MepInstance& instance = fixture.add_instance("a", 1, 64);
  fixture.add_buffer(instance, "out", "int", kTestArena, std::vector<int>(64, -1), std::vector<int>(64, 5));
  return fixture;
}

Result<ReplayReport> replayed(const MepFixture& fixture, unsigned threads = 0) {
  EXPECT_TRUE(fixture.mep.write(fixture.path()).ok());
  ReplayOptions options;
  options.cold = false, options.threads = threads;
  return replay(fixture.path(), options);
}

TEST(Unsteady, ReplayNamesWhatTheOriginalItselfDoesNotRepeat) {
  auto report = replayed(stamps());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_FALSE(report->pass());
  EXPECT_THAT(report->text(), HasSubstr("the original itself does not repeat: 64 of 64 elements of out differ between "
                                        "two runs of it on the same memory"));
}

TEST(Unsteady, NothingIsTunedAgainstIt) {
  MepFixture fixture = stamps();
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), {});
  ASSERT_FALSE(evaluator.ok());
  EXPECT_EQ(evaluator.error().exit, Exit::No);
  EXPECT_THAT(evaluator.error().message, HasSubstr("the original itself does not repeat: "));
}

TEST(Unsteady, ARaceThatOneCoreAlwaysWinsTheSameWayIsSeenOnTwo) {
  constexpr int kBlocks = 4096, kThreads = 128, kCount = kBlocks * kThreads;
  MepFixture fixture(
      "__global__ void compact(int* out, int* next) { out[atomicAdd(next, 1)] = blockIdx.x * blockDim.x + threadIdx.x; "
      "}\n",
      "_Z7compactPiS_", "compact(int*, int*)");
  MepInstance& instance = fixture.add_instance("a", kBlocks, kThreads);
  std::vector<int> places(kCount);
  std::iota(places.begin(), places.end(), 0);
  fixture.add_buffer(instance, "out", "int", kTestArena, std::vector<int>(kCount, -1), places);
  fixture.add_buffer(instance, "next", "int", kTestArena + (uint64_t(64) << 20), std::vector<int>{0},
                     std::vector<int>{kCount});
  // On a busy machine the second core may come too late to race at all.
  constexpr int kTries = 10;
  bool seen = false;
  for (int i = 0; i < kTries && !seen; ++i) {
    auto report = replayed(fixture, 1);
    ASSERT_TRUE(report.ok()) << report.error().message;
    seen = report->text().find("the original itself does not repeat: ") != std::string::npos;
  }
  EXPECT_TRUE(seen);
}

TEST(Unsteady, WhatALaunchCountsUpIsPutBackBetweenTimedLaunches) {
  MepFixture fixture("__global__ void push(int* out, int* next) { out[*next] = 5; *next = *next + 1; }\n",
                     "_Z4pushPiS_", "push(int*, int*)");
  MepInstance& instance = fixture.add_instance("a", 1, 1);
  fixture.add_buffer(instance, "out", "int", kTestArena, std::vector<int>{-1}, std::vector<int>{5});
  fixture.add_buffer(instance, "next", "int", kTestArena + (uint64_t(64) << 20), std::vector<int>{0},
                     std::vector<int>{1});
  auto report = replayed(fixture);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->pass()) << report->text();
}

TEST(Unsteady, SumsInAnyOrderAreAllowedForByTheirOwnSpread) {
  constexpr int kBlocks = 512, kThreads = 32, kCount = kBlocks * kThreads;
  MepFixture fixture(
      "__global__ void sum(const float* in, float* out) {\n"
      "  atomicAdd(out, in[blockIdx.x * blockDim.x + threadIdx.x]);\n"
      "}\n",
      "_Z3sumPKfPf", "sum(float const*, float*)");
  MepInstance& instance = fixture.add_instance("a", kBlocks, kThreads);
  std::vector<float> in(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = 1.0f / float(i % 97 + 1);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), std::vector<float>{0},
                     std::vector<float>{std::accumulate(in.begin(), in.end(), 0.0f)});
  auto report = replayed(fixture);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->pass()) << report->text();
}

}  // namespace
}  // namespace kernelift::sandbox
