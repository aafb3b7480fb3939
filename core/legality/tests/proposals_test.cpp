// What proposers rely on: extents that data fill, sizes of chunks, blocks that do the work of several.
#include <gtest/gtest.h>

#include "core/legality/legality.h"
#include "core/legality/tests/suite.h"

namespace kernelift::legality {
namespace {

using Kind = Answer::Kind;

/// The kernel `k(float* x, const float* a, const int* at, int n, int m)` with `#define NAME before`, and with `after`.
Answer changed(const std::string& text, int before, int after, int block = 128) {
  auto source = [&](int value) { return "#define V " + std::to_string(value) + "\n#define B 128\n" + text; };
  auto shape = [&](int threads) {
    return LaunchShape{{static_cast<uint32_t>(threads), 1, 1},
                       {*Expression::parse("ceil_div(arg.a3, " + std::to_string(threads) + ")"),
                        Expression::constant(1), Expression::constant(1)}};
  };
  const bool launched = block == 0;  // The block's size is the constant.
  const auto one = suite_model(source(before), {static_cast<uint32_t>(launched ? before : block), 1, 1}),
             other = suite_model(source(after), {static_cast<uint32_t>(launched ? after : block), 1, 1});
  static const Names names{{"arg.a0", "x"}, {"arg.a1", "a"}, {"arg.a2", "at"}, {"arg.a3", "n"}, {"arg.a4", "m"}};
  return compare_memory({one, shape(launched ? before : block)}, {other, shape(launched ? after : block)}, names);
}

std::string proposed(const std::string& body, const std::string& before = "") {
  return before + "__global__ void k(float* x, const float* a, const int* at, int n, int m) {\n" + body + "\n}\n";
}

const std::string kRow = "int i = blockIdx.x * B + threadIdx.x;\n  float sum = 0;\n  if (i >= n) return;\n  ";

const std::string kHeld = "int i = blockIdx.x * B + threadIdx.x;\n  if (i >= n) return;\n  float held[V];\n  ";

TEST(ExtentsOfArrays, MayChangeIfEveryIndexFollowsThem) {
  for (auto* body : {"for (int j = 0; j < n; ++j) held[j & (V - 1)] = a[j];\n  x[i] = held[at[i] & (V - 1)];",
                     "for (int k = 0; k < V; ++k) held[k] = a[i];\n  x[i] = held[at[i] & (V - 1)];"})
    EXPECT_EQ(changed(proposed(kHeld + body), 64, 32).kind, Kind::Proven) << body;
}

TEST(ExtentsOfArrays, AreNotProvenToBeLargeEnoughForWhatDataFill) {
  for (auto* body :
       {"int count = 0;\n  for (int j = 0; j < n; ++j) if (a[j] > 0) held[count++] = a[j];\n  x[i] = held[at[i]];",
        "int head = 0;\n  for (int j = 0; j < n; ++j) held[head++ % V] = a[j];\n  x[i] = held[at[i]];",
        "int head = n;\n  for (int j = 0; j < n; ++j) { held[head & (V - 1)] = a[j]; head += at[j]; }\n  x[i] = "
        "held[at[i]];",
        "const int from = at[i];\n  held[from + 1] = a[i];\n  x[i] = held[at[i]];",
        "held[at[i]] = a[i];\n  x[i] = held[at[i + 1]];",
        "for (int k = 0; k < n; ++k) held[k] = a[k];\n  x[i] = held[1];",
        "int k = 0;\n  while (k < V) { held[k] = a[k]; k += at[k] / V; }\n  x[i] = held[at[i]];"}) {
    auto answer = changed(proposed(kHeld + body), 64, 32);
    EXPECT_TRUE(answer.kind == Kind::Refuted || answer.kind == Kind::NotKnown ||
                (answer.premise && *answer.premise->evaluate({{"arg.a3", 50}}) == 0))
        << body << answer.why;
  }
}

/// Not proven for m = n = 24 with chunks of 16 or 32 in place of 8.
void expect_only_where_it_divides(const std::string& text, int before, int after, int64_t size, int block = 128) {
  auto answer = changed(text, before, after, block);
  ASSERT_NE(answer.kind, Kind::Proven) << text;
  if (answer.premise) EXPECT_EQ(*answer.premise->evaluate({{"arg.a3", size}, {"arg.a4", size}}), 0) << text;
}

TEST(ChunkSizes, AreRightOnlyWhereTheyDivideIfElementsAreNotCompared) {
  for (auto* body :
       {"for (int k = 0; k < m; k += V)\n    for (int u = 0; u < V; ++u) sum += a[i * m + k + u];\n  x[i] = sum;",
        "for (int b = 0; b < m / V; ++b)\n    for (int u = 0; u < V; ++u) sum += a[i * m + b * V + u];\n  x[i] = sum;",
        "const int parts = m / V;\n  for (int b = 0; b < parts; ++b)\n    for (int u = 0; u < V; ++u) sum += a[b * V + "
        "u];\n  x[i] = sum;"})
    expect_only_where_it_divides(proposed(kRow + body), 8, 16, 24);
  expect_only_where_it_divides(proposed("int first = (blockIdx.x * B + threadIdx.x) * V;\n  if (first >= n) return;\n  "
                                        "for (int u = 0; u < V; ++u) x[first + u] = a[first + u];"),
                               8, 16, 24);
  for (auto* parts : {"n / V", "(n + V - 1) / V"})
    expect_only_where_it_divides(
        proposed(
            "__shared__ float tile[V];\n  int i = blockIdx.x * V + threadIdx.x;\n  float sum = 0;\n  for (int t = "
            "0; t < " +
            std::string(parts) +
            "; ++t) {\n    tile[threadIdx.x] = a[t * V + threadIdx.x];\n    __syncthreads();\n    for (int u = 0; u "
            "< V; ++u) sum += tile[u];\n    __syncthreads();\n  }\n  if (i < n) x[i] = sum;"),
        64, 128, 192, 0);
}

TEST(ChunkSizes, MayChangeIfEachElementIsCompared) {
  for (auto* body : {"for (int k = 0; k < m; k += V)\n    for (int u = 0; u < V; ++u) if (k + u < m) sum += a[i * m + "
                     "k + u];\n  x[i] = sum;",
                     "for (int k = 0; k < m; k += V)\n    for (int u = 0; u < V && k + u < m; ++u) sum += a[i * m + k "
                     "+ u];\n  x[i] = sum;",
                     "for (int b = 0; b < (m + V - 1) / V; ++b)\n    for (int u = 0; u < V; ++u) {\n      const int "
                     "here = b * V + u;\n      if (here < m) sum += a[i * m + here];\n    }\n  x[i] = sum;",
                     "for (int k = 0; k < m; k += V) {\n    const int end = min(k + V, m);\n    for (int j = k; j < "
                     "end; ++j) sum += a[j];\n  }\n  x[i] = sum;"})
    for (int other : {4, 16}) EXPECT_EQ(changed(proposed(kRow + body), 8, other).kind, Kind::Proven) << body;
}

TEST(LargerBlocks, AreWrongWhereNoGuardKeepsThreadsInBounds) {
  const std::string index = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  ";
  for (auto* body : {"x[i + n] = x[i];", "if (a[i] > 0) x[i + n] = a[i];", "for (int k = 0; k < n; ++k) x[i] += k;",
                     "x[i + n] = 0;\n  if (i < n) x[i] = a[i];", "if (i < n) x[i] = a[i];\n  x[i + n] = 0;",
                     "if (i % 2 == 0) x[i] = 1;", "if (a[i] > 0 && i < n) x[i] = 1;"})
    EXPECT_NE(changed(proposed(index + body), 128, 512, 0).kind, Kind::Proven) << body;
  for (auto* body :
       {"if (i < n) x[i] = 1;", "const int row = i / 8, all = n / 8;\n  if (row >= all) return;\n  x[i] = 1;"})
    EXPECT_EQ(changed(proposed(index + body), 128, 512, 0).kind, Kind::Proven) << body;
}

/// Blocks that do the work of two, and half as many of them: `k<<<(chunk + 127) / 128, 128>>>(x, first, chunk, total)`.
Answer coarsened(const std::string& guard, const std::string& blocks = "ceil_div(arg.a2, 128)",
                 const std::string& before = "") {
  auto model = [&](bool two) {
    std::string body = before + "  if (" + guard + ") continue;\n  x[i] = 1;\n";
    return suite_model("__global__ void k(float* x, int first, int chunk, int total) {\nfor (int b = 0; b < " +
                           std::string(two ? "2" : "1") + "; ++b) {\n  int i = (blockIdx.x" + (two ? " * 2 + b" : "") +
                           ") * blockDim.x + threadIdx.x;\n" + body + "}\n}\n",
                       {128, 1, 1});
  };
  auto shape = [&](const std::string& grid) {
    return LaunchShape{{128, 1, 1}, {*Expression::parse(grid), Expression::constant(1), Expression::constant(1)}};
  };
  const auto one = model(false), other = model(true);
  return compare_memory({one, shape(blocks)}, {other, shape("ceil_div(" + blocks + ", 2)")});
}

TEST(SmallerGrids, AreRightWhereTheGuardAdmitsNoMoreThanTheLaunchCovers) {
  for (auto* guard : {"i >= chunk", "i + 1 >= chunk", "i > chunk - 1", "chunk <= i"})
    EXPECT_EQ(coarsened(guard).kind, Kind::Proven) << guard;
  EXPECT_EQ(coarsened("i >= end", "ceil_div(arg.a2, 128)", "  const int end = chunk - (first & 7);\n").kind,
            Kind::Proven);
  EXPECT_EQ(coarsened("first + i >= total", "96").kind, Kind::Proven) << "a constant even number of blocks";
}

TEST(SmallerGrids, AreWrongWhereItAdmitsMore) {
  for (auto* guard : {"first + i >= total", "i - 1 >= chunk", "i > chunk", "chunk < i", "i >= chunk + 1",
                      "i >= 2 * chunk", "i >= chunk << 1", "i + first >= chunk", "i >= 1000"}) {
    auto answer = coarsened(guard);
    EXPECT_NE(answer.kind, Kind::Proven) << guard;
    EXPECT_NE(answer.kind, Kind::NotKnown) << guard << ": " << answer.why;
  }
  EXPECT_NE(coarsened("first + i >= total", "97").kind, Kind::Proven) << "a constant odd number of blocks";
}

}  // namespace
}  // namespace kernelift::legality
