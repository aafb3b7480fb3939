// Tests of stencil_register_tiling, as text before and after. Every rewritten text must parse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

constexpr const char* kRule = "stencil_register_tiling";
const Bindings kFour = {{"rows", 4}};

/// Five points of a plane.
const std::string kCross = R"(__global__ void k(const float* a, float* b, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i > 0 && i < n - 1 && j > 0 && j < n - 1)
    b[i * n + j] = a[i * n + j - 1] + a[(i - 1) * n + j] + a[i * n + j] + a[(i + 1) * n + j] + a[n * i + 1 + j];
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  KERNELIFT_ASSERT(at != text.npos, "a test changes what there is");
  return text.replace(at, from.size(), to);
}

std::string tiled(const std::string& text, const RuleContext& known = plane(), int64_t rows = 4) {
  return after(kRule, text, {{"rows", rows}}, 0, known);
}

/// Why the rule does not apply to the text; "" if it says nothing.
std::string reason(const std::string& text, RuleContext known = plane()) {
  std::string why;
  known.declined = [&](const Rule& rule, const std::string& sentence) {
    why = std::string(rule.name) + " of " + sentence;
  };
  EXPECT_TRUE(offers(kRule, text, kFour, known).empty());
  return why;
}

TEST(StencilRegisterTiling, LoadsWhatRowsShareOnce) {
  EXPECT_EQ(tiled(kCross), R"(__global__ void k(const float* a, float* b, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i_first = (blockIdx.y * blockDim.y + threadIdx.y) * 4 + 1;
  if (j > 0 && j < n - 1) {
    // Each thread computes 4 rows, and keeps what they share of a in registers.
    float a_rows[6];
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      int i = i_first + u;
      if (i < n - 1) {
        if (u == 0) {
          a_rows[0] = a[(i - 1) * n + j];
          a_rows[1] = a[i * n + j];
        }
        a_rows[u + 2] = a[(i + 1) * n + j];
      }
    }
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      int i = i_first + u;
      if (i < n - 1) {
        b[i * n + j] = a[i * n + j - 1] + a_rows[u] + a_rows[u + 1] + a_rows[u + 2] + a[n * i + 1 + j];
      }
    }
  }
}
)");
  auto found = offers(kRule, kCross, kFour, plane());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("gy").text(), "ceil_div(gy, 4)");
  EXPECT_EQ(found[0].launch.size(), 1u);
  EXPECT_TRUE(found[0].premises.empty());
  EXPECT_EQ(found[0].place, "rows of i");
}

TEST(StencilRegisterTiling, SlidesAWindowOverManyRows) {
  EXPECT_THAT(tiled(replaced(kCross, " + a[n * i", " - a[(i - 1) * n + j - 1] + a[n * i"), plane(), 16), HasSubstr(R"(
    // Each thread computes 16 rows, and keeps what they share of a in registers.
    float a_rows[2];
    float a_rows2[3];
    #pragma unroll 4
    for (int u = 0; u < 16; ++u) {
      int i = i_first + u;
      if (i < n - 1) {
        if (u == 0) {
          a_rows[0] = a[(i - 1) * n + j - 1];
          a_rows2[0] = a[(i - 1) * n + j];
          a_rows2[1] = a[i * n + j];
        }
        a_rows[1] = a[i * n + j - 1];
        a_rows2[2] = a[(i + 1) * n + j];
        b[i * n + j] = a_rows[1] + a_rows2[0] + a_rows2[1] + a_rows2[2] - a_rows[0] + a[n * i + 1 + j];
        a_rows[0] = a_rows[1];
        a_rows2[0] = a_rows2[1];
        a_rows2[1] = a_rows2[2];
      }
    }
)"));
}

TEST(StencilRegisterTiling, ReadsThroughDeclarations) {
  const std::string text = tiled(R"(__global__ void k(const double* in, double* across, double* down, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int at = y * w + x;
  if (x >= w - 1 || y >= h - 1 || x < 1 || y < 1) return;
  // The two directions.
  across[at] = 0.5 * (in[at + 1] - in[at - 1]);
  double above = in[at - w];  // Of the row before.
  down[at] = 0.5 * (in[at + w] - above);
}
)");
  EXPECT_THAT(text, HasSubstr(R"(
  const int y_first = (blockIdx.y * blockDim.y + threadIdx.y) * 4 + 1;
  if (x >= w - 1 || x < 1) return;
)"));
  EXPECT_THAT(text, HasSubstr(R"(
      const int at = y * w + x;
      if (u < 2) in_rows[u] = in[at - w];
      in_rows[u + 2] = in[at + w];
)"));
  EXPECT_THAT(text, HasSubstr(R"(
      // The two directions.
      across[at] = 0.5 * (in[at + 1] - in[at - 1]);
      double above = in_rows[u];  // Of the row before.
      down[at] = 0.5 * (in_rows[u + 2] - above);
)"));
}

TEST(StencilRegisterTiling, KeepsOutputsApartFromInputsWhereTheirOrderMatters) {
  const std::string two = replaced(kCross, "  if (i", "  int at = i * n + j;\n  if (i");
  const std::string late =
      replaced(replaced(two, "    b[i * n + j] =", "{\n    b[at] = 1;\n    b[at] +="), "+ j];\n}", "+ j];\n  }\n}");
  auto found = offers(kRule, late, kFour, plane());
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].premises.size(), 1u);
  EXPECT_EQ(found[0].premises[0].text(), "a overlaps no other array");
  RuleContext aliased = plane();
  aliased.shared_pointers = {0, 1};
  EXPECT_EQ(reason(kCross, aliased), "stencil_register_tiling of the rows of i: a may overlap what the kernel stores");
}

TEST(StencilRegisterTiling, NeedsAGridOfWholeTilesWhereNothingBoundsTheRows) {
  const std::string text = replaced(kCross, "i > 0 && i < n - 1 && ", "");
  auto found = offers(kRule, text, kFour, plane());
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].premises.size(), 1u);
  EXPECT_EQ(found[0].premises[0].text(), "gridDim.y % 4 == 0");
  EXPECT_TRUE(offers(kRule, text, kFour, plane(63)).empty());
  EXPECT_EQ(reason(replaced(kCross, "i < n - 1 && ", "")),
            "stencil_register_tiling of the rows of i: nothing bounds i");
}

TEST(StencilRegisterTiling, TakesPlanesOfAGridInThreeDimensions) {
  RuleContext known = plane();
  known.geometries = {{{8, 8, 64}, {32, 4, 2}}};
  std::string text =
      replaced(replaced(kCross, "blockIdx.y * blockDim.y + threadIdx.y", "blockIdx.z * blockDim.z + threadIdx.z"),
               "i > 0", "i >= 2");
  EXPECT_THAT(tiled(text, known), HasSubstr("int i_first = (blockIdx.z * blockDim.z + threadIdx.z) * 4 + 2;\n"));
  EXPECT_THAT(tiled(text, known),
              HasSubstr("// Each thread computes 4 planes, and keeps what they share of a in registers.\n"));
  EXPECT_EQ(offers(kRule, text, kFour, known)[0].launch.at("gz").text(), "ceil_div(gz, 4)");
}

TEST(StencilRegisterTiling, SaysWhyAStencilIsLeftAlone) {
  const std::string of = "stencil_register_tiling of the rows of i: ";
  EXPECT_EQ(reason(replaced(kCross, "    b[", "    if (i % 2) b[")), of + "`a` is read under a condition or in a loop");
  EXPECT_EQ(reason(replaced(kCross, "i > 0 && ", "i > 0 && i != 7 && ")),
            of + "a condition on i is more than a lower and upper bounds");
  EXPECT_EQ(reason(replaced(kCross, "i > 0 && ", "i > 0 && i * n + j < 99 && ")),
            of + "a condition on i is more than a lower and upper bounds");
  EXPECT_EQ(reason(replaced(replaced(kCross, "const float* a", "float* a"), "b[i * n + j] =", "a[i * n + j] = b[0] =")),
            of + "`a` is not only read by its elements");
  EXPECT_EQ(reason(replaced(replaced(kCross, "const float* a", "float* a"), "a[i * n + j - 1]", "*a")),
            of + "`a` is not only read by its elements");
}

TEST(StencilRegisterTiling, LeavesOtherKernelsAlone) {
  EXPECT_EQ(reason(kGemm), "");
  // Neighbours along x alone, a barrier, shared memory of the launch.
  EXPECT_EQ(reason(replaced(replaced(kCross, "a[(i - 1) * n + j] + ", ""), " + a[(i + 1) * n + j]", "")), "");
  EXPECT_EQ(reason(replaced(kCross, "  if (i", "  __syncthreads();\n  if (i")), "");
  EXPECT_EQ(reason(replaced(kCross, "  if (i", "  extern __shared__ float s[];\n  if (i")), "");
  EXPECT_EQ(reason(replaced(kCross, "const float* a", "const volatile float* a")), "");
  EXPECT_EQ(reason(kCross, plane(3)), "") << "fewer blocks than rows of a thread";
}

}  // namespace
}  // namespace kernelift::tuner
