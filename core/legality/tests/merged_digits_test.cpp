// Positions that are digits of one number.
#include "core/legality/index/merged_digits.h"

#include <gtest/gtest.h>

#include "core/tests/expression_literal.h"

namespace kernelift::legality {
namespace {

std::string merged(const char* offset, const char* domain, Dim3 block = {8, 8, 4},
                   std::vector<std::string> counters = {"loop.k1", "loop.k2"}) {
  KernelModel::Access access;
  access.offset = *Expression::parse(offset), access.domain = *Expression::parse(domain);
  access.counters = std::move(counters);
  auto made = with_merged_digits(access, block);
  return made ? made->offset.text() + " if " + made->domain.text() : "none";
}

TEST(MergedDigits, ThreadsAndIterationsOfATileAreOneNumber) {
  EXPECT_EQ(merged("4 * (8 * tid.z + tid.x + 32 * loop.k1)",
                   "loop.k1 >= 0 && 32 * loop.k1 < n && 8 * tid.z + tid.x + 32 * loop.k1 < n"),
            "loop.m1 * 4 if loop.m1 < n && loop.m1 >= 0");
  EXPECT_EQ(merged("4 * (tid.y + 8 * loop.k2) * n", "loop.k2 >= 0 && loop.k2 < 8 && tid.y + 8 * loop.k2 < n"),
            "loop.m1 * 4 * n if loop.m1 < n && loop.m1 >= 0 && loop.m1 < 64");
}

TEST(MergedDigits, AQuotientAndARemainderAreWhatTheyLeave) {
  EXPECT_EQ(merged("4 * ((tid.x + 8 * tid.y & 63) + 64 * ((64 * tid.z + 8 * tid.y + tid.x) / 64))", "tid.x < n"),
            "(tid.x + loop.m1 * 8) * 4 if tid.x < n && loop.m1 >= 0 && loop.m1 < 32")
      << "tid.x is asked for alone, and stays";
  EXPECT_EQ(merged("(tid.x + -16 * tid.y & 31) + 32 * ((16 * tid.y + 64 * tid.z + tid.x) / 32)", "1", {16, 4, 4}),
            "loop.m2 if loop.m2 >= 0 && loop.m2 < 256")
      << "threads along y are two digits";
  EXPECT_EQ(merged("(8 * tid.y + tid.x) % 32", "1"),
            "loop.m2 if loop.h1 >= 0 && loop.h1 < 2 && loop.m2 >= 0 && loop.m2 < 32");
  EXPECT_EQ(merged("(loop.k1 + 8) / 8", "loop.k1 >= 0"), "none") << "what it leaves has no bound";
}

TEST(MergedDigits, WhatIsUsedOtherwiseStays) {
  EXPECT_EQ(merged("8 * tid.y + tid.x", "tid.y == 3"), "none");
  EXPECT_EQ(merged("8 * tid.y + tid.x", "tid.x % 2 == 0"),
            "loop.l1 + loop.m2 * 2 if loop.l1 == 0 && loop.l1 >= 0 && loop.l1 < 2 && loop.m2 >= 0 && loop.m2 < 32");
  EXPECT_EQ(merged("8 * tid.y + tid.x", "term.t1 > 0"), "none") << "what the term is of has positions, too";
  EXPECT_EQ(merged("term.t1 + 8 * tid.y + tid.x", "1"), "none");
  EXPECT_EQ(merged("9 * tid.y + tid.x", "1"), "none") << "with gaps";
  EXPECT_EQ(merged("4 * tid.y + tid.x", "1"), "none") << "with elements that several touch";
  EXPECT_EQ(merged("8 * tid.y + tid.x * tid.x", "1"), "none");
  EXPECT_EQ(merged("8 * loop.k1 + tid.x", "1"), "none") << "it does not begin at 0";
  EXPECT_EQ(merged("8 * loop.k1 + tid.x", "loop.k1 >= 0 && loop.k1 < n"), "none");
}

}  // namespace
}  // namespace kernelift::legality
