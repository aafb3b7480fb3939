// Kernels of which one launch takes a good part of a second on the CPU device: how often they are run, and what is said of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift {
namespace {

using ::testing::HasSubstr;

/// One thread that takes one step after the other; long enough on any machine.
constexpr uint32_t kSteps = 500'000'000;

MepFixture walk_mep() {
  MepFixture fixture("__global__ void walk(unsigned* at, unsigned steps) {\n"
                     "  unsigned x = at[0];\n"
                     "  for (unsigned i = 0; i < steps; ++i) x = x * 1664525u + (1013904223u ^ (x >> 16));\n"
                     "  at[0] = x;\n}\n",
                     "_Z4walkPjj", "walk(unsigned int*, unsigned int)");
  static const uint32_t end = [] {
    uint32_t x = 7;
    for (uint32_t i = 0; i < kSteps; ++i) x = x * 1664525u + (1013904223u ^ (x >> 16));
    return x;
  }();
  MepInstance& instance = fixture.add_instance("only", 1, 1);
  fixture.add_buffer(instance, "at", "uint", kTestArena, std::vector<uint32_t>{7}, std::vector<uint32_t>{end});
  fixture.add_argument(instance, kSteps, "steps");
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
  ASSERT_GT(report->warm->instances[0].seconds, kLongSeconds) << "this machine is too fast for the test";
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
