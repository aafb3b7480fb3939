// Tests of recognising block-stride loops in a kernel's text.
#include "tuner/space/block_stride.h"

#include <gtest/gtest.h>

#include "tuner/space/tests/broken_text.h"

namespace kernelift::tuner {
namespace {

bool strides(const std::string& body, const std::string& size = "blockDim.x", const std::string& before = "") {
  return has_block_stride_loops(before + "__global__ void k(float* out, const float* in, int n) {\n" + body + "\n}\n",
                                {size}, "threadIdx.x");
}

TEST(BlockStride, IsALoopThatStepsByTheBlockUpToALimit) {
  EXPECT_TRUE(strides("for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i];"));
  EXPECT_TRUE(
      strides("int i = blockIdx.x * blockDim.x + threadIdx.x, all = blockDim.x * gridDim.x;\n"
              "for (; i < n; i += all) out[i] = in[i];"));
  EXPECT_TRUE(strides("int i = threadIdx.x;\nwhile (i < n) {\n  out[i] = in[i];\n  i = i + blockDim.x;\n}"));
  EXPECT_TRUE(strides("for (int i = threadIdx.x; i < n; i += B) out[i] = in[i];", "B"));
  EXPECT_TRUE(strides(
      "float s = 0;\nfor (int i = threadIdx.x; i < n; i += blockDim.x) s += in[i];\n"
      "for (int h = blockDim.x / 2; h > 0; h /= 2) { if (threadIdx.x < h) sum(s); }\nif (threadIdx.x == 0) *out = s;"));
}

TEST(BlockStride, IsNotAFixedNumberOfIterations) {
  EXPECT_FALSE(strides("out[blockIdx.x * blockDim.x + threadIdx.x] = 1;"));
  const std::string twice = "int i = threadIdx.x;\nif (i < n) a = in[i];\ni += blockDim.x;\nif (i < n) b = in[i];\n";
  EXPECT_FALSE(strides(twice));
  EXPECT_FALSE(strides("for (int row = 0; row < n; ++row) {\n" + twice + "}"))
      << "the enclosing loop does not step by the block";
  EXPECT_FALSE(strides("for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i];\n" + twice));
}

TEST(BlockStride, IsNotAGuardByASizeThatMayBeLarger) {
  const std::string loop = "for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i];\n";
  EXPECT_FALSE(strides(loop + "if (threadIdx.x < n) out[threadIdx.x] = 0;"));
  EXPECT_FALSE(strides("int t = threadIdx.x;\n" + loop + "if (t <= n) out[t] = 0;"));
  for (auto* guard : {"if (t >= n) return;\n", "if (n > t) out[t] = 0;", "if (t < 2 * n) out[t] = 0;",
                      "int m = 2 * n;\nif (t < m) out[t] = 0;", "bool mine = t < n;\nif (mine) out[t] = 0;",
                      "out[t] = t < n ? 1 : 0;", "int lane = t % 32;\nif (lane != n && lane < n) out[t] = 0;",
                      "if (active && (t + 1) <= (n)) out[t] = 0;"})
    EXPECT_FALSE(strides("int t = threadIdx.x;\n" + loop + guard)) << guard;
  const std::string own = "__shared__ float part[64];\nint t = threadIdx.x;\n";
  EXPECT_TRUE(strides(own + loop + "if (part[t] < n) out[0] = 0;\nif (t == 0) out[n >> 1] = 1;"))
      << "a value and an element";
  EXPECT_TRUE(strides(own + loop + "if (threadIdx.x < 4) part[threadIdx.x] = 0;"))
      << "the recorded launches cover this case";
}

TEST(BlockStride, IsNotAGuardByAnotherValueThatMayBeLarger) {
  const std::string loop = "for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i];\n";
  auto with = [&](const std::string& guard, const std::string& before) {
    return strides(loop + guard, "blockDim.x", before);
  };
  EXPECT_FALSE(
      with("__shared__ int count;\nif (threadIdx.x == 0) count = n;\n__syncthreads();\nif (threadIdx.x < count) "
           "out[threadIdx.x] = 0;",
           ""));
  EXPECT_FALSE(with("if (threadIdx.x < width) out[threadIdx.x] = 0;", "__constant__ int width;\n"));
  EXPECT_FALSE(with("if (inside(threadIdx.x, width)) out[threadIdx.x] = 0;",
                    "__constant__ int width;\n__device__ bool inside(int i, int w);\n"));
  EXPECT_FALSE(with("switch (threadIdx.x / width) { case 0: out[threadIdx.x] = 0; }", "__constant__ int width;\n"));
  EXPECT_FALSE(
      with("store(out, threadIdx.x);",
           "__constant__ int width;\n__device__ void store(float* to, int at) { if (at < width) to[at] = 0; }\n"));
  EXPECT_FALSE(with("if (BELOW(threadIdx.x)) out[threadIdx.x] = 0;",
                    "__constant__ int width;\n#define BELOW(at) ((at) < width)\n"));
  EXPECT_FALSE(with("out[min(threadIdx.x, width)] = 0;", "__constant__ int width;\n"));
  EXPECT_FALSE(with("for (int k = 0; k < n; ++k) if (threadIdx.x < k) out[threadIdx.x] += 1;", "")) << "k runs to n";
  EXPECT_FALSE(with("int w = 4;\nset(&w);\nif (threadIdx.x < w) out[threadIdx.x] = 1;", ""));
  EXPECT_FALSE(with("int w = 4;\nw *= n;\nif (threadIdx.x < w) out[threadIdx.x] = 1;", ""));
  for (auto* own :
       {"const int lane = threadIdx.x % 32;\nfor (int hop = 16; hop > 0; hop >>= 1) if (lane < hop) part[lane] += "
        "part[lane + hop];",
        "if (threadIdx.x < WARPS) part[threadIdx.x] = 0;", "if (n > 4 && threadIdx.x == 0) out[0] = 1;",
        "if ((int)threadIdx.x < blockDim.x / 2) part[threadIdx.x] = 0;", "out[0] = sum(part[threadIdx.x]);"})
    EXPECT_TRUE(with(std::string("__shared__ float part[64];\n") + own,
                     "#define WARPS 8\n__device__ float sum(float value) { return value < width ? value : 0; }\n"))
        << own;
}

TEST(BlockStride, IsNotAnElementPerThread) {
  const std::string bins = "__shared__ unsigned bins[256];\n",
                    loop = "for (int i = threadIdx.x; i < n; i += blockDim.x) ";
  EXPECT_FALSE(
      strides(bins + "bins[threadIdx.x] = 0;\n__syncthreads();\n" + loop +
              "atomicAdd(&bins[data[i]], 1);\n__syncthreads();\natomicAdd(&out[threadIdx.x], bins[threadIdx.x]);"))
      << "one thread per bin";
  EXPECT_FALSE(strides(bins + "bins[threadIdx.x] = 0;\n" + loop + "atomicAdd(&bins[data[i]], 1);"));
  EXPECT_FALSE(strides(loop + "out[i] = 0;\nint row = threadIdx.x;\nout[row] = 1;"));
  EXPECT_FALSE(strides(loop + "out[i] = 0;\nfloat mine = in[blockIdx.x * blockDim.x + threadIdx.x];"));
  EXPECT_TRUE(strides(bins + "for (int b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;\n" + loop +
                      "atomicAdd(&bins[data[i]], 1);"));
}

TEST(BlockStride, IsNotAssumedBehindUntracedNames) {
  const std::string loop = "for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i];\n";
  EXPECT_FALSE(strides(loop + "const unsigned t{threadIdx.x};\nif (t < n) out[t] = 0;"));
  EXPECT_FALSE(strides(loop + "const unsigned t(threadIdx.x);\nif (t < n) out[t] = 0;"));
  EXPECT_FALSE(strides(loop + "me.t = threadIdx.x;\nif (me.t < n) out[me.t] = 0;"));
  EXPECT_FALSE(strides(loop + "if (tx < n) out[tx] = 0;", "blockDim.x", "#define tx threadIdx.x\n"));
  EXPECT_TRUE(
      strides(loop + "if (n > 2) return;\nelse if (threadIdx.x == 0) out[0] = sum(threadIdx.x) + int(threadIdx.x);",
              "blockDim.x", ""))
      << "a call and a cast";
}

TEST(BlockStride, LeavesNoElementToThreadIdxAloneIfTheGridFollows) {
  const std::string place = "int i = blockIdx.x * blockDim.x + threadIdx.x;\nint t = threadIdx.x;\n";
  auto follow = [&](const std::string& body) {
    return elements_follow_block(
        "#define R 2\n__global__ void k(float* out, const float* in, int n) {\n" + place + body + "\n}\n",
        {"blockDim.x"}, "threadIdx.x");
  };
  for (auto* good :
       {"if (i < n) out[i] = in[i];",
        "__shared__ float tile[256];\nfor (int first = 0; first < n; first += blockDim.x) {\n  tile[t] = in[first + "
        "t];\n  __syncthreads();\n  for (int u = 0; u < blockDim.x; ++u) s += tile[u];\n}\nout[i] = s;",
        "__shared__ float sums[256];\nsums[t] = in[i];\nfor (int h = blockDim.x / 2; h > 0; h >>= 1) if (t < h) "
        "sums[t] += sums[t + h];\nif (t == 0) out[blockIdx.x] = sums[0];",
        "__shared__ float tile[260];\ntile[t + R] = in[i];\nout[i] = tile[t] + tile[t + R + 1];",
        "__shared__ int bins[64];\nfor (int b = t; b < 64; b += blockDim.x) bins[b] = 0;\natomicAdd(&bins[data[i]], "
        "1);",
        "float mine[4];\nmine[n % 4] = in[i];\nout[i] = mine[0];",
        "for (int k = 0; k < n; ++k) out[k * n + i] = in[t + k * blockDim.x];"})
    EXPECT_TRUE(follow(good)) << good;
  for (auto* bad :
       {"__shared__ int bins[256];\nbins[t] = 0;\natomicAdd(&bins[data[i]], 1);\natomicAdd(&out[t], bins[t]);",
        "__shared__ float table[256];\ntable[t] = in[t];\nout[i] = table[which[i]];", "out[i] = in[threadIdx.x];",
        "__shared__ int bins[256];\nbins[t] = 0;\nint c = data[i];\nbins[c]++;"})
    EXPECT_FALSE(follow(bad)) << bad;
}

TEST(BlockStride, GuardsEachElementOfAChunkIfTheGridFollows) {
  auto unguarded = [](const std::string& body) {
    return has_unguarded_chunks(
        "__global__ void k(float* out, const float* x, int n) {\n__shared__ float tile[256];\nint i = blockIdx.x * "
        "blockDim.x + threadIdx.x, t = threadIdx.x;\n" +
            body + "\n}\n",
        {"blockDim.x"}, "threadIdx.x");
  };
  for (auto* bare :
       {"for (int first = 0; first < n; first += blockDim.x) tile[t] = x[first + t];",
        "for (int k = 0; k < n / blockDim.x; ++k) tile[t] = x[k * blockDim.x + threadIdx.x];",
        "for (int k = 0; k < n; k += blockDim.x) {\n  const int at = k + t;\n  if (t < n) tile[t] = x[at];\n}",
        "const int w = blockDim.x;\nfor (int k = 0; k < n; k += w) tile[t] = x[i * n + k + t];"})
    EXPECT_TRUE(unguarded(bare)) << bare;
  for (auto* good : {"for (int first = 0; first < n; first += blockDim.x) if (first + t < n) tile[t] = x[first + t];",
                     "for (int first = 0; first < n; first += blockDim.x) tile[t] = first + t < n ? x[first + t] : 0;",
                     "for (int j = t; j < n; j += blockDim.x) s += x[j];",
                     "for (int j = i; j < n; j += gridDim.x * blockDim.x) s += x[j];", "tile[t] = x[i];",
                     "tile[t] = x[blockIdx.x * blockDim.x + threadIdx.x];",
                     "for (int h = blockDim.x / 2; h > 0; h /= 2) if (t < h) tile[t] += tile[t + h];",
                     "for (int j = 0; j < n; ++j) s += x[j * n + t];",
                     "for (int k = 0; k < n; k += blockDim.x) s += x[min(k + t, n - 1)];"})
    EXPECT_FALSE(unguarded(good)) << good;
}

TEST(BlockStride, CoversEveryFormOfAccess) {
  for (auto* unguarded :
       {"const float* p = row + threadIdx.x;\nfor (int k = 0; k < n; k += blockDim.x) s += p[k];",
        "for (int k = 0; k < n; k += blockDim.x) s += __ldg(row + k + threadIdx.x);",
        "for (int k = 0; k < n; k += blockDim.x) s += reinterpret_cast<const float4*>(row)[k + threadIdx.x].x;",
        "for (int k = 0; k < n; k += blockDim.x) s += *(row + k + threadIdx.x);",
        "const float* p = row + threadIdx.x;\nfor (int k = 0; k < n; k += blockDim.x) { s += *p; p += blockDim.x; }"}) {
    EXPECT_FALSE(strides(unguarded)) << unguarded;
    EXPECT_TRUE(has_unguarded_chunks(
        "__global__ void k(float* out, const float* row, int n) {\n" + std::string(unguarded) + "\n}\n", {"blockDim.x"},
        "threadIdx.x"))
        << unguarded;
  }
  EXPECT_TRUE(
      strides("const float* p = row + blockIdx.x * n;\nfor (int k = threadIdx.x; k < n; k += blockDim.x) s += p[k];"));
  EXPECT_TRUE(
      strides("for (int k = TID; k < n; k += blockDim.x) s += row[k];", "blockDim.x", "#define TID threadIdx.x\n"));
}

TEST(BlockStride, TreatsDimensionsOfSharedArraysSeparately) {
  auto follow = [](const std::string& body) {
    return elements_follow_block(
        "#define TILE 16\n__global__ void k(float* out, const float* in, int n, int r) {\nint tx = threadIdx.x, ty = "
        "threadIdx.y, x = blockIdx.x * blockDim.x + tx;\n" +
            body + "\n}\n",
        {"blockDim.x", "TILE"}, "threadIdx.x");
  };
  EXPECT_FALSE(follow("__shared__ float lut[8][32];\nlut[ty][tx] = in[ty * 32 + tx];\nout[x] = lut[n / 32][n % 32];"))
      << "fewer threads would fill only a part of the table";
  EXPECT_FALSE(
      follow("__shared__ float tile[8][96];\ntile[ty][tx + r] = in[x];\nif (tx < r) tile[ty][tx] = 0;\nfor (int k = 0; "
             "k <= 2 * r; ++k) s += tile[ty][tx + k];"))
      << "the array has r rows";
  EXPECT_TRUE(
      follow("__shared__ float a[TILE][TILE], b[TILE][TILE];\na[ty][tx] = in[x];\nb[ty][tx] = in[n + x];\nfor (int k = "
             "0; k < TILE; ++k) s += a[ty][k] * b[k][tx];"));
  EXPECT_TRUE(
      follow("__shared__ float tile[TILE][TILE + 1];\nfor (int j = 0; j < TILE; j += 8) tile[ty + j][tx] = in[x + "
             "j];\nfor (int j = 0; j < TILE; j += 8) out[x + j * n] = tile[tx][ty + j];"))
      << "a transposition";
  EXPECT_TRUE(
      follow("__shared__ float tile[256];\nfor (int first = 0; first < n; first += blockDim.x) {\nint j = first + "
             "threadIdx.x;\nif (j < n) tile[tx] = in[j];\nfor (int u = 0; u < blockDim.x; ++u) s += tile[u];\n}"))
      << "the element differs between iterations";
  EXPECT_TRUE(
      follow("__shared__ float tile[TILE];\nfor (int first = 0; first < n; first += TILE) {\nif (first + threadIdx.x < "
             "n) tile[threadIdx.x] = in[first + threadIdx.x];\nfor (int u = 0; u < TILE; ++u) s += tile[u];\n}"))
      << "the size is spelled in numbers";
}

TEST(BlockStride, AcceptsASumOfTheBlocksParts) {
  EXPECT_TRUE(
      strides("__shared__ float part[32];\nfor (int j = threadIdx.x; j < n; j += blockDim.x) s += row[j];\nif "
              "(threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;\n"
              "if (threadIdx.x == 0) for (int k = 0; k < blockDim.x / 32; ++k) t += part[k];"));
}

TEST(BlockStride, IsOnlyFoundInTextWithTheBlocksSize) {
  const std::string whole =
      "#define M(a, b) ((a) < b)\n__device__ int f(int i, int w) { return i < w; }\n__global__ void k(float* a, int n) "
      "{\n"
      "  for (int i = threadIdx.x; i < n; i += blockDim.x) { if (f(i, n) && M(threadIdx.x, 3)) a[i] = min(i, 4); }\n  "
      "switch (threadIdx.x) { case 1: n <<= 2; }\n}\n";
  for_broken_texts(whole, [](auto& text) {
    const bool has_size = text.find("blockDim.x") != text.npos, has_thread = text.find("threadIdx.x") != text.npos;
    EXPECT_TRUE(has_size || !has_block_stride_loops(text, {"blockDim.x"}, "threadIdx.x")) << text;
    EXPECT_TRUE(has_thread || elements_follow_block(text, {"blockDim.x"}, "threadIdx.x")) << text;
    EXPECT_TRUE((has_size && has_thread) || !has_unguarded_chunks(text, {"blockDim.x"}, "threadIdx.x")) << text;
  });
}

}  // namespace
}  // namespace kernelift::tuner
