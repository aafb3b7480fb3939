// Which values perturbing changes, and which it must keep.
#include "sandbox/judge/perturbation.h"

#include <gtest/gtest.h>
#include <span>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace kernelift::sandbox {
namespace {

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span<T>(values));
}

TEST(Perturbation, JitterChangesEveryFloatSlightlyAndASumVisibly) {
  std::vector<float> values(10000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.5f + static_cast<float>(i % 17);
  auto before = values;
  EXPECT_TRUE(perturb(ElementLayout::parse("float"), bytes_of(values), Perturbation::Jitter, 1));
  double sum = 0, moved = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NE(values[i], before[i]);
    EXPECT_NEAR(values[i] / before[i], 1.003, 0.0011);
    sum += before[i], moved += values[i];
  }
  EXPECT_GT(moved / sum, 1.002);
}

TEST(Perturbation, ChangesEveryFloatingPointType) {
  for (auto* name : {"float", "double", "__half", "__nv_bfloat16"}) {
    ElementType type = ElementType::parse(name);
    std::vector<std::byte> bytes(64 * type.width);
    for (size_t i = 0; i < 64; ++i) type.set_real(&bytes[i * type.width], 1.0 + 0.5 * static_cast<double>(i));
    auto before = bytes;
    EXPECT_TRUE(perturb(ElementLayout::parse(name), bytes, Perturbation::Jitter, 1)) << name;
    for (size_t i = 0; i < 64; ++i)
      EXPECT_GT(type.real(&bytes[i * type.width]), type.real(&before[i * type.width])) << name;
  }
}

TEST(FillZeros, GivesEveryElementOfAnArrayOfZerosAValueOfItsOwn) {
  for (auto* name : {"float", "double", "__half"}) {
    ElementType type = ElementType::parse(name);
    std::vector<std::byte> bytes(64 * type.width);
    EXPECT_TRUE(fill_zeros(ElementLayout::parse(name), bytes, 1)) << name;
    std::set<double> values;
    for (size_t i = 0; i < 64; ++i) values.insert(type.real(&bytes[i * type.width]));
    EXPECT_GE(*values.begin(), 0.5) << name;
    EXPECT_LE(*values.rbegin(), 1.0) << name;
    EXPECT_GT(values.size(), 60u) << name;
  }
}

TEST(FillZeros, KeepsZerosAmongOtherValuesAndIntegers) {
  std::vector<float> values(64);
  values[63] = 1;
  const auto before = values;
  EXPECT_FALSE(fill_zeros(ElementLayout::parse("float"), bytes_of(values), 1));
  EXPECT_EQ(values, before);
  std::vector<int> integers(64);
  EXPECT_FALSE(fill_zeros(ElementLayout::parse("int"), bytes_of(integers), 1));
}

TEST(FillZeros, LooksAtEachFieldOfAStructure) {
  struct Cell {
    int index;
    float value, zero;
  };
  std::vector<Cell> cells(64, {0, 2, 0});
  EXPECT_TRUE(fill_zeros(ElementLayout::parse("{int@0,float@4,float@8}12"), bytes_of(cells), 1));
  for (auto& cell : cells) {
    EXPECT_EQ(cell.index, 0);
    EXPECT_EQ(cell.value, 2);
    EXPECT_GE(cell.zero, 0.5f);
  }
}

TEST(Perturbation, KeepsValuesThatAreNotFloatingPoint) {
  for (auto* name : {"int", "unsigned long", "byte", "pointer", "struct Cell", "bool"})
    for (auto kind : {Perturbation::Jitter, Perturbation::Swap}) {
      std::vector<uint64_t> values(100);
      for (size_t i = 0; i < values.size(); ++i) values[i] = i * 77777777777ull;
      auto before = values;
      EXPECT_FALSE(perturb(ElementLayout::parse(name), bytes_of(values), kind, 1)) << name;
      EXPECT_EQ(values, before) << name;
    }
}

TEST(Perturbation, ChangesOnlyTheFloatFieldsOfAStruct) {
  struct Cell {
    int index;
    float value;
  };
  for (auto kind : {Perturbation::Jitter, Perturbation::Swap}) {
    std::vector<Cell> cells(50);
    for (int i = 0; i < 50; ++i) cells[i] = {i, 1.0f + static_cast<float>(i)};
    EXPECT_TRUE(perturb(ElementLayout::parse("{int@0,float@4}8"), bytes_of(cells), kind, 1));
    bool moved = false;
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(cells[i].index, i);
      moved |= cells[i].value != 1.0f + static_cast<float>(i);
    }
    EXPECT_TRUE(moved);
  }
}

TEST(Perturbation, SwapKeepsTheSetOfValues) {
  std::vector<double> values(99);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  auto before = values;
  EXPECT_TRUE(perturb(ElementLayout::parse("double"), bytes_of(values), Perturbation::Swap, 1));
  EXPECT_NE(values, before);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_LE(std::fabs(values[i] - before[i]), 1) << "neighbours only";
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, before);
}

TEST(Perturbation, KeepsZerosAndNonFiniteValues) {
  std::vector<float> values = {0.0f, INFINITY, -INFINITY, NAN, std::numeric_limits<float>::max()};
  auto before = values;
  EXPECT_FALSE(perturb(ElementLayout::parse("float"), bytes_of(values), Perturbation::Jitter, 1));
  EXPECT_EQ(std::memcmp(values.data(), before.data(), values.size() * sizeof(float)), 0);
}

TEST(Perturbation, KeepsIntegersInMemoryOfFloats) {
  // A particle's float4: its position, and in w its species as an integer, which may be 0.
  std::vector<float> particles;
  for (int i = 0; i < 400; ++i)
    particles.push_back(i % 4 < 3 ? 1.5f + static_cast<float>(i) : std::bit_cast<float>(i / 4 % 5));
  for (auto* layout : {"float4", "{float@0,float@4,float@8,float@12}16"})
    for (auto kind : {Perturbation::Jitter, Perturbation::Swap}) {
      auto moved = particles;
      EXPECT_TRUE(perturb(ElementLayout::parse(layout), bytes_of(moved), kind, 1));
      for (size_t i = 3; i < moved.size(); i += 4) {
        int was = std::bit_cast<int>(particles[i]), is = std::bit_cast<int>(moved[i]);
        EXPECT_TRUE(is == was) << layout << " " << i << " " << name(kind);
      }
    }
}

TEST(Perturbation, IsDeterministic) {
  std::vector<float> once(1000, 2.5f), again = once, other = once;
  perturb(ElementLayout::parse("float"), bytes_of(once), Perturbation::Jitter, 7);
  perturb(ElementLayout::parse("float"), bytes_of(again), Perturbation::Jitter, 7);
  perturb(ElementLayout::parse("float"), bytes_of(other), Perturbation::Jitter, 8);
  EXPECT_EQ(once, again);
  EXPECT_NE(once, other);
}

TEST(RoundOtherwise, MovesFloatsByUnitsInTheirLastPlacesAndLeavesWhatMayBeIntegers) {
  const ElementLayout layout = ElementLayout::parse("float");
  std::vector<float> values(1000, 3.0f);
  values[0] = 0, values[1] = std::bit_cast<float>(uint32_t(7)), values[2] = std::numeric_limits<float>::infinity();
  const std::vector<float> before = values;
  EXPECT_TRUE(round_otherwise(layout, std::as_writable_bytes(std::span(values)), 4, 1));
  int larger = 0, smaller = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i < 3) {
      EXPECT_EQ(std::memcmp(&values[i], &before[i], sizeof(float)), 0) << i;
      continue;
    }
    EXPECT_LE(std::fabs(values[i] - 3.0f), 8 * 3.0f * 0x1p-23f);
    larger += values[i] > 3.0f, smaller += values[i] < 3.0f;
  }
  EXPECT_GT(larger, 300);
  EXPECT_GT(smaller, 300);
}

}  // namespace
}  // namespace kernelift::sandbox
