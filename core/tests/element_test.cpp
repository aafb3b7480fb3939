// Element types: names as sources spell them, and the order of float bits.
#include "core/model/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace kernelift {
namespace {

using Kind = ElementType::Kind;

template <class T>
int64_t ordered(const char* type, T value) {
  std::byte bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  return ElementType::parse(type).ordered(bytes);
}

template <class T>
double real(const char* type, T value) {
  std::byte bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  return ElementType::parse(type).real(bytes);
}

TEST(ElementType, ReadsQualifiedSpellings) {
  EXPECT_EQ(ElementType::parse("const float *__restrict__"), (ElementType{Kind::Float, 4}));
  EXPECT_EQ(ElementType::parse("unsigned  int"), (ElementType{Kind::Unsigned, 4}));
  EXPECT_EQ(ElementType::parse("std::uint8_t"), (ElementType{Kind::Unsigned, 1}));
}

TEST(ElementType, TakesVectorsAsRunsOfScalars) {
  EXPECT_EQ(ElementType::parse("double4"), (ElementType{Kind::Double, 8}));
  EXPECT_EQ(ElementType::parse("uchar3"), (ElementType{Kind::Unsigned, 1}));
  EXPECT_EQ(ElementType::parse("__half2"), (ElementType{Kind::Half, 2}));
}

TEST(ElementType, TreatsUnknownTypesAsBytes) {
  EXPECT_EQ(ElementType::parse("struct Cell"), (ElementType{Kind::Bytes, 1}));
  EXPECT_EQ(ElementType::parse(""), (ElementType{Kind::Bytes, 1}));
}

TEST(ElementType, NumbersNeighbouringFloatsConsecutivelyAcrossZero) {
  EXPECT_EQ(ordered("float", 0.0f), ordered("float", -0.0f));
  float tiny = std::nextafter(0.0f, 1.0f);
  EXPECT_EQ(ordered("float", tiny) - ordered("float", -tiny), 2);
  EXPECT_EQ(ordered("float", std::nextafter(-1.5f, -2.0f)) - ordered("float", -1.5f), -1);
  EXPECT_EQ(ordered("double", std::nextafter(1.0, 2.0)) - ordered("double", 1.0), 1);
}

TEST(ElementType, WidensHalfAndBfloat16) {
  EXPECT_EQ(real("half", uint16_t(0x3c00)), 1.0);
  EXPECT_EQ(real("half", uint16_t(0xc000)), -2.0);
  EXPECT_EQ(real("half", uint16_t(0x0001)), std::ldexp(1, -24));
  EXPECT_TRUE(std::isinf(real("half", uint16_t(0x7c00))));
  EXPECT_TRUE(std::isnan(real("half", uint16_t(0x7e00))));
  EXPECT_EQ(real("__nv_bfloat16", uint16_t(0xbf80)), -1.0);
}

TEST(ElementType, ShowsValuesAsTheirTypeSays) {
  auto show = [](const char* type, auto value) {
    std::byte bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    return ElementType::parse(type).show(bytes);
  };
  EXPECT_EQ(show("int", -7), "-7");
  EXPECT_EQ(show("unsigned char", uint8_t(200)), "200");
  EXPECT_EQ(show("bool", uint8_t(1)), "true");
  EXPECT_EQ(show("float", 0.1f), "0.100000001");
}

}  // namespace
}  // namespace kernelift
