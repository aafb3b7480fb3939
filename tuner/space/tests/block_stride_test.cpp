// Claims about which kernels are right with any number of threads in a block.
#include "tuner/space/block_stride.h"

#include <gtest/gtest.h>

namespace kernelift {
namespace {

bool turns(const std::string& body, const std::string& size = "blockDim.x") {
  return takes_turns("__global__ void k(float* out, const float* in, int n) {\n" + body + "\n}\n", {size}, "threadIdx.x", {"out", "in", "n"});
}

TEST(BlockStride, IsALoopThatStepsByTheBlockUpToALimit) {
  EXPECT_TRUE(turns("for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i];"));
  EXPECT_TRUE(turns("int i = blockIdx.x * blockDim.x + threadIdx.x, all = blockDim.x * gridDim.x;\n"
                    "for (; i < n; i += all) out[i] = in[i];"));
  EXPECT_TRUE(turns("int i = threadIdx.x;\nwhile (i < n) {\n  out[i] = in[i];\n  i = i + blockDim.x;\n}"));
  EXPECT_TRUE(turns("for (int i = threadIdx.x; i < n; i += B) out[i] = in[i];", "B"));
  EXPECT_TRUE(turns("float s = 0;\nfor (int i = threadIdx.x; i < n; i += blockDim.x) s += in[i];\n"
                    "for (int h = blockDim.x / 2; h > 0; h /= 2) { if (threadIdx.x < h) sum(s); }\nif (threadIdx.x == 0) *out = s;"));
}

TEST(BlockStride, IsNotAFixedNumberOfTurns) {
  EXPECT_FALSE(turns("out[blockIdx.x * blockDim.x + threadIdx.x] = 1;"));
  const std::string twice = "int i = threadIdx.x;\nif (i < n) a = in[i];\ni += blockDim.x;\nif (i < n) b = in[i];\n";
  EXPECT_FALSE(turns(twice));
  EXPECT_FALSE(turns("for (int row = 0; row < n; ++row) {\n" + twice + "}")) << "the loop is another one";
  EXPECT_FALSE(turns("for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i];\n" + twice));
}

TEST(BlockStride, IsNotAGuardByASizeThatAnotherRunMayHaveLarger) {
  const std::string loop = "for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i];\n";
  EXPECT_FALSE(turns(loop + "if (threadIdx.x < n) out[threadIdx.x] = 0;"));
  EXPECT_FALSE(turns("int t = threadIdx.x;\n" + loop + "if (t <= n) out[t] = 0;"));
  for (auto* guard : {"if (t >= n) return;\n", "if (n > t) out[t] = 0;", "if (t < 2 * n) out[t] = 0;", "int m = 2 * n;\nif (t < m) out[t] = 0;", "bool mine = t < n;\nif (mine) out[t] = 0;",
                      "out[t] = t < n ? 1 : 0;", "int lane = t % 32;\nif (lane != n && lane < n) out[t] = 0;", "if (active && (t + 1) <= (n)) out[t] = 0;"})
    EXPECT_FALSE(turns("int t = threadIdx.x;\n" + loop + guard)) << guard;
  EXPECT_TRUE(turns("int t = threadIdx.x;\n" + loop + "if (in[t] < n) out[0] = 0;\nif (t == 0) out[n >> 1] = 1;")) << "a value, and an element";
  EXPECT_TRUE(turns(loop + "if (threadIdx.x < 4) out[threadIdx.x] = 0;")) << "the recorded launches show that";
}

}  // namespace
}  // namespace kernelift
