// Claims about which kernels keep threads past a size from storing anything.
#include "tuner/space/size_guard.h"

#include <gtest/gtest.h>

namespace kernelift {
namespace {

bool lacks(const std::string& body, const std::string& before = "") {
  return lacks_guard(before + "__global__ void __launch_bounds__(256) k(float* out, const float* in, int n, int m) {\n" + body + "\n}\n", {"n"});
}
const std::string kIndex = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n";

TEST(SizeGuard, StandsAroundOrInFrontOfEveryStore) {
  for (auto* guarded : {"if (i < n) out[i] = in[i];", "if (i >= n) return;\nout[i] = in[i];\nout[i + n] = 2;", "if (!(i < n)) { in[0]; return; }\n*(out + i) = 1;",
                        "for (int j = i; j < n; j += m) {\n#pragma unroll\n  for (int k = 0; k < 4; ++k) out[j] += k;\n}", "const bool mine = i < n;\nif (mine) { if (m) atomicAdd(&out[i], 1); else out[i] = 2; }",
                        "while (true) { if (i >= n) break; out[i] = 1; i += m; }", "if (i >= n) { } else out[i] = 1;", "int row = i / m;\nif (row < n) out[row]++;"})
    EXPECT_FALSE(lacks(kIndex + guarded)) << guarded;
  for (auto* bare : {"out[i] = i + 1 < n ? in[i + 1] : 0;", "float right = i < n - 1 ? in[i + 1] : 0;\nout[i] = right;", "if (i < n) out[i] = in[i];\nout[i + m] = 0;",
                     "if (i < n) m = 2;\nout[i] = n;", "out[i] = 0;\nif (i >= n) return;", "for (int k = 0; k < n; ++k) out[i] += in[k];", "if (m < n) out[i] = n;", "atomicAdd(out + i, n);",
                     "do { out[i] = n; } while (i > n);", "if (i >= n) m = 0;\nout[i] = 1;"})
    EXPECT_TRUE(lacks(kIndex + bare)) << bare;
}

TEST(SizeGuard, IsNotAskedOfWhatIsTheThreadsOwn) {
  EXPECT_FALSE(lacks(kIndex + "__shared__ float tile[256];\nfloat sum[2], more[2] = {0};\ntile[threadIdx.x] = i < n ? in[i] : 0;\nsum[0] = more[1] = 1;\n__syncthreads();\nif (i < n) out[i] = tile[0];"));
  EXPECT_FALSE(lacks("const int i = min(blockIdx.x * blockDim.x + threadIdx.x, n - 1);\nout[i] = in[i];")) << "the last one's work, done again";
}

TEST(SizeGuard, IsBelievedWhereTheTextCannotTell) {
  EXPECT_FALSE(lacks("EACH(i, n) { out[i] = 1; }", "#define EACH(i, end) for (int i = blockIdx.x; i < (end); i += gridDim.x)\n")) << "a loop that a macro spells";
  EXPECT_FALSE(lacks(kIndex + "store(out, i, n);", "__device__ void store(float* to, int i, int n) { if (i < n) to[i] = 1; }\n"));
  EXPECT_FALSE(lacks("out[place()] = n;", "__device__ int place() { return blockIdx.x; }\n"));
}

TEST(SizeGuard, EndsOnTextThatDoesNot) {
  for (auto* text : {"", "__global__", "__global__ void k(", "__global__ void k() {", "__global__ void k(int n) { if (blockIdx.x < n", "__global__ void k(int n) { a[blockIdx.x] = n; } }",
                     "__global__ void k(int n) { for (;;) { do { switch", "__global__ void k(int n) { )]} blockIdx.x = n"})
    lacks_guard(text, {"n"});
}

}  // namespace
}  // namespace kernelift
