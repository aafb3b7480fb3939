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

TEST(ReplayCompare, JudgesByTheNeighbourhoodAndNotByTheLargestOfTheBuffer) {
  std::vector<float> values(4096, 1.0f);
  std::fill(values.begin(), values.begin() + 1024, 1e6f);
  auto count = [](const std::vector<float>& expected, const std::vector<float>& got) {
    auto as_bytes = [](const std::vector<float>& row) {
      auto* begin = reinterpret_cast<const unsigned char*>(row.data());
      return std::vector<unsigned char>(begin, begin + row.size() * sizeof(float));
    };
    return compare(as_bytes(expected), as_bytes(got), kFloat, default_tolerance(kFloat)).count;
  };
  auto wrong = values;
  for (size_t i = 1024; i < wrong.size(); ++i) wrong[i] = 0.5f;
  EXPECT_EQ(count(values, wrong), 3072u);
  for (float mark : {std::numeric_limits<float>::max(), 1e30f, kInf})
    for (size_t every : {2, 500}) {
      for (size_t i = 0; i < values.size(); i += every) values[i] = wrong[i] = mark;
      EXPECT_GE(count(values, wrong), 1500u) << mark;
    }
  // A smooth block's cosines: what the small ones lack in digits they owe to the large one.
  std::vector<float> cosines, rounded;
  for (int i = 0; i < 1024; ++i)
    cosines.push_back(i % 64 ? 0.5f : 1000.0f), rounded.push_back(i % 64 ? 0.50006f : 1000.0f);
  EXPECT_EQ(count(cosines, rounded), 0u);
}

TEST(ReplayCompare, TakesDenormalsForIntegersWhereNoOtherNumberIsAsSmall) {
  auto as_float = [](int value) {
    float number;
    std::memcpy(&number, &value, sizeof number);
    return number;
  };
  EXPECT_EQ(floats({1, 2, 3, as_float(7)}, {1, 2, 3, as_float(8)}).count, 1u);
  EXPECT_EQ(floats({1, 2, 3, as_float(7)}, {1, 2, 3, 0}).count, 1u);
  EXPECT_EQ(floats({1, 1e-33f, 1e-37f, 3e-41f, 1e-44f}, {1, 1e-33f, 1e-37f, 3.001e-41f, 0}).count, 0u);
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
    return compare(bytes<Cell>({{1, 2, 3, {}}, {4, 5, 6, {}}}), bytes<Cell>({{1, 2, 3, {}}, changed}), shape,
                   Allowance());
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
  allowed.spread = compare(bytes({100.f, 1.f}), bytes({100.f, 1.003536f}), kFloat, 0).needed;
  EXPECT_NEAR(allowed.spread, 5e-5, 1e-7)
      << "of the neighbourhood's root mean square: the element is smaller than that";
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
