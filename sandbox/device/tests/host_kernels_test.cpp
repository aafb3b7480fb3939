// The runner's own comparisons on the host: their short cuts for plain floats say what the general way says.
#include "sandbox/device/host_kernels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "sandbox/judge/judging.h"
#include "sandbox/judge/mixture.h"

namespace kernelift::sandbox {
namespace {

using judging::Finding;
using judging::Task;

Finding run(std::string_view name, const Task& task, const std::vector<float>& expected, const std::vector<float>& got,
            uint32_t stride) {
  Finding finding{0, judging::kNone, 0, 0, 0, judging::kNone, 0};
  Task whole = task;
  whole.expected = reinterpret_cast<uint64_t>(expected.data()), whole.got = reinterpret_cast<uint64_t>(got.data());
  whole.into = reinterpret_cast<uint64_t>(&finding);
  whole.kind = judging::kFloat, whole.width = sizeof(float), whole.stride = stride;
  whole.count = expected.size() * sizeof(float) / stride;
  for (auto& kernel : host_kernels())
    if (name == kernel.name) kernel.run({reinterpret_cast<const std::byte*>(&whole), sizeof whole});
  return finding;
}

/// The same numbers as the first fields of pairs.
std::vector<float> spaced(const std::vector<float>& values) {
  std::vector<float> pairs;
  for (float value : values) pairs.push_back(value), pairs.push_back(0);
  return pairs;
}

TEST(HostKernels, JudgeFloatsOfALargeBufferLikeTheSameFloatsInStructs) {
  using Limits = std::numeric_limits<float>;
  const float special[] = {0,
                           -0.0f,
                           Limits::denorm_min(),
                           -Limits::denorm_min(),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::max(),
                           Limits::min()};
  std::mt19937 random(1);
  std::uniform_real_distribution<float> value(-10, 10);
  constexpr size_t kCount = 600'001;
  for (float noise : {1e-7f, 1e-5f})
    for (unsigned rarity : {0u, 40'000u, 50u}) {
      std::vector<float> expected(kCount), got(kCount);
      for (size_t i = 0; i < kCount; ++i) {
        expected[i] = value(random), got[i] = expected[i] + noise * value(random);
        if (rarity && random() % rarity == 0) expected[i] = special[random() % std::size(special)];
        if (rarity && random() % rarity == 0) got[i] = special[random() % std::size(special)];
      }
      const std::vector<float> expected_fields = spaced(expected), got_fields = spaced(got);
      for (double envelope : {0.0, 1e-6}) {
        Task task{};
        task.ulps = 4, task.absolute = 1e-7, task.relative = 1e-7, task.envelope = envelope, task.typical = envelope;
        task.zero_signs = 1;
        for (const char* name : {"kl_compare", "kl_spread"}) {
          const Finding fast = run(name, task, expected, got, sizeof(float));
          const Finding general = run(name, task, expected_fields, got_fields, 2 * sizeof(float));
          EXPECT_EQ(std::memcmp(&fast, &general, sizeof fast), 0)
              << name << ", noise " << noise << ", rarity " << rarity << ", envelope " << envelope << ": "
              << fast.mismatches << " and " << general.mismatches << ", " << fast.changed << " and " << general.changed
              << ", " << judging::from_bits(fast.largest_ulps) << " and " << judging::from_bits(general.largest_ulps);
        }
      }
    }
}

TEST(HostKernels, FindTheFirstOfTheDifferencesOfALargeBufferAndCountThemAll) {
  constexpr size_t kCount = 2'000'001;
  std::vector<float> expected(kCount, 1.0f), got = expected;
  Task task{};
  for (size_t wrong : {kCount - 1, size_t(1'700'000), size_t(900'001), size_t(900'000)}) {
    got[wrong] = 2.0f;
    const Finding finding = run("kl_compare", task, expected, got, sizeof(float));
    EXPECT_EQ(finding.first, wrong);
  }
  const Finding finding = run("kl_compare", task, expected, got, sizeof(float));
  EXPECT_EQ(finding.mismatches, 4u);
  EXPECT_EQ(finding.changed, 4u);
  EXPECT_EQ(judging::from_bits(finding.largest_absolute), 1);
}

TEST(HostKernels, MixElementsOfAnyWidthByTheirBits) {
  constexpr uint64_t kCount = 137, kSeed = 11;
  for (uint64_t width : {1u, 2u, 4u, 8u, 12u}) {
    std::vector<std::byte> one(kCount * width, std::byte{1}), other(kCount * width, std::byte{2}), to(one.size() + 1);
    std::byte* into = &to[1];
    const uint64_t arguments[] = {reinterpret_cast<uint64_t>(into),
                                  reinterpret_cast<uint64_t>(one.data()),
                                  reinterpret_cast<uint64_t>(other.data()),
                                  one.size(),
                                  width,
                                  kSeed};
    for (auto& kernel : host_kernels())
      if (std::string_view(kernel.name) == "kl_mix") kernel.run({std::as_bytes(std::span(arguments)).data(), 48});
    for (uint64_t i = 0; i < to.size() - 1; ++i) {
      const uint64_t element = i / width;
      const bool of_other = judging::draw_bits(kSeed, element / 64) >> element % 64 & 1;
      ASSERT_EQ(into[i], of_other ? std::byte{2} : std::byte{1}) << "byte " << i << " of elements of " << width;
    }
  }
}

}  // namespace
}  // namespace kernelift::sandbox
