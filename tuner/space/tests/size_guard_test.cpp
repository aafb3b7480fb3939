// Tests of finding stores that no comparison with a size guards.
#include "tuner/space/size_guard.h"

#include <gtest/gtest.h>

#include "tuner/space/knob_text.h"
#include "tuner/space/tests/broken_text.h"

namespace kernelift::tuner {
namespace {

bool lacks(const std::string& body, const std::string& before = "") {
  return lacks_guard(before +
                         "__global__ void __launch_bounds__(256) k(float* out, const float* in, int n, int m) {\n" +
                         body + "\n}\n",
                     {"n"}, 0);
}
const std::string kIndex = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n";

TEST(SizeGuard, MustEncloseOrPrecedeEveryStore) {
  for (auto* guarded :
       {"if (i < n) out[i] = in[i];", "if (i >= n) return;\nout[i] = in[i];\nout[i + n] = 2;",
        "if (!(i < n)) { in[0]; return; }\n*(out + i) = 1;",
        "for (int j = i; j < n; j += m) {\n#pragma unroll\n  for (int k = 0; k < 4; ++k) out[j] += k;\n}",
        "const bool mine = i < n;\nif (mine) { if (m) atomicAdd(&out[i], 1); else out[i] = 2; }",
        "while (true) { if (i >= n) break; out[i] = 1; i += m; }", "if (i >= n) { } else out[i] = 1;",
        "int row = i / m;\nif (row < n) out[row]++;"})
    EXPECT_FALSE(lacks(kIndex + guarded)) << guarded;
  for (auto* bare :
       {"out[i] = i + 1 < n ? in[i + 1] : 0;", "float right = i < n - 1 ? in[i + 1] : 0;\nout[i] = right;",
        "if (i < n) out[i] = in[i];\nout[i + m] = 0;", "if (i < n) m = 2;\nout[i] = n;",
        "out[i] = 0;\nif (i >= n) return;", "for (int k = 0; k < n; ++k) out[i] += in[k];", "if (m < n) out[i] = n;",
        "atomicAdd(out + i, n);", "do { out[i] = n; } while (i > n);", "if (i >= n) m = 0;\nout[i] = 1;"})
    EXPECT_TRUE(lacks(kIndex + bare)) << bare;
}

TEST(SizeGuard, MustBeOnTheSideThatIsInBounds) {
  for (auto* bare :
       {"if (i < n) out[i] = in[i]; else out[i] = 0;", "if (i >= n) { out[i] = 0; return; }\nout[i] = in[i];",
        "if (i != n) out[i] = 1;", "if (i < n || m > 5) out[i] = 1;", "if (i >= n && m > 5) return;\nout[i] = 1;",
        "if (n <= i) out[i] = 0;", "if (!(i < n)) out[i] = 0;", "if (i > n) out[i] = 0;"})
    EXPECT_TRUE(lacks(kIndex + bare)) << bare;
  for (auto* guarded : {"if (n > i) out[i] = 1;", "if (i >= n || m > 5) return;\nout[i] = 1;",
                        "if (!(i >= n)) out[i] = 0;", "const bool past = i >= n;\nif (past) return;\nout[i] = 1;",
                        "if (n <= i) return;\nout[i] = 1;", "if (i < n && m > 5) out[i] = 1;"})
    EXPECT_FALSE(lacks(kIndex + guarded)) << guarded;
}

TEST(SizeGuard, MustNotAdmitMoreThanTheCoveredSize) {
  for (auto* bare : {"if (i > n) return;\nout[i] = 1;", "if (i <= n) out[i] = 1;", "if (n >= i) out[i] = 1;",
                     "if (!(i > n)) out[i] = 1;", "if (i < n + 2) out[i] = 1;", "if (i < 2 * n) out[i] = 1;",
                     "if (i - 1 < n) out[i] = 1;", "const int end = n * m;\nif (i < end) out[i] = 1;",
                     "for (int j = i; j <= n; j += m) out[j] = 1;", "if (i < n << 1) out[i] = 1;"})
    EXPECT_TRUE(lacks(kIndex + bare)) << bare;
  for (auto* guarded :
       {"if (i > n - 1) return;\nout[i] = 1;", "if (i <= n - 1) out[i] = 1;", "if (!(i > n - 1)) out[i] = 1;",
        "if (i + 1 < n) out[i] = 1;", "if (i < n / 2) out[i] = 1;", "if (4 * i < n) out[i] = 1;",
        "const int all = n * n;\nif (i < all) out[i] = 1;", "const int end = min(n, m + 4);\nif (i < end) out[i] = 1;",
        "while (i < n) { out[i] = 1; i += m; }"})
    EXPECT_FALSE(lacks(kIndex + guarded)) << guarded;
}

TEST(SizeGuard, BelongsToOneAxis) {
  const std::string text =
      "__global__ void k(float* out, int n) {\n  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * "
      "blockDim.y + threadIdx.y;\n  if (y >= n) return;\n  out[y * n + x] = 1;\n}\n";
  EXPECT_TRUE(lacks_guard(text, {"n"}, 0)) << "a square of which only the rows are guarded";
  EXPECT_FALSE(lacks_guard(text, {"n"}, 1));
}

TEST(SizeGuard, OfASumMustCoverTheReadsOfItsParts) {
  const std::string last =
      "\n__shared__ float tile[256];\ntile[threadIdx.x] = s;\n__syncthreads();\nif (threadIdx.x == 0) out[blockIdx.x] "
      "= tile[0];";
  for (auto* guarded : {"float s = 0;\nif (i < n) s = in[i];", "float s = i < n ? in[i] : 0;",
                        "float s = 0;\nfor (int j = i; j < n; j += gridDim.x * blockDim.x) s += in[j];",
                        "if (i >= n) return;\nfloat s = in[i];", "float s = 0;\nif (i < n && in[i] > 0) s = f(i);"}) {
    EXPECT_FALSE(lacks(kIndex + guarded + last)) << guarded;
    EXPECT_FALSE(lacks(kIndex + guarded + "\natomicAdd(out, s);")) << guarded;
    EXPECT_FALSE(lacks(kIndex + guarded + "\nif (threadIdx.x % 32 == 0) atomicAdd(&out[0], s);")) << guarded;
  }
  for (auto* bare :
       {"float s = __ldg(in + i) * n;", "float s = *(in + i) * n;", "const float* p = in + i;\nfloat s = *p * n;",
        "float s = n * ((const float*)in)[i];", "float s = in[i] * n;", "float s = n * f(i);",
        "float s = 0;\nif (i < n) s = in[i];\ns += in[i + m];", "float s = in[i];\nif (m < n) s = 0;",
        "float s = 0;\nif (in[i] > 0) s = n;", "const int j = min(i, n - 1);\nfloat s = in[j];"}) {
    EXPECT_TRUE(lacks(kIndex + bare + last)) << bare;
    EXPECT_TRUE(lacks(kIndex + bare + "\natomicAdd(out, s);")) << bare;
  }
}

TEST(SizeGuard, IgnoresMembersOfTheSameName) {
  EXPECT_TRUE(lacks(kIndex + "if (i < box.n) out[i] = n;"));
  EXPECT_TRUE(lacks(kIndex + "if (i < box->n) out[i] = n;"));
  EXPECT_TRUE(lacks(kIndex + "out[m] = n;\nif (i < m) out[i] = 1;")) << "a store does not turn its index into a size";
}

TEST(SizeGuard, IsNotNeededForLocalVariables) {
  EXPECT_FALSE(lacks(kIndex + "__shared__ float tile[256];\nfloat sum[2], more[2] = {0};\ntile[threadIdx.x] = i < n ? "
                              "in[i] : 0;\nsum[0] = more[1] = 1;\n__syncthreads();\nif (i < n) out[i] = tile[0];"));
  EXPECT_FALSE(lacks("const int i = min(blockIdx.x * blockDim.x + threadIdx.x, n - 1);\nout[i] = in[i];"))
      << "the last thread's work is repeated";
}

TEST(SizeGuard, IsAssumedWhereTheTextDoesNotShowIt) {
  EXPECT_FALSE(
      lacks("EACH(i, n) { out[i] = 1; }", "#define EACH(i, end) for (int i = blockIdx.x; i < (end); i += gridDim.x)\n"))
      << "a macro spells the loop";
  EXPECT_FALSE(lacks(kIndex + "store(out, i, n);",
                     "__device__ void store(float* to, int i, int n) { if (i < n) to[i] = 1; }\n"));
  EXPECT_FALSE(lacks("out[place()] = n;", "__device__ int place() { return blockIdx.x; }\n"));
}

TEST(SizeGuard, IsNotMissedInIncompleteText) {
  for (auto* text :
       {"", "__global__", "__global__ void k(", "__global__ void k() {",
        "__global__ void k(int n) { if (blockIdx.x < n", "__global__ void k(int n) { for (;;) { do { switch"})
    EXPECT_FALSE(lacks_guard(text, {"n"}, 0)) << text;
  EXPECT_TRUE(lacks_guard("__global__ void k(int n) { a[blockIdx.x + threadIdx.x] = n; } }", {"n"}, 0));
}

TEST(SizeGuard, IsMissedOnlyInTextWithIndexAndSize) {
  const std::string whole =
      "__global__ void k(float* a, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  for (int j = i; j < "
      "n; j += n) { if (a[j] > 0) atomicAdd(&a[j], 1.f); else a[0]++; }\n"
      "  a[blockIdx.x] = i < n ? a[i] : p->n;\n  do { a[i] += 1; } while (i < n);\n}\n";
  for_broken_texts(whole, [](auto& text) {
    EXPECT_TRUE(!lacks_guard(text, {"n"}, 0) || (mentions(text, "blockIdx") && mentions(text, "n"))) << text;
  });
}

}  // namespace
}  // namespace kernelift::tuner
