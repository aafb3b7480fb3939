// Buffers of structs are compared field by field; malformed layouts are treated as plain bytes.
#include "sandbox/judge/error_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace kernelift::sandbox {
namespace {

struct Particle {
  float x, y;
  int id;
  double mass;
};
constexpr const char* kParticle = "{float@0,float@4,int@8,double@16}24";

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

std::vector<Particle> particles() {
  std::vector<Particle> all(100);
  std::memset(static_cast<void*>(all.data()), 0, all.size() * sizeof(Particle));
  for (int i = 0; i < 100; ++i) all[i].x = 1.0f + i, all[i].y = -0.1f * i, all[i].id = i, all[i].mass = 1.0 / (i + 1);
  return all;
}

TEST(ErrorBounds, SpelledLayoutsAreReadBackEqual) {
  EXPECT_EQ(spelled_element({{16, "double"}, {0, "float"}, {4, "float"}, {8, "int"}}, 24), kParticle);
  EXPECT_EQ(spelled_element({{0, "float"}, {4, "float"}}, 8), "float");
  EXPECT_EQ(spelled_element({{0, "int"}, {8, "int"}}, 12), "byte") << "no floats: compared as bytes";
  EXPECT_EQ(spelled_element({{0, "float"}, {8, "float"}}, 12), "{float@0,float@8}12");
  EXPECT_EQ(spelled_element({{0, "float"}, {2, "int"}}, 8), "byte") << "one lies over another";
  EXPECT_EQ(spelled_element({{0, "float"}, {4, "int"}}, 6), "byte") << "it ends before they do";
  EXPECT_EQ(spelled_element({}, 8), "byte");
}

TEST(ErrorBounds, ReadsScalarsVectorsAndStructs) {
  EXPECT_TRUE(ElementLayout::parse("float").plain());
  EXPECT_EQ(ElementLayout::parse("const double4").stride, 8u);
  ElementLayout layout = ElementLayout::parse(kParticle);
  ASSERT_EQ(layout.lanes.size(), 4u);
  EXPECT_EQ(layout.stride, 24u);
  EXPECT_EQ(layout.lanes[2].type, ElementType::parse("int"));
  EXPECT_EQ(layout.lanes[3].offset, 16u);
  EXPECT_TRUE(layout.has_floats());
}

TEST(ErrorBounds, TreatsMalformedLayoutsAsPlainBytes) {
  for (auto* text : {"", "struct Cell", "{", "{}8", "{float}4", "{float@0}", "{float@0}2", "{float@0,float@2}8",
                     "{float@-1}8", "{float@0,int@4}4000000000", "{float@99999999999}4", "{int@4,float@0}8"}) {
    ElementLayout layout = ElementLayout::parse(text);
    EXPECT_TRUE(layout.plain()) << text;
    EXPECT_EQ(layout.lanes[0].type, ElementType()) << text;
  }
}

TEST(ErrorBounds, SurvivesTruncatedAndCorruptedLayouts) {
  const std::string whole = kParticle;
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    ElementLayout layout = ElementLayout::parse(whole.substr(0, cut));
    for (auto& lane : layout.lanes) EXPECT_LE(lane.offset + lane.type.width, layout.stride);
  }
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    ElementLayout layout = ElementLayout::parse(flipped);
    ASSERT_FALSE(layout.lanes.empty());
    for (auto& lane : layout.lanes) EXPECT_LE(lane.offset + lane.type.width, layout.stride);
  }
}

TEST(ErrorBounds, AllowsRoundingInFloatFieldsOnly) {
  ErrorBounds bounds(ElementLayout::parse(kParticle));
  auto expected = particles(), got = expected;
  got[7].x = std::nextafter(got[7].x, 100.0f), got[9].mass = std::nextafter(got[9].mass, 2.0);
  EXPECT_TRUE(bounds.compare(bytes_of(expected), bytes_of(got)).ok());
  EXPECT_FALSE(ErrorBounds().compare(bytes_of(expected), bytes_of(got)).ok()) << "as plain bytes it would be wrong";
  got[50].id += 1;
  Comparison comparison = bounds.compare(bytes_of(expected), bytes_of(got));
  EXPECT_EQ(comparison.mismatches, 1u);
  EXPECT_EQ(comparison.first->index, 50u);
  EXPECT_EQ(comparison.first->offset, 50 * sizeof(Particle) + 8);
  EXPECT_EQ(comparison.first->expected, "50");
}

TEST(ErrorBounds, FindsAWrongFloatOfAStruct) {
  ErrorBounds bounds(ElementLayout::parse(kParticle));
  auto expected = particles(), got = expected;
  got[3].y *= 1.001f;
  Comparison comparison = bounds.compare(bytes_of(expected), bytes_of(got));
  ASSERT_FALSE(comparison.ok());
  EXPECT_EQ(comparison.worst->index, 3u);
  EXPECT_NE(comparison.worst->got.find("byte 4 of the element"), std::string::npos) << comparison.worst->got;
}

TEST(ErrorBounds, IgnoresPaddingAndComparesTheTail) {
  ErrorBounds bounds(ElementLayout::parse(kParticle));
  auto expected = particles();
  std::vector<std::byte> left(bytes_of(expected).begin(), bytes_of(expected).end()), right = left;
  right[12] ^= std::byte{1};
  EXPECT_TRUE(bounds.compare(left, right).ok());
  left.resize(left.size() + 5), right.resize(right.size() + 5);
  right.back() ^= std::byte{1};
  EXPECT_FALSE(bounds.compare(left, right).ok());
}

TEST(ErrorBounds, NamesEachToleranceOnce) {
  EXPECT_EQ(ErrorBounds(ElementLayout::parse(kParticle)).text(), "16 ULP; exact");
  EXPECT_EQ(ErrorBounds(ElementLayout::parse("int")).text(), "exact");
}

}  // namespace
}  // namespace kernelift::sandbox
