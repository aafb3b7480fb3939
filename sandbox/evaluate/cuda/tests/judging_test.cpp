// The device's arithmetic of judging, run on the host beside the Comparator that it must agree with.
#include "sandbox/evaluate/cuda/runner/kernels/judging.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "sandbox/judge/comparator.h"

namespace kernelift {
namespace {

judging::Task task_for(const ElementType& type, const FloatTolerance& tolerance) {
  judging::Task task{};
  task.kind = static_cast<judging::u32>(type.kind), task.width = task.stride = type.width;
  task.ulps = tolerance.ulps, task.relative = tolerance.relative, task.absolute = tolerance.absolute, task.envelope = tolerance.envelope;
  return task;
}

/// Both judges on one pair of bit patterns.
void expect_agreement(const ElementType& type, const FloatTolerance& tolerance, uint64_t want, uint64_t have) {
  std::byte left[8] = {}, right[8] = {};
  std::memcpy(left, &want, type.width), std::memcpy(right, &have, type.width);
  Comparison host = Comparator(type, tolerance).compare({left, type.width}, {right, type.width});
  // One element is its own neighbourhood.
  double allowed = tolerance.envelope > 0 ? tolerance.envelope * scale_of(type, {left, type.width}) : 0;
  judging::Difference device = judging::compare(task_for(type, tolerance), want, have, allowed);
  ASSERT_EQ(device.mismatch, !host.ok()) << type.show(left) << " against " << type.show(right);
  if (device.measured) {
    // Of doubles of opposite signs the host adds two rounded halves.
    ASSERT_DOUBLE_EQ(device.distance, host.largest_ulps) << type.show(left) << " against " << type.show(right);
    ASSERT_EQ(device.absolute, host.largest_absolute);
  }
  if (device.mismatch) ASSERT_DOUBLE_EQ(device.distance, host.first->distance);
}

uint64_t bits_of(const ElementType& type, double value) {
  uint64_t bits = 0;
  std::byte bytes[8] = {};
  type.set_real(bytes, value);
  std::memcpy(&bits, bytes, type.width);
  return bits;
}

TEST(Judging, AgreesWithTheComparatorOnSpecialValues) {
  for (auto name : {"float", "double", "half", "bfloat16"}) {
    ElementType type = ElementType::parse(name);
    std::vector<uint64_t> values;
    for (double value : {0.0, 1.0, 1.5, 3.25e4, 6.1e-5, 1e-300, std::numeric_limits<double>::infinity()})
      for (double sign : {1.0, -1.0}) values.push_back(bits_of(type, sign * value));
    uint64_t infinity = bits_of(type, std::numeric_limits<double>::infinity());
    for (uint64_t more : {infinity + 1, infinity + 2, uint64_t(1), uint64_t(2), uint64_t(1) << (8 * type.width - 1) | 1}) values.push_back(more);
    for (auto& tolerance : {FloatTolerance{}, FloatTolerance::standard(type), FloatTolerance{0, 1e-3, 0, 0}, FloatTolerance{0, 0, 0.5, 0},
                            FloatTolerance{2, 0, 0, 1e-4}})
      for (uint64_t want : values)
        for (uint64_t have : values) expect_agreement(type, tolerance, want, have);
  }
}

TEST(Judging, AgreesWithTheComparatorOnRandomBits) {
  std::mt19937_64 random(7);
  for (auto name : {"float", "double", "half", "bfloat16", "int", "unsigned int", "short", "unsigned short", "char", "bool", "long long",
                    "unsigned long long", "byte"}) {
    ElementType type = ElementType::parse(name);
    uint64_t mask = type.width == 8 ? ~0ull : (1ull << (8 * type.width)) - 1;
    for (int i = 0; i < 20000; ++i) {
      uint64_t want = random() & mask, have = random() % 2 ? (want + random() % 40) & mask : random() & mask;
      expect_agreement(type, FloatTolerance::standard(type), want, have);
    }
  }
}

TEST(Judging, KeepsTheWorstDistanceAndItsPlaceInOneNumber) {
  EXPECT_LT(judging::worst_key(0, 5), judging::worst_key(1, 0));
  EXPECT_LT(judging::worst_key(1, 9), judging::worst_key(1e30, 0));
  EXPECT_LT(judging::worst_key(1e30, 9), judging::worst_key(std::numeric_limits<double>::infinity(), 0));
  EXPECT_GT(judging::worst_key(0, 0), 0u);
}

TEST(Judging, LearnsWhatIsWrittenAndWhatIsLeftAlone) {
  judging::Task task = task_for(ElementType::parse("int"), {});
  EXPECT_EQ(judging::classify(task, 7, 7, 0xc5c5c5c5, 0), judging::kWritten);
  EXPECT_EQ(judging::classify(task, 7, 0xc5c5c5c5, 0xc5c5c5c5, 0), judging::kUntouched);
  EXPECT_EQ(judging::classify(task, 0xc5c5c5c5, 0xc5c5c5c5, 0xc5c5c5c5, 0), judging::kWritten | judging::kUntouched);
  EXPECT_EQ(judging::classify(task, 7, 8, 0xc5c5c5c5, 0), 0);
}

}  // namespace
}  // namespace kernelift
