// The comparison that a MEP carries: what must pass and what must not.
#include "mep-templates/common/replay_core.h"
// Behind what it builds on, as in the file that the writer makes.
#include "mep-templates/common/replay_compare.h"

#include <gtest/gtest.h>

namespace {

using namespace kl_replay;

template <class T>
std::vector<unsigned char> bytes(std::initializer_list<T> values) {
  std::vector<unsigned char> out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.begin(), out.size());
  return out;
}

Difference floats(std::initializer_list<float> expected, std::initializer_list<float> got) {
  return compare(bytes(expected), bytes(got), kFloat, default_tolerance(kFloat));
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

TEST(ReplayCompare, AcceptsRoundingAndNothingMore) {
  EXPECT_EQ(floats({1, 2, -3}, {1.000001f, 2, -3.000002f}).count, 0u);
  EXPECT_EQ(floats({1, 2, -3}, {1.001f, 2, -3}).count, 1u);
  EXPECT_EQ(floats({1, 2, -3}, {1, 2, 3}).index, 2u);
}

TEST(ReplayCompare, TreatsNanAgainstNumberAsMismatchInEitherOrder) {
  EXPECT_EQ(floats({kNan, 1}, {kNan, 1}).count, 0u);
  EXPECT_EQ(floats({kNan, 1}, {0, 1}).count, 1u);
  EXPECT_EQ(floats({0, 1}, {kNan, 1}).count, 1u);
}

TEST(ReplayCompare, TellsInfinitiesApart) {
  EXPECT_EQ(floats({kInf}, {kInf}).count, 0u);
  EXPECT_EQ(floats({kInf}, {-kInf}).count, 1u);
  EXPECT_EQ(floats({kInf}, {3e38f}).count, 1u);
}

TEST(ReplayCompare, TakesMinusZeroForZeroInFloatsOnly) {
  EXPECT_EQ(floats({0.f, 5}, {-0.f, 5}).count, 0u);
  EXPECT_EQ(compare(bytes({0.f}), bytes({-0.f}), kBytes, 0).count, 1u);
}

TEST(ReplayCompare, ForgivesLostDigitsOfCancellingSumsOnlyBelowTheBuffersSize) {
  EXPECT_EQ(floats({1000, 1e-5f}, {1000, 3e-5f}).count, 0u);
  EXPECT_EQ(floats({1, 1e-5f}, {1, 3e-5f}).count, 1u);
}

TEST(ReplayCompare, ComparesIntegersExactly) {
  EXPECT_EQ(compare(bytes({1, 2, 3}), bytes({1, 2, 4}), kInt32, 0.5).count, 1u);
}

TEST(ReplayCompare, FallsBackToBytesForAnOddTail) {
  auto expected = bytes({1.f, 2.f}), got = expected;
  expected.push_back(1), got.push_back(2);
  EXPECT_EQ(compare(expected, got, kFloat, 1e-5).count, 1u);
}

TEST(ReplayCompare, ComparesStructsLaneByLaneAndNoPadding) {
  struct Cell {
    float value;
    int id;
    unsigned char flag, padding[7];
  };
  const Lane lanes[] = {{kFloat, 0}, {kInt32, 4}, {kBytes, 8}};
  const Shape shape = {kBytes, "struct", sizeof(Cell), lanes, 3};
  auto same = [&](Cell changed) {
    return compare(bytes<Cell>({{1, 2, 3, {}}, {4, 5, 6, {}}}), bytes<Cell>({{1, 2, 3, {}}, changed}), shape, Allowance());
  };
  EXPECT_EQ(same({4.00001f, 5, 6, {9, 9}}).count, 0u);
  EXPECT_EQ(same({4.1f, 5, 6, {}}).count, 1u);
  EXPECT_EQ(same({4, 6, 6, {}}).first, 1u);
  EXPECT_EQ(same({4, 5, 7, {}}).first_got, 7.0);
  EXPECT_EQ(same({4.1f, 6, 7, {}}).count, 3u);
}

TEST(ReplayCompare, AllowsWhatRunsDifferByButNothingFarOffAndNothingPastWhatTheUserSets) {
  Allowance allowed;
  EXPECT_EQ(allowed.of(kFloat), default_tolerance(kFloat));
  allowed.spread = compare(bytes({100.f, 1.f}), bytes({100.f, 1.0005f}), kFloat, 0).needed;
  EXPECT_NEAR(allowed.spread, 5e-5, 1e-7) << "of a tenth of the largest value: the element is smaller than that";
  EXPECT_NEAR(allowed.of(kFloat), 2e-4, 1e-6);
  EXPECT_EQ(allowed.of(kInt32), 0);
  allowed.spread = 1e-9;
  EXPECT_DOUBLE_EQ(allowed.of(kFloat), 1e-4) << "an order of chance, of which a quiet device shows little";
  allowed.spread = 1;
  EXPECT_DOUBLE_EQ(allowed.of(kFloat), 1e-3);
  EXPECT_DOUBLE_EQ(allowed.of(kDouble), 1e-10);
  allowed.given = 1e-6;
  EXPECT_EQ(allowed.of(kFloat), 1e-6);
}

TEST(ReplayCompare, ReadsHalvesAndBfloats) {
  EXPECT_EQ(half_value(0x3c00), 1.0);
  EXPECT_EQ(half_value(0xc500), -5.0);
  EXPECT_EQ(half_value(0x0001), std::ldexp(1.0, -24));
  EXPECT_TRUE(std::isinf(half_value(0x7c00)));
  EXPECT_EQ(bfloat_value(0x3fc0), 1.5);
}

TEST(ReplayChecksum, SeesEveryByteAndTheLength) {
  std::vector<unsigned char> data(37, 5);
  u64 sum = checksum(data);
  for (size_t i = 0; i < data.size(); ++i) {
    auto changed = data;
    changed[i] ^= 1;
    EXPECT_NE(checksum(changed), sum) << i;
  }
  data.push_back(0);
  EXPECT_NE(checksum(data), sum);
}

}  // namespace
