// What depends on values in memory, or on how inputs are laid out: where threads may meet, and rows.
#include <gtest/gtest.h>

#include "core/legality/legality.h"
#include "core/legality/tests/suite.h"

namespace kernelift::legality {
namespace {

using Kind = Answer::Kind;

TEST(CompareMemory, AThreadsIterationsThatBecomeThreadsMayRaceWhereMemorySaysWhichElementsTheyStoreTo) {
  auto tokens = [](const char* begin, const char* step) {
    return std::string(
               "__global__ void k(const float* x, float* out, int n, int dim, const int* token) {\n"
               "  int j = blockIdx.x * blockDim.x + threadIdx.x;\n  if (j < dim)\n    for (int k = ") +
           begin + "; k < n; k += " + step + ") out[token[k] * dim + j] += x[k * dim + j];\n}";
  };
  const KernelModel serial = suite_model(tokens("0", "1"), {128, 1, 1}),
                    shared = suite_model(tokens("blockIdx.y", "gridDim.y"), {128, 1, 1});
  LaunchShape before{{128, 1, 1},
                     {*Expression::parse("ceil_div(arg.a3, 128)"), Expression::constant(1), Expression::constant(1)}};
  LaunchShape after = before;
  after.grid[1] = Expression::constant(64);
  const Answer answer = compare_memory({serial, before}, {shared, after});
  EXPECT_EQ(answer.kind, Kind::NotKnown) << answer.why;
  EXPECT_EQ(answer.may_race, "one thread reads in line 4 what another writes in line 4, in arg.a1");
  LaunchShape narrow = before;
  narrow.block.x = 64, narrow.grid[0] = *Expression::parse("ceil_div(arg.a3, 64)");
  const Answer blocks = compare_memory({serial, before}, {suite_model(tokens("0", "1"), {64, 1, 1}), narrow});
  EXPECT_EQ(blocks.may_race, "");
  // Where threads of the original meet, those of another block do, too.
  const std::string scatter =
      "__global__ void k(const float* x, float* out, int n, const int* to) {\n  int i = blockIdx.x * blockDim.x + "
      "threadIdx.x;\n  if (i < n) out[to[i]] = x[i];\n}";
  LaunchShape wide{{128, 1, 1},
                   {*Expression::parse("ceil_div(arg.a2, 128)"), Expression::constant(1), Expression::constant(1)}},
      small{{32, 1, 1}, {*Expression::parse("ceil_div(arg.a2, 32)"), Expression::constant(1), Expression::constant(1)}};
  EXPECT_EQ(
      compare_memory({suite_model(scatter, wide.block), wide}, {suite_model(scatter, small.block), small}).may_race,
      "");
}

TEST(CompareMemory, AnInputMayBeReadBeyondItsRows) {
  auto text = [](const char* index) {
    return std::string(
               "__global__ void k(const float* x, float* out, int n, int pitch, int rows) {\n"
               "  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;\n"
               "  if (i < n) out[j * n + i] = x[") +
           index + "];\n}";
  };
  auto shape = [](unsigned block) {
    return LaunchShape{{block, 1, 1},
                       {*Expression::parse("ceil_div(arg.a2, " + std::to_string(block) + ")"),
                        Expression::variable("arg.a4"), Expression::constant(1)}};
  };
  const std::string beyond = text("j * pitch + i + 3");
  const Answer blocks =
      compare_memory({suite_model(beyond, {128, 1, 1}), shape(128)}, {suite_model(beyond, {64, 1, 1}), shape(64)});
  EXPECT_EQ(blocks.kind, Kind::Proven) << blocks.why << (blocks.premise ? blocks.premise->text() : "");
  const Answer other = compare_memory({suite_model(beyond, {128, 1, 1}), shape(128)},
                                      {suite_model(text("j * pitch + i + 4"), {128, 1, 1}), shape(128)});
  EXPECT_NE(other.kind, Kind::Proven) << other.why;
}

}  // namespace
}  // namespace kernelift::legality
