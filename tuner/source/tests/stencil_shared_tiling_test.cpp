// Tests of stencil_shared_tiling, as text before and after. Every rewritten text must parse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kRule = "stencil_shared_tiling";
const Bindings kPlane = {{"columns", 32}, {"rows", 8}}, kLine = {{"columns", 128}, {"rows", 1}};

/// Five points of a plane.
const std::string kCross = R"(__global__ void k(const float* a, float* b, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i > 0 && i < n - 1 && j > 0 && j < n - 1)
    b[i * n + j] = a[i * n + j - 1] + a[(i - 1) * n + j] +
                   a[i * n + j] +
                   a[(i + 1) * n + j] + a[n * i + 1 + j];
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  KERNELIFT_ASSERT(at != text.npos, "a test changes what there is");
  return text.replace(at, from.size(), to);
}

std::string tiled(const std::string& text, const RuleContext& known = plane(), const Bindings& values = kPlane) {
  return after(kRule, text, values, 0, known);
}

/// Why the rule does not apply to the text; "" if it says nothing.
std::string reason(const std::string& text, RuleContext known = plane(), const Bindings& values = kPlane) {
  std::string why;
  known.declined = [&](const Rule&, const std::string& sentence) { why = sentence; };
  EXPECT_TRUE(offers(kRule, text, values, known).empty());
  const std::string of = "the block's tiles: ";
  return why.starts_with(of) ? why.substr(of.size()) : why;
}

TEST(StencilSharedTiling, LoadsATileAndTheHaloThatTheGuardsLetSomeThreadRead) {
  EXPECT_EQ(tiled(kCross), R"(__global__ void k(const float* a, float* b, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  // What the block's threads read of a, in shared memory.
  __shared__ float a_tile[10][34];
  for (int row = threadIdx.y; row < 10; row += 8)
    for (int column = threadIdx.x; column < 34; column += 32) {
      const int i = blockIdx.y * 8 + row - 1;
      const int j = blockIdx.x * 32 + column - 1;
      if ((i >= 1 && i < n - 1 && j >= 0 && j < n && 1 < n - 1) ||
          (i >= 0 && i < n && 1 < n - 1 && j >= 1 && j < n - 1))
        a_tile[row][column] = a[i * n + j];
    }
  __syncthreads();
  if (i > 0 && i < n - 1 && j > 0 && j < n - 1)
    b[i * n + j] = a_tile[threadIdx.y + 1][threadIdx.x] + a_tile[threadIdx.y][threadIdx.x + 1] +
                   a_tile[threadIdx.y + 1][threadIdx.x + 1] +
                   a_tile[threadIdx.y + 2][threadIdx.x + 1] + a_tile[threadIdx.y + 1][threadIdx.x + 2];
}
)");
  auto found = offers(kRule, kCross, kPlane, plane(64, 4));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("gy").text(), "ceil_div(gy * by, 8)");
  EXPECT_EQ(found[0].launch.at("by").text(), "8");
  ASSERT_EQ(found[0].premises.size(), 1u);
  EXPECT_EQ(found[0].premises[0].text(), "a overlaps no other array");
}

TEST(StencilSharedTiling, FillsTheTileBeforeThreadsReturn) {
  EXPECT_THAT(tiled(R"(typedef double real;
__global__ void k(const real* in, real* out, unsigned w, unsigned h) {
  const unsigned x = blockIdx.x * 32 + threadIdx.x;
  const unsigned y = blockIdx.y * 4 + threadIdx.y;
  if (y >= h || x == 0) return;
  if (!(x + 1 < w)) return;
  const unsigned at = y * w + x;
  out[at] = in[at + 1] - in[at - 1];
}
)",
                    plane(64, 4)),
              HasSubstr(R"(
  const unsigned y = blockIdx.y * 8 + threadIdx.y;
  // What the block's threads read of in, in shared memory.
  __shared__ real in_tile[8][34];
  for (int row = threadIdx.y; row < 8; row += 8)
    for (int column = threadIdx.x; column < 34; column += 32) {
      const int y_at = blockIdx.y * 8 + row;
      const int x_at = blockIdx.x * 32 + column - 2;
)"));
}

TEST(StencilSharedTiling, TakesConvolutionsWhoseReachIsANumber) {
  const std::string text = R"(#define R 2
__global__ void k(const float* a, const float* f, float* b, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    float s = 0;
    for (int p = -R; p <= R; p++)
      for (int q = -R; q <= R; q++)
        if (y + p >= 0 && y + p < h && x + q >= 0 && x + q < w) s += a[(y + p) * w + x + q] * f[p + R];
    b[y * w + x] = s;
  }
}
)";
  EXPECT_THAT(tiled(text), HasSubstr(R"(
      if (y >= 0 && y < h && x >= 0 && x < w) {
        const int q = 0;
        const int p = 0;
        a_tile[row][column] = a[(y + p) * w + x + q];
      }
)"));
  EXPECT_THAT(tiled(text), HasSubstr("  static_assert(-R == -2, \"the tile is as large as the loops reach\");\n"
                                     "  static_assert(R == 2, \"the tile is as large as the loops reach\");\n"));
  EXPECT_THAT(tiled(text), HasSubstr("s += a_tile[threadIdx.y + p + 2][threadIdx.x + q + 2] * f[p + R];"));
  EXPECT_EQ(reason(replaced(replaced(text, "int h)", "int h, int r)"), "p <= R", "p <= r")),
            "`a` is read in a loop whose iterations are not known by number");
  EXPECT_NE(tiled(replaced(text, "b[y * w + x]", "if (s > 9) return;\n    b[y * w + x]")), "")
      << "threads may return behind the tile";
}

TEST(StencilSharedTiling, TakesLinesAndPlanesOfVolumes) {
  EXPECT_THAT(tiled(R"(__global__ void k(const int* a, int* b, long n) {
  long i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 1 && i < n) b[i] = a[i] - a[i - 1];
}
)",
                    facts(), kLine),
              HasSubstr(R"(
  __shared__ int a_tile[129];
  for (int column = threadIdx.x; column < 129; column += 128) {
    const long long i_at = static_cast<long long>(blockIdx.x) * 128 + column - 1;
    if (i_at >= 0 && i_at < n && 1 < n) {
      const long i = i_at;
      a_tile[column] = a[i];
    }
  }
  __syncthreads();
)"));
  RuleContext volume = plane();
  volume.geometries[0].block = {16, 4, 4};
  const auto found = offers(kRule, R"(__global__ void k(const float* u, float* v, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  int at = (z * ny + y) * nx + x;
  if (x >= 1 && y >= 1 && z >= 1 && x < nx - 1 && y < ny - 1 && z < nz - 1)
    v[at] = u[at - nx * ny] + u[at + nx * ny] + u[at - nx] + u[at + nx] + u[at - 1] + u[at + 1] - u[at];
}
)",
                            kPlane, volume);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("gz").text(), "ceil_div(gz * bz, 1)");
  EXPECT_EQ(found[0].launch.at("bz").text(), "1");
}

const std::string kPlanes = R"(__global__ void k(const float* u, float* v, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || x >= nx - 1) return;
  if (y > 0 && y < ny - 1) {
    for (int z = 1; z < nz - 1; ++z) {
      int at = (z * ny + y) * nx + x;
      v[at] = u[at - nx * ny] + u[at - nx] +
              u[at] + u[at + nx] +
              u[at - 1] + u[at + 1];
    }
  }
}
)";

TEST(StencilSharedTiling, GoesThroughVolumesPlaneByPlaneWithAllThreads) {
  EXPECT_EQ(tiled(kPlanes), R"(__global__ void k(const float* u, float* v, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  const bool inside = !(x < 1 || x >= nx - 1);
  const bool inside2 = y > 0 && y < ny - 1;
  {
    // What the block's threads read of u, plane by plane, in shared memory.
    __shared__ float u_tile[10][34];
    for (int z = 1; z < nz - 1; ++z) {
      __syncthreads();
      for (int row = threadIdx.y; row < 10; row += 8)
        for (int column = threadIdx.x; column < 34; column += 32) {
          const int y = blockIdx.y * 8 + row - 1;
          const int x = blockIdx.x * 32 + column - 1;
          if ((y >= 1 && y < ny - 1 && x >= 0 && x < nx && 1 < nx - 1) ||
              (y >= 0 && y < ny && 1 < ny - 1 && x >= 1 && x < nx - 1)) {
            int at = (z * ny + y) * nx + x;
            u_tile[row][column] = u[at];
          }
        }
      __syncthreads();
      if (!inside || !inside2) continue;
      int at = (z * ny + y) * nx + x;
      v[at] = u[at - nx * ny] + u_tile[threadIdx.y][threadIdx.x + 1] +
              u_tile[threadIdx.y + 1][threadIdx.x + 1] + u_tile[threadIdx.y + 2][threadIdx.x + 1] +
              u_tile[threadIdx.y + 1][threadIdx.x] + u_tile[threadIdx.y + 1][threadIdx.x + 2];
    }
  }
}
)");
  auto why = [](const std::string& from, const std::string& to) { return reason(replaced(kPlanes, from, to)); };
  const std::string apart = "`u` is read in a loop over z that not all threads of a block go through";
  EXPECT_EQ(why("int z = 1", "int z = x"), apart);
  EXPECT_EQ(why("z < nz - 1", "z < nz - y"), apart);
  EXPECT_EQ(why("      int at", "      if (v[z] > 3) break;\n      int at"), apart);
  EXPECT_EQ(why("    }\n  }\n}", "    }\n    v[x] = 0;\n  }\n}"), apart) << "it is done within the guards";
}

TEST(StencilSharedTiling, AsksForGridsThatNothingBoundsToStayAsTheyAre) {
  const std::string open = replaced(kCross, "i < n - 1 && ", "");
  auto found = offers(kRule, open, kPlane, plane(64, 4));
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].premises.size(), 2u);
  EXPECT_EQ(found[0].premises[0].text(), "gridDim.y * blockDim.y % 8 == 0");
}

TEST(StencilSharedTiling, SaysWhyAKernelIsLeftAlone) {
  auto why = [](const std::string& from, const std::string& to) { return reason(replaced(kCross, from, to)); };
  RuleContext aliased = plane();
  aliased.shared_pointers = {0, 1};
  EXPECT_EQ(reason(kCross, aliased), "`a` may overlap what the kernel stores");
  EXPECT_EQ(why("if (i", "if (a[i * n + j] > 0 && i"), "`a` is read under a condition that is no bound of an index");
  EXPECT_EQ(why("    b[i * n + j] =", "    b[i * n + j] = *a +"), "`a` is not only read by its elements");
  EXPECT_EQ(why("j < n - 1)", "j < i)"), "`a` is read under a condition that is no bound of an index");
}

TEST(StencilSharedTiling, LeavesOtherKernelsAlone) {
  EXPECT_EQ(reason(kProduct, facts(), kLine), "");
  EXPECT_EQ(reason(kGemm), "");
  EXPECT_EQ(reason(replaced(kCross, "  if (i", "  __syncthreads();\n  if (i")), "");
  EXPECT_THAT(offers(kRule, kCross, {{"columns", 128}, {"rows", 16}}, plane()), IsEmpty()) << "2048 threads";
  EXPECT_THAT(offers(kRule, kCross, kLine, plane()), IsEmpty());
}

}  // namespace
}  // namespace kernelift::tuner
