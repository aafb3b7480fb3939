// Tests of the rules that change how work is distributed over threads, as text before and after. Every rewritten text
// must parse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

TEST(BlockMerging, LeavesKernelsWithoutBarriersToUnrollAndJam) {
  EXPECT_EQ(after("block_merging", kGemm, {{"x", 2}, {"y", 1}, {"z", 1}}, 0, plane()), "");
}

TEST(SwapBlockAxes, RenumbersTheThreadsOfABlock) {
  const std::string columns =
      "__global__ void k(const float *a, float *b, int n) {\n  int row = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  int column = blockIdx.y * blockDim.y + threadIdx.y;\n  b[row * n + column] = a[row * n + column];\n}\n";
  std::string text = after("swap_block_axes", columns, {}, 0, plane());
  EXPECT_THAT(
      text,
      HasSubstr("{\n  const unsigned thread_rank = threadIdx.y * blockDim.x + threadIdx.x, swapped_x = thread_rank "
                "/ blockDim.y, swapped_y = thread_rank % blockDim.y;\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "int row = blockIdx.x * blockDim.x + swapped_x;\n  int column = blockIdx.y * blockDim.y + swapped_y;\n"));
  EXPECT_EQ(after("swap_block_axes", text, {}, 0, plane()), "") << "a second application would undo it";
  std::string apart = columns;
  apart.insert(apart.find("threadIdx.") + 10, " ");
  EXPECT_EQ(after("swap_block_axes", apart, {}, 0, plane()), text) << "blanks do not matter";
  EXPECT_NE(after("swap_block_axes", "// A warp's volatile asm.\n" + columns, {}, 0, plane()), "");
  EXPECT_EQ(after("swap_block_axes", columns, {}, 0, facts()), "") << "blocks of one dimension";
  EXPECT_EQ(
      after("swap_block_axes", "#define X threadIdx.x\n" + columns.substr(0, columns.size() - 2) + "  b[X] = 1;\n}\n",
            {}, 0, plane()),
      "");
  EXPECT_EQ(after("swap_block_axes",
                  columns.substr(0, columns.size() - 2) +
                      "  __shared__ int s[64];\n  s[threadIdx.x] = row;\n  b[row] = s[threadIdx.x ^ 1];\n}\n",
                  {}, 0, plane()),
            "")
      << "an exchange within a warp without a barrier";
  EXPECT_EQ(after("swap_block_axes", columns.substr(0, columns.size() - 2) + "  __syncwarp(~0u);\n}\n", {}, 0, plane()),
            "")
      << "the warps would consist of other threads";
}

TEST(ThreadRules, FollowTheTextsIndentation) {
  auto indented = [](std::string text, const std::string& by) {
    for (size_t at = 0; (at = text.find('\n', at)) != text.npos;) {
      ++at;
      size_t blanks = std::min(text.find_first_not_of(' ', at), text.size()) - at;
      std::string wanted;
      for (size_t i = 0; i < blanks / 2; ++i) wanted += by;
      text.replace(at, blanks, wanted);
    }
    return text;
  };
  const std::string columns =
      "__global__ void k(const float *a, float *b, int n)\n{\n  int row = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  int column = blockIdx.y * blockDim.y + threadIdx.y;\n  b[row * n + column] = a[row * n + column];\n}\n";
  for (const std::string by : {"\t", "    "}) {
    EXPECT_THAT(after("swap_block_axes", indented(columns, by), {}, 0, plane()),
                HasSubstr("{\n" + by + "const unsigned thread_rank = "));
    std::string text = after("unroll_and_jam", indented(kGemm, by), {{"x", 1}, {"y", 2}, {"z", 1}}, 0, plane());
    ASSERT_NE(text, "");
    EXPECT_EQ(text, indented(after("unroll_and_jam", kGemm, {{"x", 1}, {"y", 2}, {"z", 1}}, 0, plane()), by));
  }
  const std::string wrapped = "__global__ void k(const float *a,\n                  float *b, int n) {\n" +
                              columns.substr(columns.find("  int row"));
  EXPECT_THAT(after("swap_block_axes", wrapped, {}, 0, plane()), HasSubstr("{\n  const unsigned thread_rank = "));
}

TEST(WarpAggregation, LetsOneLanePerformTheAtomic) {
  std::string text = after("warp_aggregation",
                           "__global__ void k(float *total, int *most, const float *x, int n) {\n  int i = blockIdx.x "
                           "* blockDim.x + threadIdx.x;\n"
                           "  if (i < n)\n    atomicAdd(total, x[i] * 2);\n  atomicMax(&most[blockIdx.x], i);\n}\n");
  EXPECT_THAT(
      text,
      HasSubstr(
          "{ float partial = x[i] * 2; if (__activemask() == 0xffffffffu) { for (int offset = 16; offset > 0; offset "
          "/= 2) "
          "partial += __shfl_xor_sync(0xffffffffu, partial, offset); if ((threadIdx.x + blockDim.x * (threadIdx.y + "
          "blockDim.y * threadIdx.z)) % 32 == 0) "
          "atomicAdd(total, partial); } else atomicAdd(total, partial); }"));
  EXPECT_THAT(text, HasSubstr("partial = max(partial, __shfl_xor_sync(0xffffffffu, partial, offset))"));
}

TEST(WarpAggregation, LeavesDivergentAddressesAndUsedResults) {
  auto with = [](const std::string& statement) {
    return after(
        "warp_aggregation",
        "__global__ void k(int *y, int n) {\n  int i = threadIdx.x, j = blockIdx.x * 2, m = 0;\n  m += n;\n  " +
            statement + "\n}\n");
  };
  EXPECT_NE(with("atomicAdd(&y[j], 1);"), "");
  EXPECT_NE(with("atomicAdd(y + j, i);"), "");
  EXPECT_EQ(with("atomicAdd(&y[i], 1);"), "");
  EXPECT_EQ(with("atomicAdd(&y[y[0]], 1);"), "") << "the index is read from memory";
  EXPECT_EQ(with("atomicAdd(&y[m], 1);"), "") << "m is changed";
  EXPECT_EQ(with("int old = atomicAdd(y, 1); y[old] = 1;"), "");
  EXPECT_EQ(with("auto count = [&](int at) { atomicAdd(&y[at], 1); };\n  count(i);"), "")
      << "the address depends on the lambda's argument";
  EXPECT_EQ(with("auto count = [](int *at) { atomicAdd(at, 1); };\n  count(y + i);"), "");
}

RuleContext with_extent(size_t parameter, uint64_t bytes) {
  RuleContext known = facts();
  known.extents[parameter] = bytes;
  return known;
}

const std::string kHistogram = R"(__global__ void k(const unsigned char *value, unsigned *counts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&counts[value[i]], 1u);
}
)";

TEST(SharedPrivatisation, AddsToSharedMemoryAndDirectlyPastTheRecordedExtent) {
  std::string text = after("shared_privatisation", kHistogram, {{"factor", 1}}, 0, with_extent(1, 1024));
  EXPECT_EQ(text, R"(__global__ void k(const unsigned char *value, unsigned *counts, int n) {
  __shared__ unsigned int counts_shared[256];
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned element = thread; element < 256; element += threads) counts_shared[element] = 0;
  __syncthreads();
  do {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) continue;
  { const size_t element = value[i]; if (element < 256) atomicAdd(&counts_shared[element], 1u); else atomicAdd(&counts[element], 1u); }
  } while (false);
  __syncthreads();
  for (unsigned element = thread; element < 256; element += threads) if (counts_shared[element] != 0) atomicAdd(&counts[element], counts_shared[element]);
}
)");
}

TEST(SharedPrivatisation, LetsABlockDoTheWorkOfSeveral) {
  RuleContext known = with_extent(1, 1024);
  auto found = offers("shared_privatisation", kHistogram, {{"factor", 8}}, known);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("gx").text(), "ceil_div(gx, 8)");
  std::string text = after("shared_privatisation", kHistogram, {{"factor", 8}}, 0, known);
  EXPECT_THAT(text, HasSubstr("__syncthreads();\n  for (int block_iteration = 0; block_iteration < 8; "
                              "++block_iteration) {\n    int i = (blockIdx.x * 8 + "
                              "block_iteration) * blockDim.x + threadIdx.x;\n"
                              "    if (i >= n) continue;\n"));
  EXPECT_THAT(text, HasSubstr("  }\n  __syncthreads();\n  for (unsigned element"));
}

TEST(SharedPrivatisation, LeavesArraysThatAreLargeOrUsedOtherwise) {
  auto with = [](const std::string& statement, uint64_t bytes = 64) {
    return after("shared_privatisation",
                 "__global__ void k(float *sums, int n) {\n  int i = threadIdx.x;\n  " + statement + "\n}\n",
                 {{"factor", 1}}, 0, with_extent(0, bytes));
  };
  EXPECT_THAT(with("if (i < n) atomicAdd(sums, 2.0f);"), HasSubstr("if (i < n) atomicAdd(&sums_shared[0], 2.0f);"));
  EXPECT_THAT(with("atomicAdd(sums + i % 2, 2.0f);"),
              HasSubstr("{ const size_t element = i % 2; if (element < 16) atomicAdd(&sums_shared[element], 2.0f);"));
  EXPECT_EQ(with("atomicAdd(sums, 2.0f);", 1 << 20), "") << "shared memory is too small";
  EXPECT_EQ(with("float old = atomicAdd(sums, 2.0f); sums[1] = old;"), "") << "the result is used";
  EXPECT_EQ(with("atomicAdd(sums, 2.0f); sums[1] = 1;"), "") << "the array is accessed otherwise";
  EXPECT_EQ(with("extern __shared__ int tile[];\n  tile[i] = n;\n  atomicAdd(sums, 2.0f);"), "")
      << "another run may use all shared memory";
  RuleContext shared = with_extent(0, 64);
  shared.shared_pointers = {0};
  EXPECT_EQ(after("shared_privatisation", "__global__ void k(float *sums) {\n  atomicAdd(sums, 2.0f);\n}\n",
                  {{"factor", 1}}, 0, shared),
            "");
}

TEST(SharedPrivatisation, IsNotForWarpsOfWhichALaneMayHaveEnded) {
  const std::string kernel = R"(__global__ void k(float *sums, const float *x) {
  float sum = x[threadIdx.y * blockDim.x + threadIdx.x];
  if (threadIdx.y == 0) {
    sum += __shfl_xor_sync(0xffffffffu, sum, 8);
    if (threadIdx.x == 0) {
      atomicAdd(&sums[0], sum);
    }
  }
}
)";
  RuleContext rows = with_extent(0, 64);
  rows.geometries = {{{64, 64, 1}, {16, 16, 1}}};
  EXPECT_TRUE(offers("shared_privatisation", kernel, {{"factor", 1}}, rows).empty())
      << "the other row of the warp has ended, or waits for ever at the barrier behind";
  rows.geometries = {{{64, 64, 1}, {32, 16, 1}}};
  EXPECT_FALSE(offers("shared_privatisation", kernel, {{"factor", 1}}, rows).empty()) << "rows are warps";
}

TEST(BlockIndex, IsRecognisedInItsUsualSpellings) {
  for (auto* spelled : {"(unsigned long long)blockDim.x * blockIdx.x + threadIdx.x",
                        "blockIdx.x * static_cast<long>(blockDim.x) + (long)threadIdx.x"})
    EXPECT_NE(after("unroll_and_jam",
                    std::string("__global__ void k(float *y, long n) {\n  long i = ") + spelled +
                        ";\n  if (i >= n) return;\n  y[i] = 1;\n}\n",
                    {{"x", 2}, {"y", 1}, {"z", 1}}),
              "")
        << spelled;
  EXPECT_NE(after("unroll_and_jam",
                  "#define W 64\n__global__ void k(float *y, int n) {\n  const unsigned i = (unsigned)(blockIdx.x * W "
                  "+ threadIdx.x);\n  if (i >= n) return;\n  y[i] = 1;\n}\n",
                  {{"x", 2}, {"y", 1}, {"z", 1}}),
            "");
  EXPECT_EQ(after("unroll_and_jam",
                  "__global__ void k(float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= "
                  "n) return;\n  y[i] = threadIdx.x;\n}\n",
                  {{"x", 2}, {"y", 1}, {"z", 1}}),
            "")
      << "threadIdx is used elsewhere, too";
}

TEST(BlockIndex, MustBeTheOnlyUseOfTheBuiltinVariables) {
  for (auto* other :
       {"OUT = 1;", "y[i + TX] = 1;", "const uint3 b = blockIdx;\n  y[i] = b.x;", "y[i + place()] = 1;"}) {
    const std::string text =
        "#define OUT y[blockIdx.x * 64 + i]\n#define TX threadIdx.x\n" +
        std::string(strstr(other, "place") ? "__device__ int place() { const uint3 t = threadIdx; return t.x; }\n"
                                           : "") +
        "__global__ void k(float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) "
        "return;\n  " +
        other + "\n}\n";
    EXPECT_EQ(after("unroll_and_jam", text, {{"x", 2}, {"y", 1}, {"z", 1}}), "") << other;
    EXPECT_EQ(after("block_coarsening", text, {{"factor", 2}}), "") << other;
  }
}

}  // namespace
}  // namespace kernelift::tuner
