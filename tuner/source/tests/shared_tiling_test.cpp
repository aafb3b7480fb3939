// Claims about kernels whose blocks compute tiles, as text before and after. Every text must parse again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Bindings k64{{"rows", 64},          {"columns", 64}, {"thread_rows", 4},
                   {"thread_columns", 4}, {"slices", 1},   {"ahead", 0}};
const Bindings kSliced{{"rows", 32},          {"columns", 64}, {"thread_rows", 4},
                       {"thread_columns", 4}, {"slices", 4},   {"ahead", 0}};

std::string product(const std::string& body, const std::string& parameters = "const float *a, const float *b, float *c",
                    const std::string& head = "") {
  return head + "__global__ void k(" + parameters + ", int m, int n, int l) {\n" +
         "  int j = blockIdx.x * blockDim.x + threadIdx.x;\n  int i = blockIdx.y * blockDim.y + threadIdx.y;\n" + body +
         "}\n";
}

/// A product of matrices whose sum is a local variable.
const std::string kSum = product(
    "  if (i < m && j < n) {\n    float sum = 0;\n    for (int k = 0; k < l; ++k) sum += a[i * l + k] * b[k * n + j];\n"
    "    c[i * n + j] = sum;\n  }\n");

std::string tiled(const std::string& text, const RuleContext& known = plane()) {
  return after("shared_tiling", text, k64, 0, known);
}

TEST(SharedTiling, StagesOperandsAndKeepsATileOfOutputsInRegisters) {
  EXPECT_EQ(tiled(kSum), R"(__global__ void k(const float *a, const float *b, float *c, int m, int n, int l) {
  // Each block computes 64 x 64 outputs, each thread 4 x 4 of them, from tiles of a and b in shared memory.
  alignas(16) __shared__ float a_tile[16][64 + 4];
  alignas(16) __shared__ float b_tile[16][64];
  const int block_row = blockIdx.y * 64, block_column = blockIdx.x * 64;
  const int thread_row = threadIdx.y * 4, thread_column = threadIdx.x * 4;
  const int thread = threadIdx.y * 16 + threadIdx.x;
  float sum[4][4] = {};
  for (int k_begin = 0; k_begin < l; k_begin += 16) {
    #pragma unroll
    for (int piece = 0; piece < 4; ++piece) {
      const int i = block_row + threadIdx.y + piece * 16, k = k_begin + threadIdx.x;
      a_tile[threadIdx.x][threadIdx.y + piece * 16] = i < m && k < l ? a[i * l + k] : 0;
    }
    #pragma unroll
    for (int piece = 0; piece < 4; ++piece) {
      const int j = block_column + thread % 64, k = k_begin + thread / 64 + piece * 4;
      b_tile[thread / 64 + piece * 4][thread % 64] = j < n && k < l ? b[k * n + j] : 0;
    }
    __syncthreads();
    const int k_end = k_begin + 16 < l ? k_begin + 16 : l;
    #pragma unroll 8
    for (int k = k_begin; k < k_end; ++k)
      #pragma unroll
      for (int u = 0; u < 4; ++u)
        #pragma unroll
        for (int v = 0; v < 4; ++v)
          sum[u][v] += a_tile[k - k_begin][thread_row + u] * b_tile[k - k_begin][thread_column + v];
    __syncthreads();
  }
  #pragma unroll
  for (int u = 0; u < 4; ++u)
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
      const int i = block_row + thread_row + u, j = block_column + thread_column + v;
      if (i < m && j < n) c[i * n + j] = sum[u][v];
    }
}
)");
}

TEST(SharedTiling, StagesWhatIsReadThroughTheReadOnlyCache) {
  const std::string text =
      tiled(product("  if (i < m && j < n) {\n    float sum = 0;\n"
                    "    for (int k = 0; k < l; ++k) sum += __ldg(&a[i * l + k]) * __ldg(&b[k * n + j]);\n"
                    "    c[i * n + j] = sum;\n  }\n"));
  EXPECT_THAT(text, HasSubstr("= i < m && k < l ? __ldg(&a[i * l + k]) : 0;"));
  EXPECT_THAT(text, HasSubstr("sum[u][v] += a_tile[k - k_begin][thread_row + u] * b_tile[k - k_begin]"));
}

TEST(SharedTiling, CoversTheThreadsOfTheOriginalWithBlocksOfItsOwnSize) {
  auto found = offers("shared_tiling", kSum, k64, plane());
  ASSERT_EQ(found.size(), 1u);
  std::map<std::string, std::string> launch;
  for (auto& [size, expression] : found[0].launch) launch[size] = expression.text();
  EXPECT_EQ(
      launch,
      (std::map<std::string, std::string>{
          {"gx", "ceil_div(gx * bx, 64)"}, {"gy", "ceil_div(gy * by, 64)"}, {"bx", "16"}, {"by", "16"}, {"bz", "1"}}));
  ASSERT_EQ(found[0].premises.size(), 1u);
  EXPECT_EQ(found[0].premises[0].text(), "c overlaps no other array");
  EXPECT_EQ(found[0].place, "the loop over k");
  EXPECT_EQ(found[0].summary, "64 x 64 outputs a block, 4 x 4 a thread, 16 iterations at a time");
}

TEST(SharedTiling, SharesIterationsAmongThreadsWhereThereAreFewTiles) {
  const std::string text = after("shared_tiling", kSum, kSliced, 0, plane());
  EXPECT_THAT(text, HasSubstr("a_tile[thread_step][threadIdx.y + piece * 8] = i < m && k < l ? a[i * l + k] : 0;"));
  EXPECT_THAT(text, HasSubstr("const int thread = (threadIdx.z * 8 + threadIdx.y) * 16 + threadIdx.x;\n"));
  EXPECT_THAT(text, HasSubstr(R"(
    const int k_first = k_begin + threadIdx.z * 16;
    const int k_end = k_first + 16 < l ? k_first + 16 : l;
    #pragma unroll 8
    for (int k = k_first; k < k_end; ++k)
)"));
  EXPECT_THAT(text, HasSubstr(R"(
  for (unsigned slice = 1; slice < 4; ++slice) {
    if (threadIdx.z == slice)
      #pragma unroll
      for (int u = 0; u < 4; ++u)
        #pragma unroll
        for (int v = 0; v < 4; ++v)
          sum_parts[u][v][threadIdx.y][threadIdx.x] = sum[u][v];
    __syncthreads();
    if (threadIdx.z == 0)
      #pragma unroll
      for (int u = 0; u < 4; ++u)
        #pragma unroll
        for (int v = 0; v < 4; ++v)
          sum[u][v] += sum_parts[u][v][threadIdx.y][threadIdx.x];
    __syncthreads();
  }
  if (threadIdx.z != 0) return;
)"));
  auto found = offers("shared_tiling", kSum, kSliced, plane());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("bz").text(), "4");
  EXPECT_EQ(found[0].summary, "32 x 64 outputs a block, 4 x 4 a thread, 64 iterations at a time, shared by 4 threads");
  EXPECT_EQ(after("shared_tiling", kSum, kSliced, 0, plane(1024)), "") << "tiles enough for all processors";
}

TEST(SharedTiling, LoadsTheNextTilesWhileItUsesThePresentOnes) {
  Bindings ahead = k64;
  ahead["ahead"] = 1;
  const std::string text = after("shared_tiling", kSum, ahead, 0, plane());
  EXPECT_THAT(text, HasSubstr(R"(
  float a_tile_next[2];
  float b_tile_next[2];
  const auto load = [&](int k_begin) {
    #pragma unroll
    for (int piece = 0; piece < 2; ++piece) {
      const int i = block_row + thread / 8 + piece * 32, k = k_begin + thread % 8;
      a_tile_next[piece] = i < m && k < l ? a[i * l + k] : 0;
    }
    #pragma unroll
    for (int piece = 0; piece < 2; ++piece) {
      const int j = block_column + thread % 64, k = k_begin + thread / 64 + piece * 4;
      b_tile_next[piece] = j < n && k < l ? b[k * n + j] : 0;
    }
  };
  load(0);
  for (int k_begin = 0; k_begin < l; k_begin += 8) {
    #pragma unroll
    for (int piece = 0; piece < 2; ++piece)
      a_tile[thread % 8][thread / 8 + piece * 32] = a_tile_next[piece];
    #pragma unroll
    for (int piece = 0; piece < 2; ++piece)
      b_tile[thread / 64 + piece * 4][thread % 64] = b_tile_next[piece];
    __syncthreads();
    load(k_begin + 8);
)"));
}

TEST(SharedTiling, BeginsWithTheOriginalsSumInOneOfTheThreadsThatShareIt) {
  const std::string text =
      after("shared_tiling",
            product("  if (i < m && j < n) {\n    c[i * n + j] *= 2.0f;\n    for (int k = 0; k < l; k++)\n"
                    "      c[i * n + j] = c[i * n + j] + a[i * l + k] * b[k * n + j];\n  }\n"),
            kSliced, 0, plane());
  EXPECT_THAT(text,
              HasSubstr("      if (threadIdx.z == 0 && i < m && j < n) {\n        c_sum[u][v] = c[i * n + j];\n"));
  EXPECT_THAT(text, HasSubstr("      if (i < m && j < n) c[i * n + j] = c_sum[u][v];\n"));
}

TEST(SharedTiling, SharesNoIterationsThatDoMoreThanAdd) {
  auto sliced = [](const std::string& statement, const std::string& type = "float") {
    return after("shared_tiling",
                 product("  if (i < m && j < n) {\n    " + type + " sum = 0;\n    for (int k = 0; k < l; ++k) " +
                         statement + "\n    c[i * n + j] = sum;\n  }\n"),
                 kSliced, 0, plane());
  };
  EXPECT_NE(sliced("sum -= a[i * l + k] * b[k * n + j];"), "");
  EXPECT_NE(sliced("sum = sum + a[i * l + k] * b[k * n + j];"), "");
  EXPECT_EQ(sliced("sum = fmaxf(sum, a[i * l + k] * b[k * n + j]);"), "");
  EXPECT_EQ(sliced("sum = a[i * l + k] * b[k * n + j] - sum;"), "");
  EXPECT_EQ(sliced("sum *= a[i * l + k] + b[k * n + j];"), "");
  EXPECT_EQ(sliced("sum += a[i * l + k] * b[k * n + j] * sum;"), "");
  EXPECT_EQ(sliced("sum += a[i * l + k] * b[k * n + j];", "int"), "") << "each term is cut to an integer";
}

TEST(SharedTiling, KeepsAnElementThatTheLoopAddsToInRegisters) {
  const std::string text = tiled(
      product("  if ((i < m) && (j < n)) {\n    c[i * n + j] *= 2.0f;\n    int k;\n    for (k = 0; k < l; k++) {\n"
              "      c[i * n + j] += 3.0f * a[i * l + k] * b[k * n + j];\n    }\n  }\n"));
  EXPECT_THAT(text, HasSubstr("      if (i < m && j < n) {\n        c_sum[u][v] = c[i * n + j];\n"
                              "        c_sum[u][v] *= 2.0f;\n      }\n"));
  EXPECT_THAT(text, HasSubstr("c_sum[u][v] += 3.0f * a_tile[k - k_begin][thread_row + u] * "
                              "b_tile[k - k_begin][thread_column + v];\n"));
  EXPECT_THAT(text, HasSubstr("      if (i < m && j < n) c[i * n + j] = c_sum[u][v];\n"));
}

TEST(SharedTiling, BeginsWithZeroRegistersWhereTheElementIsSetToZero) {
  EXPECT_THAT(tiled(product("  if (i < m && j < n) {\n    c[i * n + j] = 0;\n    for (int k = 0; k < l; k++)\n"
                            "      c[i * n + j] += a[i * l + k] * b[k * n + j];\n  }\n")),
              AllOf(HasSubstr("float c_sum[4][4] = {};\n  for (int k_begin"), Not(HasSubstr("= c[i * n + j]"))));
}

TEST(SharedTiling, LeavesAnElementAloneIfTheLoopHasNoIterations) {
  EXPECT_THAT(tiled(product("  if (i < m && j < n)\n    for (int k = 1; k <= l; k++)\n"
                            "      c[i * n + j] += a[i * l + k] * b[k * n + j];\n")),
              AllOf(HasSubstr("if (i < m && j < n) if (1 < l + 1) c_sum[u][v] = c[i * n + j];"),
                    HasSubstr("if (i < m && j < n) if (1 < l + 1) c[i * n + j] = c_sum[u][v];")));
}

TEST(SharedTiling, StoresATileTransposedWhereThatReadsNeighboursTogether) {
  const std::string text =
      tiled(product("  if (i < m && j < n) {\n    float sum = 0;\n    for (int k = 0; k < l; ++k) sum += a[k * m + i] "
                    "* b[j * l + k];\n"
                    "    c[i * n + j] = sum;\n  }\n"));
  EXPECT_THAT(text, HasSubstr("a_tile[thread / 64 + piece * 4][thread % 64] = i < m && k < l ? a[k * m + i] : 0;"));
  EXPECT_THAT(text, HasSubstr("float b_tile[16][64 + 4];"));
  EXPECT_THAT(text, HasSubstr("b_tile[threadIdx.x][threadIdx.y + piece * 16] = j < n && k < l ? b[j * l + k] : 0;"));
}

TEST(SharedTiling, StagesAnArrayOnceForRowsAndOnceForColumns) {
  const std::string text =
      tiled(product("  if (i < n && j < n) {\n    float sum = 0;\n    for (int k = 0; k < l; ++k) sum += a[i * l + k] "
                    "* a[j * l + k];\n"
                    "    c[i * n + j] = sum;\n  }\n"));
  EXPECT_THAT(text, HasSubstr("a_rows[k - k_begin][thread_row + u] * a_columns[k - k_begin][thread_column + v];"));
}

TEST(SharedTiling, GivesNeighbouringThreadsNeighbouringOutputs) {
  const std::string text = tiled(R"(__global__ void k(const float *a, const float *b, float *c, int m, int n, int l) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int k = 0; k < l; ++k) sum += a[i * l + k] * b[k * n + j];
  c[i * n + j] = sum;
}
)");
  EXPECT_THAT(text, HasSubstr("block_row = blockIdx.x * 64, block_column = blockIdx.y * 64;"));
  EXPECT_THAT(text, HasSubstr("const int i = block_row + thread_row + u, j = block_column + thread_column + v;\n"
                              "      if (i < m && j < n) c[i * n + j] = sum[u][v];"));
}

TEST(SharedTiling, RepeatsDeclarationsWhereTheyAreNeeded) {
  const std::string text = tiled(product(
      "  if (i < m && j < n) {\n    const float *row = a + i * l;\n    const int at = i * n + j;\n    float sum = 1;\n"
      "    for (int k = 0; k < l; ++k) {\n      const int where = k * n + j;\n      float factor = row[k];\n"
      "      sum += factor * b[where];\n    }\n    c[at] = sum;\n  }\n"));
  EXPECT_THAT(text,
              HasSubstr("      const float *row = a + i * l;\n      row_tile[threadIdx.x][threadIdx.y + piece * 16] = "
                        "i < m && k < l ? row[k] : 0;\n"));
  EXPECT_THAT(text, HasSubstr("      const int where = k * n + j;\n      b_tile["));
  EXPECT_THAT(text, HasSubstr("          float factor = row_tile[k - k_begin][thread_row + u];\n"
                              "          sum[u][v] += factor * b_tile[k - k_begin][thread_column + v];\n        }\n"));
  EXPECT_THAT(text, HasSubstr("        const int at = i * n + j;\n        c[at] = sum[u][v];\n"));
  EXPECT_THAT(text, HasSubstr("      if (i < m && j < n) sum[u][v] = 1;\n"));
}

TEST(SharedTiling, KeepsInRegistersWhatDiffersBetweenThreadsOnly) {
  const std::string text = tiled(product(
      "  if (i < m && j < n) {\n    const float mean = a[i];\n    float sum = 0;\n    for (int k = 0; k < l; ++k)\n"
      "      sum += (a[i * l + k] - mean) * (b[k * n + j] - b[j]) * b[k];\n    c[i * n + j] = sum;\n  }\n"));
  EXPECT_THAT(text, HasSubstr("float b_kept[4] = {};\n  float mean_kept[4] = {};\n"));
  EXPECT_THAT(text, HasSubstr("        if (0 < l) b_kept[v] = b[j];\n        mean_kept[u] = a[i];\n"));
  EXPECT_THAT(text, HasSubstr("- mean_kept[u]) * (b_tile[k - k_begin][thread_column + v] - b_kept[v]) * b[k];"));
}

TEST(SharedTiling, NamesWhatItKeepsOfOneArrayApart) {
  EXPECT_THAT(tiled(product("  if (i < m && j < n) {\n    float sum = 0;\n    for (int k = 0; k < l; ++k)\n"
                            "      sum += (a[i * l + k] - b[i]) * (b[k * n + j] - b[j]);\n    c[i * n + j] = sum;\n"
                            "  }\n")),
              AllOf(HasSubstr("if (0 < l) b_kept[u] = b[i];\n        if (0 < l) b_kept2[v] = b[j];\n"),
                    HasSubstr("- b_kept[u]) * (b_tile[k - k_begin][thread_column + v] - b_kept2[v]);")));
}

TEST(SharedTiling, KeepsCommentsWithTheirStatements) {
  const std::string text = tiled(product(
      "  if (i < m && j < n) {\n    // Begins anew.\n    c[i * n + j] = 2;\n    /* All of the row. */\n    // In "
      "order.\n"
      "    for (int k = 0; k < l; ++k) {\n      // A product.\n      c[i * n + j] += a[i * l + k] * b[k * n + j];\n"
      "    }\n    // Once more.\n    c[i * n + j] *= 3;\n  }\n"));
  EXPECT_THAT(text, HasSubstr("        // Begins anew.\n        c_sum[u][v] = 2;\n"));
  EXPECT_THAT(text, HasSubstr("  /* All of the row. */\n  // In order.\n  for (int k_begin = 0;"));
  EXPECT_THAT(text, HasSubstr("          // A product.\n          c_sum[u][v] += a_tile"));
  EXPECT_THAT(text, HasSubstr("        // Once more.\n        c_sum[u][v] *= 3;\n        c[i * n + j] = c_sum"));
}

TEST(SharedTiling, SpellsTypesAndBoundsAsTheProgramDoes) {
  const std::string text = tiled(product(
      "  if (i < M && j < n) {\n    real sum = 0;\n    for (size_t k = 0; k < DEPTH; k++) sum += a[i * DEPTH + k] * "
      "b[k * n + j];\n    c[i * n + j] = sum;\n  }\n",
      "const real *a, const real *b, real *c", "#define real float\n#define M (m)\n#define DEPTH 77\n"));
  EXPECT_THAT(text, HasSubstr("alignas(16) __shared__ real a_tile[16][64 + 4];"));
  EXPECT_THAT(text, HasSubstr("real sum[4][4] = {};"));
  EXPECT_THAT(text, HasSubstr("for (size_t k_begin = 0; k_begin < DEPTH; k_begin += 16) {"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "const int i = block_row + threadIdx.y + piece * 16;\n      const size_t k = k_begin + threadIdx.x;\n"));
  EXPECT_THAT(text, HasSubstr("i < M && k < DEPTH ? a[i * DEPTH + k] : 0;"));
}

TEST(SharedTiling, GivesAPromotedSumTheTypeOfItsArray) {
  const std::string text =
      tiled(product("  if (i < m && j < n) {\n    auto sum = c[i * n + j];\n    for (int k = 0; k < l; ++k) sum += a[i "
                    "* l + k] * b[k "
                    "* n + j];\n    c[i * n + j] = sum;\n  }\n",
                    "const REAL *a, const REAL *b, REAL *__restrict__ c", "#define REAL float\n"));
  EXPECT_THAT(text, HasSubstr("  REAL sum[4][4] = {};\n"));
}

TEST(SharedTiling, PassesOverTilesPastTheDiagonal) {
  auto triangle = [](const std::string& guard) {
    return tiled(product("  if (" + guard +
                         ") {\n    float sum = 0;\n    for (int k = 0; k < l; ++k)\n"
                         "      sum += a[i * l + k] * a[j * l + k];\n    c[i * n + j] = sum;\n  }\n"));
  };
  EXPECT_THAT(triangle("i < n && j <= i"), AllOf(HasSubstr("  if (block_column >= block_row + 64) return;\n"),
                                                 HasSubstr("j < n && k < l ? a[j * l + k] : 0;"),
                                                 HasSubstr("if (i < n && j <= i) c[i * n + j] = sum[u][v];")));
  EXPECT_THAT(triangle("j < n && i < j"), AllOf(HasSubstr("  if (block_row >= block_column + 64) return;\n"),
                                                HasSubstr("i < n && k < l ? a[i * l + k] : 0;")));
  EXPECT_THAT(triangle("i < m && j < n && i >= j"), AllOf(HasSubstr("if (block_column >= block_row + 64) return;\n"),
                                                          HasSubstr("j < n && k < l ? a[j * l + k] : 0;")));
}

TEST(SharedTiling, OfATemplateServesAllItsInstances) {
  const std::string text = tiled(product(
      "  if (i < m && j < n) {\n    T sum = 0;\n    for (int k = 0; k < l; ++k) sum += a[i * l + k] * b[k * n + j];\n"
      "    c[i * n + j] = sum;\n  }\n",
      "const T *a, const T *b, T *c", "template <class T> "));
  EXPECT_THAT(text, HasSubstr("alignas(16) __shared__ T b_tile[16][64];"));
  EXPECT_THAT(text, HasSubstr("T sum[4][4] = {};"));
}

TEST(SharedTiling, OfExactlyFittingThreadsAsksForAGridOfWholeTiles) {
  const std::string text = product(
      "  float sum = 0;\n  for (int k = 0; k < l; ++k) sum += a[i * l + k] * b[k * n + j];\n  c[i * n + j] = sum;\n");
  auto found = offers("shared_tiling", text, k64, plane());
  ASSERT_EQ(found.size(), 1u);
  std::set<std::string> premises;
  for (auto& premise : found[0].premises) premises.insert(premise.text());
  EXPECT_TRUE(premises.contains("gridDim.x * blockDim.x % 64 == 0"));
  EXPECT_TRUE(premises.contains("gridDim.y * blockDim.y % 64 == 0"));
  EXPECT_THAT(tiled(text), HasSubstr("a_tile[threadIdx.x][threadIdx.y + piece * 16] = k < l ? a[i * l + k] : 0;"));
  EXPECT_EQ(tiled(text, plane(9)), "") << "9 blocks of 32 are no whole tiles";
}

TEST(SharedTiling, ReadsColumnsTogetherOfWiderTiles) {
  const std::string text =
      after("shared_tiling", kSum,
            {{"rows", 128}, {"columns", 128}, {"thread_rows", 8}, {"thread_columns", 8}, {"slices", 1}, {"ahead", 0}},
            0, plane());
  EXPECT_THAT(text, HasSubstr("b_tile[k - k_begin][thread_column + part * 64 + v];"));
  EXPECT_THAT(text, HasSubstr("j = block_column + thread_column + part * 64 + v;"));
}

TEST(SharedTiling, GivesAThreadMoreRowsThanColumns) {
  const std::string text =
      after("shared_tiling", kSum,
            {{"rows", 64}, {"columns", 64}, {"thread_rows", 8}, {"thread_columns", 4}, {"slices", 1}, {"ahead", 0}}, 0,
            plane());
  EXPECT_THAT(text, HasSubstr("each thread 8 x 4 of them"));
  EXPECT_THAT(text, HasSubstr("const int thread_row = threadIdx.y * 8, thread_column = threadIdx.x * 4;"));
  EXPECT_THAT(text, HasSubstr("float sum[8][4] = {};"));
  EXPECT_THAT(text, HasSubstr("for (int u = 0; u < 8; ++u)"));
  EXPECT_THAT(text, HasSubstr("for (int v = 0; v < 4; ++v)"));
}

TEST(SharedTiling, StagesAnElementTimesAFactorOfAllThreads) {
  auto of = [](const std::string& term) {
    return tiled(product("  if (i < m && j < n) {\n    float sum = 0;\n    for (int k = 0; k < l; ++k) sum += " + term +
                             ";\n    c[i * n + j] = sum;\n  }\n",
                         "const float *a, const float *b, float *c, float alpha, double wide, const float *scale"));
  };
  const std::string text = of("alpha * a[i * l + k] * b[k * n + j]");
  EXPECT_THAT(text, HasSubstr("= i < m && k < l ? alpha * a[i * l + k] : 0;"));
  EXPECT_THAT(text, HasSubstr("sum[u][v] += a_tile[k - k_begin][thread_row + u] * b_tile[k - k_begin]"));
  EXPECT_THAT(of("a[i * l + k] * b[k * n + j] * alpha"), HasSubstr("? a[i * l + k] : 0;")) << "in the same order";
  EXPECT_THAT(of("wide * a[i * l + k] * b[k * n + j]"), HasSubstr("? a[i * l + k] : 0;")) << "in the same precision";
  EXPECT_THAT(of("scale[k] * a[i * l + k] * b[k * n + j]"), HasSubstr("scale[k] * a_tile")) << "no factor of all steps";
}

TEST(SharedTiling, OffersShapesForWhichThereIsWork) {
  auto shapes = [](uint32_t blocks) {
    auto source = *KernelSource::parse(kSum, arguments());
    auto all = opportunities(rule_called("shared_tiling"), source, plane(blocks));
    return std::ranges::count_if(all,
                                 [](auto& one) { return one.values.at("slices") == 1 && one.values.at("ahead") == 0; });
  };
  EXPECT_EQ(shapes(64), 12);
  EXPECT_LT(shapes(2), 12) << "no tile of 128 x 128 for 64 x 16 outputs";
}

TEST(SharedTiling, LeavesOtherKernelsAlone) {
  auto body = [](const std::string& loop, const std::string& last = "c[i * n + j] = sum;") {
    return product("  if (i < m && j < n) {\n    float sum = 0;\n    " + loop + "\n    " + last + "\n  }\n");
  };
  const std::string add = "sum += a[i * l + k] * b[k * n + j];";
  ASSERT_NE(tiled(body("for (int k = 0; k < l; ++k) " + add)), "");
  EXPECT_EQ(tiled(body("for (int k = 0; k < i; ++k) " + add)), "") << "iterations differ between threads";
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; k += 2) " + add)), "") << "another step";
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k) { " + add + " if (sum > 9) break; }")), "") << "it ends early";
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k) { " + add + " c[k] = sum; }")), "") << "it stores";
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k) { " + add + " atomicAdd(c, sum); }")), "") << "it stores";
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k) { " + add + " sum += c[k]; }")), "") << "c is stored to";
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k) { " + add + " __syncthreads(); }")), "") << "a barrier";
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k) if (k > i) " + add)), "") << "it may not load there";
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k) sum += a[i * l + k] * b[k];")), "") << "nothing by column";
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k) sum += a[i + j + k] * b[k * n + j] * a[i * l + k];")), "")
      << "differs for each output";
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k) " + add, "c[i * n + j] = sum * threadIdx.x;")), "")
      << "depends on the block";
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k) " + add, "if (sum < 0) return;\n    c[i * n + j] = sum;")), "");
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k) { float *p = &sum; *p += a[i * l + k] * b[k * n + j]; }")), "");
  EXPECT_EQ(tiled(body("for (int k = 0; k < l; ++k, ++n) " + add)), "") << "a size changes";
}

TEST(SharedTiling, LeavesKernelsAloneWhoseGuardIsNoneOfRowsAndColumns) {
  auto guarded = [](const std::string& guard) {
    return product("  if (" + guard +
                   ") {\n    float sum = 0;\n    for (int k = 0; k < l; ++k) sum += a[i * l + k] * " +
                   "b[k * n + j];\n    c[i * n + j] = sum;\n  }\n");
  };
  EXPECT_NE(tiled(guarded("i >= 1 && i < m && j < n && l > 3")), "");
  EXPECT_EQ(tiled(guarded("i < m && j < n && j <= i + 1")), "") << "no triangle";
  EXPECT_EQ(tiled(guarded("i < m && j <= i && i <= j")), "") << "a diagonal";
  EXPECT_EQ(tiled(guarded("i * n + j < m")), "");
  EXPECT_EQ(tiled(guarded("i < m && j < n && a[i] > 0")), "") << "it reads memory";
}

TEST(SharedTiling, LeavesKernelsAloneWhoseArraysMayOverlap) {
  RuleContext known = plane();
  known.shared_pointers = {2};
  EXPECT_EQ(tiled(kSum, known), "");
  EXPECT_EQ(tiled(product("  if (i < m && j < n) {\n    float sum = 0;\n    for (int k = 0; k < l; ++k)\n"
                          "      sum += c[i * l + k] * b[k * n + j];\n    c[i * n + j] = sum;\n  }\n")),
            "")
      << "other threads' elements, of which some are stored already";
  EXPECT_EQ(
      tiled(product("  float *d = c + n;\n  if (i < m && j < n) {\n    float sum = 0;\n    for (int k = 0; k < l; "
                    "++k)\n      sum += c[i * l + k] * b[k * n + j];\n    d[i * n + j] = sum;\n  }\n")),
      "");
}

TEST(SharedTiling, SaysWhyALoopThatLooksLikeAProductIsLeftAlone) {
  auto why_not = [](const std::string& text) {
    std::set<std::string> said;
    RuleContext known = plane();
    known.declined = [&](const Rule& rule, const std::string& sentence) { said.insert(rule.name + (": " + sentence)); };
    EXPECT_EQ(tiled(text, known), "");
    return said;
  };
  auto loop = [](const std::string& statements) {
    return product("  if (i < m && j < n) {\n    float sum = 0;\n    for (int k = 0; k < l; ++k) {" + statements +
                   "}\n    c[i * n + j] = sum;\n  }\n");
  };
  using testing::ElementsAre;
  const std::string add = "sum += a[i * l + k] * b[k * n + j];", rule = "shared_tiling: the loop over k: ";
  EXPECT_THAT(why_not(loop(add + " c[k] = sum;")),
              ElementsAre(rule + "it does more than add to variables of the thread and to an element that only this "
                                 "thread has"));
  EXPECT_THAT(why_not(loop("if (k > i) " + add)),
              ElementsAre(rule + "an operand is read under a condition, through a "
                                 "structure or another pointer, or by row, column and "
                                 "iteration at once"));
  EXPECT_THAT(why_not(loop(add + " sum += c[k];")), ElementsAre(rule + "what the kernel stores may be what the loop "
                                                                       "reads"));
  EXPECT_THAT(why_not(loop("sum += a[i * l + k] * b[k];")), ElementsAre()) << "no product";
}

TEST(SharedTiling, LeavesKernelsAloneWithSharedMemoryOrABlockOfTheirOwn) {
  EXPECT_EQ(tiled("extern __shared__ float seen[];\n" + kSum.substr(0, kSum.size() - 2) + "  seen[0] = 1;\n}\n"), "");
  std::string bounds = kSum;
  bounds.replace(0, 15, "__global__ void __launch_bounds__(128)");
  EXPECT_EQ(tiled(bounds), "");
  RuleContext deep = plane();
  deep.geometries[0].block.z = 2;
  EXPECT_EQ(tiled(kSum, deep), "");
}

}  // namespace
}  // namespace kernelift::tuner
