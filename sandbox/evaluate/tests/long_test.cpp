// Kernels of which one launch takes a good part of a second on the CPU device: how often they are run, and what is said
// of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/runner/timing/measurement_plan.h"
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

/// Sums of products, `again` times over; exact, since all of them are small whole numbers.
std::string long_sums(const std::string& again) {
  return "__global__ void sums(const float* in, float* out, int n, int times) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  float sum = 0;\n"
         "  for (int t = 0; t < " +
         again +
         "; ++t) {\n"
         "    sum = 0;\n"
         "    for (int j = 0; j < n; ++j) sum += in[j] * in[i];\n"
         "    out[i] = sum;\n"
         "  }\n}\n";
}

/// As often as about 0.6 s take on this machine.
MepFixture long_sums_mep() {
  constexpr int kCount = 1024, kSample = 20;
  std::vector<float> in(kCount), out(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = static_cast<float>(i * 7 % 5 - 2);
  auto begin = std::chrono::steady_clock::now();
  for (int t = 0; t < kSample; ++t)
    for (int i = 0; i < kCount; ++i) {
      float sum = 0;
      for (int j = 0; j < kCount; ++j) sum += in[j] * in[i];
      out[i] = sum;
    }
  const double once = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / kSample;
  MepFixture fixture(long_sums("times"), "_Z4sumsPKfPfii", "sums(float const*, float*, int, int)");
  MepInstance& instance = fixture.add_instance("only", kCount / 64, 64);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in, true);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), std::vector<float>(kCount, -1), out);
  fixture.add_argument(instance, kCount, "n");
  fixture.add_argument(instance, static_cast<int>(std::clamp(1.2 / once, 50.0, 5000.0)), "times");
  return fixture;
}

TEST(LongKernel, IsJudgedByFewLaunchesWhereTheDifferenceIsLarge) {
  MepFixture fixture = long_sums_mep();
  EvaluatorOptions options;
  options.few_candidates = true;
  options.begun = std::chrono::steady_clock::now(), options.deadline = *options.begun + std::chrono::minutes(2);
  std::vector<std::string> told;
  options.tell = [&](const std::string& text) { told.push_back(text); };
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  ASSERT_THAT(told, ::testing::ElementsAre(HasSubstr("one launch of the original takes ")));
  EXPECT_THAT(told[0], ::testing::ContainsRegex(": about [0-9]+ candidates in the "));
  const ConfirmCost cost = (*evaluator)->confirm_cost();
  EXPECT_GT(cost.own, 0);
  EXPECT_LT(cost.own, cost.each);
  auto judged = [&](const std::string& again) {
    Candidate candidate;
    candidate.source = long_sums(again);
    return (*evaluator)->submit(candidate).get();
  };
  const Verdict once = std::get<Verdict>(judged("1"));
  ASSERT_TRUE(once.ok()) << once.text();
  EXPECT_EQ(once.timings[0].samples, 2) << "the launch that verified it, and a pair";
  EXPECT_GT(once.speedup_low(), 3);
  // On a busy machine it may be ended, too.
  const Verdict longer = std::get<Verdict>(judged("times + times / 2"));
  if (longer.ok()) EXPECT_LT(longer.speedup_low(), 1) << longer.text();
  else EXPECT_EQ(longer.outcome, Outcome::TimedOut) << longer.text();
  EXPECT_EQ(std::get<Verdict>(judged("100 * times")).outcome, Outcome::TimedOut);
  const auto original = (*evaluator)->judge_original();
  ASSERT_TRUE(original && std::get<Verdict>(*original).ok());

  Candidate candidate;
  candidate.source = long_sums("1");
  const auto confirmed = (*evaluator)->confirm_by(candidate, *options.deadline);
  ASSERT_TRUE(confirmed);
  const Verdict& verdict = std::get<Verdict>(*confirmed);
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_EQ(verdict.timings[0].samples, 2 + 2) << "two pairs in each of two processes";
  EXPECT_THAT(verdict.detail, HasSubstr("since a launch takes long, not tried: blocks in another order"));
}

TEST(LongKernel, IsNotTunedInATimeThatCannotSuffice) {
  MepFixture fixture = walk_mep();
  EvaluatorOptions options;
  options.few_candidates = true;
  options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_FALSE(evaluator.ok());
  bool at_once = std::chrono::steady_clock::now() < *options.deadline;
  EXPECT_EQ(evaluator.error().exit, Exit::No);
  EXPECT_THAT(evaluator.error().message, HasSubstr("give it more time"));
  // On a machine so busy that the time was over before a single run, that is said instead.
  if (at_once) EXPECT_THAT(evaluator.error().message, HasSubstr("one launch of the original takes "));
}

}  // namespace
}  // namespace kernelift::sandbox
