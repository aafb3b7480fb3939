// Kernels of which one launch takes a good part of a second on the CPU device: how often they are run, and what is said of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift {
namespace {

using ::testing::HasSubstr;

uint32_t walked(uint32_t steps) {
  uint32_t x = 7;
  for (uint32_t i = 0; i < steps; ++i) x = x * 1664525u + (1013904223u ^ (x >> 16));
  return x;
}

/// As many as take about this long on this machine as it is now.
uint32_t steps_for(std::chrono::duration<double> wanted) {
  constexpr uint32_t kSample = 50'000'000;
  auto begin = std::chrono::steady_clock::now();
  volatile uint32_t end = walked(kSample);
  (void)end;
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return static_cast<uint32_t>(std::clamp(kSample * (wanted / took), 1e7, 4e9));
}

/// One thread that takes one step after the other.
MepFixture walk_mep() {
  MepFixture fixture("__global__ void walk(unsigned* at, unsigned steps) {\n"
                     "  unsigned x = at[0];\n"
                     "  for (unsigned i = 0; i < steps; ++i) x = x * 1664525u + (1013904223u ^ (x >> 16));\n"
                     "  at[0] = x;\n}\n",
                     "_Z4walkPjj", "walk(unsigned int*, unsigned int)");
  static const uint32_t steps = steps_for(std::chrono::duration<double>(2.5 * kLongSeconds)), end = walked(steps);
  MepInstance& instance = fixture.add_instance("only", 1, 1);
  fixture.add_buffer(instance, "at", "uint", kTestArena, std::vector<uint32_t>{7}, std::vector<uint32_t>{end});
  fixture.add_argument(instance, steps, "steps");
  return fixture;
}

TEST(LongKernel, IsRunOnceWhereNothingButTheOriginalIsAskedAbout) {
  MepFixture fixture = walk_mep();
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  ReplayOptions options;
  std::vector<std::string> told;
  options.tell = [&](const std::string& text) { told.push_back(text); };
  auto report = replay(fixture.path(), options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->pass()) << report->text();
  ASSERT_GT(report->warm->instances[0].seconds, kLongSeconds);
  EXPECT_THAT(told, ::testing::ElementsAre(HasSubstr("one run of instance only takes ")));
  EXPECT_THAT(report->text(), HasSubstr("us, one run\n"));
  EXPECT_FALSE(report->cold) << "caches make no difference to it";
}

TEST(LongKernel, IsNotTunedInATimeThatCannotSuffice) {
  MepFixture fixture = walk_mep();
  EvaluatorOptions options;
  options.few_candidates = true;
  options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(9);
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_FALSE(evaluator.ok());
  EXPECT_EQ(evaluator.error().exit, Exit::No);
  EXPECT_THAT(evaluator.error().message, HasSubstr("one run of the original takes "));
  EXPECT_THAT(evaluator.error().message, HasSubstr("give it more time (--time)"));
  EXPECT_LT(std::chrono::steady_clock::now(), *options.deadline) << "it was said at once";
}

}  // namespace
}  // namespace kernelift
