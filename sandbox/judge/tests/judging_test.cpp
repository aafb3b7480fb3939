// The comparison arithmetic that runs on GPUs as well: numbers from bits, and scales, without a library.
#include "sandbox/judge/judging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "sandbox/judge/comparator.h"

namespace kernelift::sandbox {
namespace {

judging::u32 kind_of(const ElementType& type) { return static_cast<judging::u32>(type.kind); }

uint64_t bits_of(const ElementType& type, double value) {
  std::byte bytes[8] = {};
  type.set_real(bytes, value);
  return bits_of(type, bytes);
}

judging::Magnitudes gathered(const ElementType& type, const std::vector<double>& values) {
  judging::Magnitudes all;
  for (double value : values) judging::note(kind_of(type), type.width, bits_of(type, value), all);
  return all;
}

TEST(Judging, ReadsAndOrdersNumbersAsElementTypesDo) {
  std::mt19937_64 random(7);
  for (auto name : {"float", "double", "half", "bfloat16"}) {
    ElementType type = ElementType::parse(name);
    uint64_t mask = type.width == 8 ? ~0ull : (1ull << (8 * type.width)) - 1;
    for (int i = 0; i < 70000; ++i) {
      uint64_t bits = type.width == 2 ? static_cast<uint64_t>(i) & mask : random() & mask;
      std::byte bytes[8] = {};
      std::memcpy(bytes, &bits, type.width);
      double want = type.real(bytes), have = judging::real(kind_of(type), bits);
      ASSERT_TRUE(std::isnan(want) ? std::isnan(have) : want == have) << name << " " << bits;
      ASSERT_EQ(judging::ordered(bits, type.width), type.ordered(bytes));
      bool denormal = std::fpclassify(want) == FP_SUBNORMAL ||
                      (type.width == 4 && std::fpclassify(static_cast<float>(want)) == FP_SUBNORMAL);
      if (type.width > 2) ASSERT_EQ(judging::is_denormal(kind_of(type), bits), denormal) << name << " " << bits;
    }
  }
}

TEST(Judging, MeasuresIntegersByTheirDifference) {
  for (auto name : {"int", "unsigned int", "short", "char", "long long", "unsigned long long"}) {
    ElementType type = ElementType::parse(name);
    auto apart = [&](uint64_t a, uint64_t b) { return judging::compare(task_of(type, {}), a, b, 0).distance; };
    uint64_t minus_one = type.width == 8 ? ~0ull : (1ull << (8 * type.width)) - 1;
    EXPECT_EQ(apart(7, 4), 3) << name;
    EXPECT_EQ(apart(minus_one, 1), type.kind == ElementType::Kind::Signed ? 2 : static_cast<double>(minus_one - 1))
        << name;
  }
}

TEST(Judging, MagnitudesDoNotDependOnTheOrder) {
  std::mt19937_64 random(3);
  for (auto name : {"float", "double", "half"}) {
    ElementType type = ElementType::parse(name);
    std::vector<double> values = {0, -0.0, 5, -5, 5, 3e38, -3e38, std::numeric_limits<double>::infinity(), NAN};
    for (int i = 0; i < 500; ++i)
      values.push_back(std::ldexp(static_cast<double>(random() % 1000), -static_cast<int>(random() % 20)));
    judging::Magnitudes one = gathered(type, values), other;
    std::shuffle(values.begin(), values.end(), random);
    for (size_t begin = 0; begin < values.size(); begin += 7)
      judging::merge(type.width, other,
                     gathered(type, {values.begin() + begin, values.begin() + std::min(begin + 7, values.size())}));
    EXPECT_EQ(std::memcmp(&one, &other, sizeof one), 0) << name;
  }
}

TEST(Judging, OrdersWorstKeysByDistance) {
  EXPECT_LT(judging::worst_key(0, 5), judging::worst_key(1, 0));
  EXPECT_LT(judging::worst_key(1, 9), judging::worst_key(1e30, 0));
  EXPECT_LT(judging::worst_key(1e30, 9), judging::worst_key(std::numeric_limits<double>::infinity(), 0));
  EXPECT_GT(judging::worst_key(0, 0), 0u);
}

TEST(Judging, ClassifiesWrittenAndUntouchedElements) {
  judging::Task task = task_of(ElementType::parse("int"), {});
  EXPECT_EQ(judging::classify(task, 7, 7, 0xc5c5c5c5, 0), judging::kWritten);
  EXPECT_EQ(judging::classify(task, 7, 0xc5c5c5c5, 0xc5c5c5c5, 0), judging::kUntouched);
  EXPECT_EQ(judging::classify(task, 0xc5c5c5c5, 0xc5c5c5c5, 0xc5c5c5c5, 0), judging::kWritten | judging::kUntouched);
  EXPECT_EQ(judging::classify(task, 7, 8, 0xc5c5c5c5, 0), 0);
}

}  // namespace
}  // namespace kernelift::sandbox
