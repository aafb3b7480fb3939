// Kernels of which one launch takes a good part of a second on the CPU device: how often they are run, and what is said
// of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;

/// A step is linear over bits (xorshift), so that where many lead is known without going there.
uint32_t step(uint32_t x) {
  x ^= x << 13, x ^= x >> 17;
  return x ^ (x << 5);
}
uint32_t walked(uint32_t from, uint32_t steps) {
  for (uint32_t i = 0; i < steps; ++i) from = step(from);
  return from;
}
uint32_t leads_to(uint32_t from, uint32_t steps) {
  std::array<uint32_t, 32> jump;  // Where each bit goes, by a power of two of steps.
  for (int bit = 0; bit < 32; ++bit) jump[bit] = step(1u << bit);
  auto apply = [&jump](uint32_t x) {
    uint32_t sum = 0;
    for (int bit = 0; bit < 32; ++bit) sum ^= x >> bit & 1 ? jump[bit] : 0;
    return sum;
  };
  for (; steps > 0; steps /= 2) {
    if (steps % 2) from = apply(from);
    std::array<uint32_t, 32> twice;
    for (int bit = 0; bit < 32; ++bit) twice[bit] = apply(jump[bit]);
    jump = twice;
  }
  return from;
}

/// As many as take this long on this machine, whatever else it is doing.
uint32_t steps_for(std::chrono::duration<double> wanted) {
  constexpr uint32_t kSample = 20'000'000;
  auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  double begin = now();
  const uint32_t end = walked(7, kSample);
  double took = now() - begin;
  EXPECT_EQ(end, leads_to(7, kSample));
  return static_cast<uint32_t>(std::clamp(kSample * wanted.count() / took, 1e7, 4e9));
}

/// One thread that takes one step after the other.
MepFixture walk_mep() {
  MepFixture fixture(
      "__global__ void walk(unsigned* at, unsigned steps) {\n"
      "  unsigned x = at[0];\n"
      "  for (unsigned i = 0; i < steps; ++i) { x ^= x << 13, x ^= x >> 17; x ^= x << 5; }\n"
      "  at[0] = x;\n}\n",
      "_Z4walkPjj", "walk(unsigned int*, unsigned int)");
  static const uint32_t steps = steps_for(std::chrono::duration<double>(2 * kLongSeconds)), end = leads_to(7, steps);
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
  bool at_once = std::chrono::steady_clock::now() < *options.deadline;
  EXPECT_EQ(evaluator.error().exit, Exit::No);
  EXPECT_THAT(evaluator.error().message, HasSubstr("give it more time (--time)"));
  // On a machine so busy that the time was over before a single run, that is said instead.
  if (at_once) EXPECT_THAT(evaluator.error().message, HasSubstr("one run of the original takes "));
}

}  // namespace
}  // namespace kernelift::sandbox
