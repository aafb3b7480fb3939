// Claims about unreached.h.
#include "core/model/verdict/unreached.h"

#include <gtest/gtest.h>

#include "core/model/verdict/verdict.h"

namespace kernelift {
namespace {

const char* kSource =
    "__global__ void k(float* x, int relu) {\n"
    "  float v = x[threadIdx.x];\n"
    "  if (relu) v = v > 0 ? v : 0;\n"
    "  x[threadIdx.x] = v;\n"
    "}\n";

TEST(Unreached, IsNamedByLineAndCode) {
  Unreached unreached{{{3, 13}}};
  unreached.read(kSource);
  EXPECT_EQ(unreached.text(), "line 3 (if (relu) v = v > 0 ? v : 0;)");
  unreached.places.push_back({4, 3});
  unreached.read(kSource);
  EXPECT_EQ(unreached.text(), "line 3 (if (relu) v = v > 0 ? v : 0;) and line 4 (x[threadIdx.x] = v;)");
}

TEST(Unreached, PlacesBeyondTheTextAndManyOfThemAreNoHarm) {
  Unreached unreached{{{0, 0}, {3, 900}, {77, 1}, {4, 3}, {5, 1}, {6, 1}}};
  unreached.read(kSource);
  EXPECT_EQ(
      unreached.text(),
      "line 0, line 3 (if (relu) v = v > 0 ? v : 0;), line 77, line 4 (x[threadIdx.x] = v;) and 2 further places");
  EXPECT_EQ(Unreached().text(), "");
}

TEST(Unreached, ALongLineIsCutBetweenCharacters) {
  for (size_t begin : {0u, 1u}) {
    Unreached unreached{{{1, 1}}};
    std::string line(begin, 'x');
    for (int i = 0; i < 60; ++i) line += "é";
    unreached.read(line);
    EXPECT_NE(to_json(unreached).dump(), "") << "as UTF-8, or this is an exception";
    EXPECT_LT(unreached.code.at(0).size(), line.size());
  }
}

TEST(Unreached, IsSaidOfAVerdictUnlessItIsProvenToComputeTheSame) {
  Verdict verdict;
  verdict.unreached = Unreached{{{3, 13}}};
  verdict.unreached->read(kSource);
  auto said = [&] {
    auto back = verdict_from_json(to_json(verdict), "v");
    EXPECT_TRUE(back.ok());
    const auto lines = back->beyond_recorded();
    return std::ranges::find(lines,
                             "Not run: line 3 (if (relu) v = v > 0 ? v : 0;): no launch in check mode came there") !=
           lines.end();
  };
  EXPECT_TRUE(said());
  verdict.other_sizes.emplace().known = OtherSizes::Known::Proven;
  EXPECT_TRUE(said()) << "what it stores there is not proven";
  verdict.other_sizes->same_values = true;
  EXPECT_FALSE(said());
  verdict.other_sizes.reset(), verdict.unreached->places.clear();
  EXPECT_EQ(verdict.untried_code(), nullptr);
}

}  // namespace
}  // namespace kernelift
