// Tests of comparing the extents of shared arrays with a block's size.
#include "tuner/space/shared_extent.h"

#include <gtest/gtest.h>

#include "tuner/space/tests/broken_text.h"

namespace kernelift::tuner {
namespace {

std::string too_small(const std::string& body, Dim3 block, const Bindings& knobs = {}) {
  return too_small_shared_array(
      "#define WARPS 8\n#define TILE 16\n__global__ void k(float* out, const float* in, int n) {\n  const int t = "
      "threadIdx.x, lane = t % 32, warp = t >> 5;\n" +
          body + "\n}\n",
      knobs, block);
}

TEST(SharedExtent, MustCoverEachThreadThatExecutesAUse) {
  const std::string bins = "__shared__ int bins[256];\n";
  EXPECT_EQ(too_small(bins + "bins[t] = 0;", {256}), "");
  EXPECT_EQ(too_small(bins + "bins[t] = 0;", {512}), "bins");
  EXPECT_EQ(too_small(bins + "bins[threadIdx.x] = 0;", {257}), "bins");
  EXPECT_EQ(too_small(bins + "if (t < 256) bins[t] = 0;", {512}), "");
  EXPECT_EQ(too_small(bins + "if (n > 3 && t < 256) {\n  out[n] = 2;\n  bins[t] = 0;\n}", {512}), "");
  EXPECT_EQ(too_small(bins + "if (t < 256 || n) bins[t] = 0;", {512}), "bins");
  EXPECT_EQ(too_small(bins + "out[n] = t < 256 ? bins[t] : 0;", {512}), "");
  EXPECT_EQ(too_small(bins + "out[n] = t < 256 ? 0 : bins[t];", {512}), "bins");
  EXPECT_EQ(too_small(bins + "bins[t + 1] = 0;", {256}), "bins");
  EXPECT_EQ(too_small(bins + "bins[t / n] = 0;", {64}), "bins") << "n is not known";
  EXPECT_EQ(too_small(bins + "bins[find(t)] = 0;", {64}), "bins");
  EXPECT_EQ(too_small(bins + "bins[data[t]] = 0;", {512}), "");
  EXPECT_EQ(too_small(bins + "bins[data[n]] = 0;\nfor (int b = t; b < 256; b += blockDim.x) bins[b] = 0;", {512}), "")
      << "in block-stride loops";
  EXPECT_EQ(too_small("__shared__ float part[WARPS];\nif (lane == 0) part[warp] = 1;", {256}), "");
  EXPECT_EQ(too_small("__shared__ float part[WARPS];\nif (lane == 0) part[warp] = 1;", {288}), "part");
  EXPECT_EQ(too_small("__shared__ float part[32];\nif (lane == 0) part[warp] = 1;\nout[n] = part[lane];", {1024}), "");
  EXPECT_EQ(too_small("float mine[4];\nmine[t % 4] = 1;\nextern __shared__ float all[];\nall[t] = 2;", {512}), "")
      << "local and dynamic shared arrays";
}

TEST(SharedExtent, IsNotKnownForArraysThatArePassed) {
  EXPECT_EQ(too_small("__shared__ float buffer[256];\nsum(buffer, t);", {128}), "buffer");
  EXPECT_EQ(too_small("__shared__ float buffer[256];\nfloat* s = n ? buffer : out;\ns[t] = 1;", {128}), "buffer");
  EXPECT_EQ(too_small("__shared__ float buffer[256];\nfloat* s = buffer;\ns[t] = 1;", {256}), "");
  EXPECT_EQ(too_small("__shared__ float buffer[256];\nfloat* s = buffer + 1;\ns[t] = 1;", {256}), "buffer");
  EXPECT_EQ(too_small("__shared__ float4 buffer[64];\nreinterpret_cast<float4*>(buffer)[t] = v;", {128}), "buffer");
  EXPECT_EQ(too_small("__shared__ float tile[64 + 64];\ntile[t] = 1;\ntile[t + blockDim.x + n] = 2;", {64}), "");
  EXPECT_EQ(too_small("__shared__ float tile[64 + 64];\ntile[t] = 1;\ntile[t + blockDim.x + n] = 2;", {128}), "tile")
      << "n may be 0";
}

TEST(SharedExtent, IsCheckedForEveryDimension) {
  const std::string tile = "__shared__ float tile[TILE][TILE + 1];\ntile[threadIdx.y][threadIdx.x] = in[n];\n";
  EXPECT_EQ(too_small(tile, {16, 16}), "");
  EXPECT_EQ(too_small(tile, {17, 16}), "") << "one column is spare";
  EXPECT_EQ(too_small(tile, {18, 16}), "tile");
  EXPECT_EQ(too_small(tile, {16, 17}), "tile");
  EXPECT_EQ(too_small(tile, {32, 32}, {{"TILE", 32}}), "") << "the extent depends on the knob";
  EXPECT_EQ(
      too_small("__shared__ float all[256];\nint id = threadIdx.y * blockDim.x + threadIdx.x;\nall[id] = 1;", {32, 8}),
      "");
  EXPECT_EQ(
      too_small("__shared__ float all[256];\nint id = threadIdx.y * blockDim.x + threadIdx.x;\nall[id] = 1;", {32, 16}),
      "all");
}

TEST(SharedExtent, IsReportedForArraysOfTheTextOnly) {
  const std::string whole =
      "#define M 4\n__global__ void k(float* a, int n) {\n  __shared__ float s[M][M + 1];\n  int t = threadIdx.x, u = "
      "t + u, v = w, w = v;\n  if (t < M && n) s[t][v ? u : w] = 0;\n}\n";
  for_broken_texts(whole, [](auto& text) {
    const std::string array = too_small_shared_array(text, {}, {8});
    EXPECT_NE(text.find(array), text.npos) << array << ": " << text;
  });
}

}  // namespace
}  // namespace kernelift::tuner
