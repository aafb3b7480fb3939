// Launch geometry rewritten in place: existing expressions are reused, and what cannot be expressed is refused.
#include "reintegrate/patch/launch/launch_edit.h"
#include "reintegrate/patch/launch/launch_text.h"

#include <gtest/gtest.h>

#include <set>

#include "core/tests/expression_literal.h"
#include "reintegrate/tests/edited_launch.h"

namespace kernelift::reintegrate {
namespace {

TEST(LaunchEdit, LeavesARecordedGeometryAlone) { EXPECT_EQ(Launch("grid", "block").result(), "<<<grid, block>>>"); }

TEST(LaunchEdit, WrapsAVariableOfUnknownType) {
  Launch l("grid", "block");
  l.grid("ceil_div(gx, 2)");
  EXPECT_EQ(l.result(), "<<<dim3((dim3(grid).x + 1) / 2, dim3(grid).y, dim3(grid).z), block>>>");
}

TEST(LaunchEdit, UsesTheMembersOfADim3Variable) {
  Launch l("grids", "blocks");
  l.site.grid_form = l.site.block_form = "dim3";
  l.site.block[0] = "64"_e, l.site.block[1] = "2"_e, l.site.block[2] = "1"_e;
  l.values = {{"block_x", 64}, {"block_y", 4}};
  l.grid("ceil_div(ceil_div(gx * bx, block_x), 2)");
  l.launch.grid[1] = *Expression::parse("ceil_div(gy * by, block_y)");
  l.block("block_x");
  l.launch.block[1] = *Expression::parse("block_y");
  EXPECT_EQ(l.result(),
            "<<<dim3((size_t(grids.x) * blocks.x + 127) / 128, (size_t(grids.y) * blocks.y + 3) / 4, grids.z), "
            "dim3(64, 4, blocks.z)>>>");
  l.source.resize(l.source.find("//"));
  EXPECT_EQ(l.result(),
            "<<<dim3((size_t(grids.x) * blocks.x + 127) / 128,\n"
            "                         (size_t(grids.y) * blocks.y + 3) / 4, grids.z),\n"
            "                    dim3(64, 4, blocks.z)>>>")
      << "at most 100 columns where the file has none longer";
  l.source.insert(l.source.size() - 1, "\r");
  EXPECT_EQ(l.result(),
            "<<<dim3((size_t(grids.x) * blocks.x + 127) / 128,\r\n"
            "                         (size_t(grids.y) * blocks.y + 3) / 4, grids.z),\r\n"
            "                    dim3(64, 4, blocks.z)>>>")
      << "lines end as the file's do";
}

TEST(LaunchEdit, WrapsADim3ExpressionThatIsNotAName) {
  Launch l("wide ? a : b", "64");
  l.site.grid_form = "dim3";
  l.grid("gx * 2");
  EXPECT_EQ(l.result(), "<<<dim3(dim3(wide ? a : b).x * 2, dim3(wide ? a : b).y, dim3(wide ? a : b).z), 64>>>");
}

TEST(LaunchEdit, UsesANumberWithoutWrappingIt) {
  Launch l("blocks", "threads");
  l.site.grid_form = l.site.block_form = "number";
  l.mep.instances[0].geometry = {{8, 1, 1}, {64, 1, 1}, 0, false};
  l.values["block_x"] = 128;
  l.grid("ceil_div(gx * bx, block_x)");
  l.block("block_x");
  EXPECT_EQ(l.result(), "<<<(size_t(blocks) * threads + 127) / 128, 128>>>");
}

TEST(LaunchEdit, TakesANumberOutOfADim3) {
  Launch l("dim3((total + THREADS - 1) / THREADS)", "dim3(THREADS)");
  l.site.grid_form = l.site.block_form = "dim3";
  l.site.grid[0] = "(total + THREADS - 1) / THREADS"_e, l.site.grid[1] = "1"_e;
  l.site.block[0] = "THREADS"_e, l.site.block[1] = "1"_e;
  l.mep.instances[0].geometry = {{8, 1, 1}, {64, 1, 1}, 0, false};
  l.values["block_x"] = 512;
  l.grid("ceil_div(gx * bx, block_x)");
  l.block("block_x");
  EXPECT_EQ(l.result(), "<<<dim3((size_t((total + THREADS - 1) / THREADS) * THREADS + 511) / 512), dim3(512)>>>");
  l.site.block[0] = "64"_e, l.site.block[1] = "2"_e;  // A variable that is a dim3.
  EXPECT_NE(l.result().find("dim3(512, dim3(THREADS).y, dim3(THREADS).z)"), std::string::npos) << l.result();
}

TEST(LaunchEdit, WrapsAFloatingPointExpression) {
  Launch l("n / 256.0 + 1", "64");
  l.site.grid_form = "other";
  l.grid("gx * 2");
  EXPECT_EQ(l.result(), "<<<dim3(dim3(n / 256.0 + 1).x * 2, dim3(n / 256.0 + 1).y, dim3(n / 256.0 + 1).z), 64>>>");
}

/// A rewrite that computes tiles has a block of its own, and covers the threads that there were.
struct TiledLaunch : Launch {
  TiledLaunch(const std::string& grid, const std::string& block) : Launch(grid, block) {
    for (int axis = 0; axis < 2; ++axis) {
      launch.grid[axis] = *expression_of(axis == 0 ? "ceil_div(gx * bx, 64)" : "ceil_div(gy * by, 32)");
      launch.block[axis] = *expression_of(axis == 0 ? "16" : "8");
    }
    launch.block[2] = *expression_of("1");
  }
};

TEST(LaunchEdit, CoversTheSameThreadsWithABlockOfConstantSize) {
  TiledLaunch variables("grid", "block");
  variables.site.grid_form = variables.site.block_form = "dim3";
  EXPECT_EQ(variables.result(),
            "<<<dim3((size_t(grid.x) * block.x + 63) / 64, (size_t(grid.y) * block.y + 31) / 32, grid.z), dim3(16, "
            "8)>>>");
  TiledLaunch knobs("dim3((n + X - 1) / X, (m + Y - 1) / Y)", "dim3(X, Y)");
  EXPECT_EQ(
      knobs.result(),
      "<<<dim3((size_t((n + X - 1) / X) * X + 63) / 64, (size_t((m + Y - 1) / Y) * Y + 31) / 32), dim3(16, 8)>>>");
}

TEST(LaunchEdit, FoldsOnlyNumbersThatTheLaunchItselfContains) {
  Launch l("grid", "block");
  l.site.grid_form = l.site.block_form = "dim3";
  l.grid("ceil_div(gx * bx, 32)");
  for (auto* scanned : {"32", "64"}) {
    l.site.block[0] = expression_of(scanned);
    EXPECT_EQ(l.result(), "<<<dim3((size_t(grid.x) * block.x + 31) / 32, grid.y, grid.z), block>>>") << scanned;
  }
}

TEST(LaunchEdit, KeepsAOneDimensionalGridOneDimensional) {
  Launch l("(n + 255) / 256", "256");
  l.mep.instances[0].geometry = {{8, 1, 1}, {256, 1, 1}, 0, false};
  l.grid("ceil_div(gx, 4)");
  EXPECT_EQ(l.result(), "<<<((n + 255) / 256 + 3) / 4, 256>>>");
}

TEST(LaunchEdit, RoundsUpOnceAfterSeveralChanges) {
  Launch l("((n + 7) / 8 + 7) / 8", "64");
  l.site.grid[0] = "((n + 7) / 8 + 7) / 8"_e;
  l.mep.instances[0].geometry = {{8, 1, 1}, {64, 1, 1}, 0, false};
  l.grid("ceil_div(gx, 2)");
  EXPECT_EQ(l.result(), "<<<(n + 127) / 128, 64>>>");
  Launch wide("((size_t)w * h + 63) / 64", "64");
  wide.site.grid[0] = "(w * h + 63) / 64"_e;
  wide.mep.instances[0].geometry = {{8, 1, 1}, {64, 1, 1}, 0, false};
  wide.grid("ceil_div(gx, 2)");
  EXPECT_EQ(wide.result(), "<<<(((size_t)w * h + 63) / 64 + 1) / 2, 64>>>") << "the cast is no part of the expression";
}

TEST(LaunchEdit, ReusesTheArgumentsOfADim3) {
  Launch l("dim3(nx / 8, div(ny, 4))", "dim3(64, 2)");
  l.block("bx * 2");
  EXPECT_EQ(l.result(), "<<<dim3(nx / 8, div(ny, 4)), dim3(128, 2)>>>");
}

TEST(LaunchEdit, TakesCommasInCommentsAndTemplatesForNoSeparators) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(dim3_arguments("dim3((n + 31) / 32 /* blocks, in x */, m // rows, too\n)"), (Parts{"(n + 31) / 32", "m"}));
  EXPECT_EQ(dim3_arguments("dim3(up<1, 32>(n), a < b ? 1 : 2)"), (Parts{"up<1, 32>(n)", "a < b ? 1 : 2"}));
}

TEST(LaunchEdit, SubstitutesParameterValues) {
  Launch l("grid", "block");
  l.site.block[0] = "64"_e, l.site.block[1] = "2"_e, l.site.block[2] = "1"_e;
  l.values["block_x"] = 128;
  l.block("block_x");
  EXPECT_EQ(l.result(), "<<<grid, dim3(128, dim3(block).y, dim3(block).z)>>>");
}

TEST(LaunchEdit, KeepsANameFromWhichTheGridIsComputed) {
  // THREADS is 64 now, and the grid is computed from it elsewhere: the edit must be right for other values too.
  Launch l("grid", "THREADS");
  l.site.grid_form = "dim3", l.site.block_form = "number", l.site.grid[0] = "(n + THREADS - 1) / THREADS"_e,
  l.site.block[0] = "THREADS"_e;
  l.mep.instances[0].geometry = {{8, 1, 1}, {64, 1, 1}, 0, false};
  l.values["block_x"] = 16;
  l.grid("ceil_div(ceil_div(gx * bx, block_x), 4)");
  l.block("block_x");
  EXPECT_EQ(l.result(), "<<<dim3((size_t(grid.x) * THREADS + 63) / 64, grid.y, grid.z), 16>>>");
  l.grid("ceil_div(gx * 64, 16)");
  EXPECT_NE(l.result().find("would have to follow its block, which along x is not a number there"), std::string::npos)
      << l.result();
  l.site.grid[0] = "rows"_e;
  EXPECT_EQ(l.result(), "<<<dim3(grid.x * 4, grid.y, grid.z), 16>>>") << "the grid does not depend on the block";
}

TEST(LaunchEdit, RefusesABlockThatMayExceedTheLimitOnThreads) {
  Launch l("grid", "block");
  l.site.grid_form = l.site.block_form = "dim3";
  l.site.block[0] = "bx"_e, l.site.block[1] = "by"_e, l.site.block[2] = "1"_e;
  l.site.grid[0] = "(n + bx - 1) / bx"_e, l.site.grid[1] = "(m + by - 1) / by"_e;
  l.values = {{"block_x", 256}, {"block_y", 2}};
  l.grid("ceil_div(gx * bx, block_x)");
  l.block("block_x");
  EXPECT_NE(l.result().find("its size along y is not known before the program runs"), std::string::npos) << l.result();
  l.launch.grid[1] = *Expression::parse("ceil_div(gy * by, block_y)");
  l.launch.block[1] = *Expression::parse("block_y");
  EXPECT_EQ(l.result(),
            "<<<dim3((size_t(grid.x) * block.x + 255) / 256, (size_t(grid.y) * block.y + 1) / 2, grid.z), dim3(256, 2, "
            "block.z)>>>");
  l.block("bx * 2");
  EXPECT_NE(l.result().find("its size along x is not known before the program runs"), std::string::npos) << l.result();
}

TEST(LaunchEdit, KeepsTheLaunchsExpressionOnAnAxisThatDoesNotChange) {
  Launch l("grid", "block");
  l.site.grid_form = l.site.block_form = "dim3";
  l.site.grid[0] = "(n + 63) / 64"_e;
  l.values["block_x"] = 128;
  l.grid("ceil_div(gx * bx, block_x)");
  l.block("block_x");
  EXPECT_EQ(l.result(),
            "<<<dim3((size_t(grid.x) * block.x + 127) / 128, grid.y, grid.z), dim3(128, block.y, block.z)>>>");
  Launch named("grid", "dim3(BX, BY)");
  named.site.grid_form = "dim3", named.mep.knobs = {{}, {}}, named.mep.knobs[0].name = "BX",
  named.mep.knobs[1].name = "BY";
  named.mep.knobs[0].value = 64, named.mep.knobs[1].value = 2;
  named.site.block[0] = "BX"_e, named.site.block[1] = "BY"_e;
  named.values["block_x"] = 128;
  named.block("block_x");
  EXPECT_EQ(named.result(), "<<<grid, dim3(128, BY)>>>");
}

TEST(LaunchEdit, RefusesABlockOfTooManyThreadsAtALaunchThatWasNotRecorded) {
  Launch l("grid", "dim3(64, 16)");
  l.site.grid_form = "dim3", l.site.block[1] = "16"_e;
  l.values["block_x"] = 128;
  l.grid("ceil_div(gx * bx, block_x)");
  l.block("block_x");
  EXPECT_NE(l.result().find("would have 2048 threads, which is more than 1024"), std::string::npos) << l.result();
}

TEST(LaunchEdit, WritesMinAsAConditionalExpression) {
  Launch l("grid", "64");
  l.grid("min(gx, 5)");
  EXPECT_EQ(l.result(), "<<<dim3(dim3(grid).x < 5 ? dim3(grid).x : 5, dim3(grid).y, dim3(grid).z), 64>>>");
}

TEST(LaunchEdit, WritesALimitThatNoRecordedLaunchReaches) {
  Launch l("grid", "64");
  l.grid("min(gx, 4096)");
  EXPECT_EQ(l.result(), "<<<dim3(dim3(grid).x < 4096 ? dim3(grid).x : 4096, dim3(grid).y, dim3(grid).z), 64>>>");
  l.grid("gx - gx / 1024");
  EXPECT_EQ(l.result(), "<<<dim3(dim3(grid).x - dim3(grid).x / 1024, dim3(grid).y, dim3(grid).z), 64>>>");
}

TEST(LaunchEdit, DoesNotEditAGridThatFollowsAChangedKnob) {
  Launch l("(n + BLOCK - 1) / BLOCK", "BLOCK");
  l.site.grid[0] = "(n + BLOCK - 1) / BLOCK"_e, l.site.block[0] = "BLOCK"_e, l.site.block[1] = "2"_e,
  l.site.block[2] = "1"_e;
  l.values["BLOCK"] = l.changed["BLOCK"] = 128;
  l.grid("ceil_div(gx * 64, BLOCK)");
  l.block("BLOCK");
  EXPECT_EQ(l.result(), "<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>");
  l.site.block[1] = "rows"_e;
  EXPECT_NE(l.result().find("its size along y is not known"), std::string::npos) << l.result();
  l.values["BLOCK"] = l.changed["BLOCK"] = 32;
  EXPECT_EQ(l.result(), "<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>") << "the block does not grow";
}

TEST(LaunchEdit, WritesTheRemainingFactorOfAGridThatFollowsAChangedKnob) {
  Launch l("(n + BLOCK - 1) / BLOCK", "BLOCK");
  l.site.grid_form = l.site.block_form = "number";
  l.site.grid[0] = "(n + BLOCK - 1) / BLOCK"_e, l.site.block[0] = "BLOCK"_e;
  l.values["BLOCK"] = l.changed["BLOCK"] = 128;
  l.grid("ceil_div(gx * 64, BLOCK) * 32");
  l.block("BLOCK");
  EXPECT_EQ(l.result(), "<<<((n + BLOCK - 1) / BLOCK) * 32, BLOCK>>>");
  l.grid("ceil_div(ceil_div(gx * 64, BLOCK), 4)");
  EXPECT_EQ(l.result(), "<<<(n + BLOCK * 4 - 1) / (BLOCK * 4), BLOCK>>>");
  l.grid("gx * 2");
  EXPECT_NE(l.result().find("it is not known whether to the verified value (gx * 2)"), std::string::npos) << l.result();
}

TEST(LaunchEdit, ScalesAnAxisThatFollowsAKnobOnlyOnceIfAnotherAxisIsRewritten) {
  Launch l("dim3((n + BLOCK - 1) / BLOCK, m)", "BLOCK");
  l.site.grid[0] = "(n + BLOCK - 1) / BLOCK"_e, l.site.grid[1] = "(m + 1) / 2"_e, l.site.grid[2] = "1"_e,
  l.site.block[0] = "BLOCK"_e, l.site.block[1] = "2"_e, l.site.block[2] = "1"_e;
  l.values["BLOCK"] = l.changed["BLOCK"] = 128;
  l.grid("ceil_div(gx * 64, BLOCK)");
  l.launch.grid[1] = *Expression::parse("ceil_div(gy, 2)");
  l.block("BLOCK");
  EXPECT_EQ(l.result(), "<<<dim3((n + BLOCK - 1) / BLOCK, (m + 1) / 2), BLOCK>>>");
  l.launch.grid[1] = *Expression::parse("ceil_div(gy * gx, 2)");
  EXPECT_NE(l.result().find("depends on 'gx', which itself changes with 'BLOCK'"), std::string::npos) << l.result();
}

TEST(LaunchEdit, RefusesAGridThatMayOrMayNotFollowAChangedKnob) {
  Launch l("blocks_for(n)", "BLOCK");
  l.site.grid[0] = std::nullopt;
  l.site.block[0] = "BLOCK"_e;
  l.values["BLOCK"] = l.changed["BLOCK"] = 128;
  l.grid("ceil_div(gx * 64, BLOCK)");
  l.block("BLOCK");
  EXPECT_NE(l.result().find("it is not known whether it follows 'BLOCK' by itself"), std::string::npos) << l.result();
}

TEST(LaunchEdit, RefusesAnotherBlockThanTheRecordedOneIfTheGridIsScaledByANumber) {
  Launch l("(n + 511) / 512", "512");
  l.site.grid_form = l.site.block_form = "number";
  l.mep.instances[0].geometry = {{8, 1, 1}, {256, 1, 1}, 0, false};
  l.values["block_x"] = 128;
  l.block("block_x");
  l.grid("ceil_div(gx * 256, block_x)");
  EXPECT_NE(
      l.result().find("follow its block, which along x is 512 there: the candidate was verified with blocks of 256"),
      std::string::npos)
      << l.result();
  l.grid("ceil_div(gx * bx, block_x)");
  EXPECT_EQ(l.result(), "<<<((n + 511) / 512) * 4, 128>>>");
}

TEST(LaunchEdit, ChangesAGridThatIsUnchangedOnlyForTheRecordedSizes) {
  Launch l("(n + 255) / 256", "256");
  l.mep.instances[0].geometry = {{1, 1, 1}, {256, 1, 1}, 0, false};
  l.grid("ceil_div(gx, 4)");
  EXPECT_EQ(l.result(), "<<<((n + 255) / 256 + 3) / 4, 256>>>");
}

TEST(LaunchEdit, RefusesABlockThatFollowsAKnobToAnUnverifiedSize) {
  Launch l("grid", "BLOCK * 2");
  l.site.block[0] = "BLOCK * 2"_e;
  l.values["BLOCK"] = l.changed["BLOCK"] = 128;
  l.block("BLOCK + 1");
  EXPECT_NE(l.result().find("would become 256 along x, but the candidate was verified with 129"), std::string::npos)
      << l.result();
}

TEST(LaunchEdit, LaunchesAPartOfABlockThatFollowsAKnob) {
  Launch l("dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE)", "dim3(TILE, TILE)");
  l.site.grid_form = l.site.block_form = "dim3";
  l.site.grid[0] = "(n + TILE - 1) / TILE"_e, l.site.grid[1] = "(m + TILE - 1) / TILE"_e, l.site.grid[2] = "1"_e;
  l.site.block[0] = l.site.block[1] = "TILE"_e, l.site.block[2] = "1"_e;
  l.mep.instances[0].geometry = {{8, 8, 1}, {16, 16, 1}, 0, false};
  l.values["TILE"] = l.changed["TILE"] = 32;
  l.launch.grid[0] = *Expression::parse("ceil_div(gx * 16, TILE)");
  l.launch.grid[1] = *Expression::parse("ceil_div(gy * 16, TILE)");
  l.launch.block[0] = *Expression::parse("TILE"), l.launch.block[1] = *Expression::parse("ceil_div(TILE, 4)");
  EXPECT_EQ(l.result(), "<<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), dim3(TILE, TILE / 4)>>>");
}

TEST(LaunchEdit, RewritesDynamicSharedMemory) {
  Launch l("grid", "block", "bytes");
  l.launch.shared = *Expression::parse("shared * 2");
  EXPECT_EQ(l.result(), "<<<grid, block, bytes * 2>>>");
}

TEST(LaunchEdit, ChangesWhatAMacroIsGivenAndNotItsDefinition) {
  Launch l("grid", "block");
  l.site.through_macro = true;
  l.grid("gx * 2");
  EXPECT_EQ(l.result(), "<<<dim3(dim3(grid).x * 2, dim3(grid).y, dim3(grid).z), block>>>");
  l.site.block_range = {};
  EXPECT_NE(l.result().find("written by a macro"), std::string::npos) << "the macro spells the block";
}

TEST(LaunchEdit, RefusesALaunchThatServesSeveralKernels) {
  Launch l("grid", "block");
  l.site.kernels = {"a", "b"};
  l.grid("gx * 2");
  EXPECT_NE(l.result().find("serves 2 kernels"), std::string::npos);
}

TEST(LaunchEdit, RefusesToEvaluateASideEffectTwice) {
  Launch l("sizes[i++]", "block");
  l.grid("gx * 2");
  EXPECT_NE(l.result().find("side effects"), std::string::npos);
}

TEST(LaunchEdit, RoundsAGridUpWhereItsNumberOfThreadsChanges) {
  Launch l("blocks", "64");
  l.site.grid_form = l.site.block_form = "number", l.mep.instances[0].geometry = {{8, 1, 1}, {64, 1, 1}, 0, false};
  l.grid("ceil_div(gx, 4)");
  EXPECT_EQ(l.result(), "<<<(blocks + 3) / 4, 64>>>");
  l.grid("ceil_div(gx * bx, 32)");
  l.block("32");
  EXPECT_EQ(l.result(), "<<<blocks * 2, 32>>>") << "the number of threads stays the same";
}

TEST(LaunchEdit, NotesACallOnlyIfItIsEvaluatedMoreThanOnce) {
  Launch l("div_up(n, 64)", "64");
  l.site.grid_form = l.site.block_form = "number", l.mep.instances[0].geometry.block = {64, 1, 1};
  l.grid("gx * 2");
  EXPECT_EQ(l.result(), "<<<div_up(n, 64) * 2, 64>>>");
  EXPECT_TRUE(l.notes().empty()) << l.notes()[0];
  l.grid("gx * gx");
  ASSERT_EQ(l.notes().size(), 1u);
  EXPECT_NE(l.notes()[0].find("now evaluates 'div_up(n, 64)' more than once"), std::string::npos);
}

TEST(LaunchEdit, RefusesASiteThatHasMoved) {
  Launch l("grid", "block");
  l.grid("gx * 2");
  l.source.insert(0, "// a new first line\n");
  EXPECT_NE(l.result().find("not where the scan found it"), std::string::npos);
}

/// A launch of k(int count, int rows) with n = 512 and m = 8.
Launch with_parameters() {
  Launch l("dim3((n + 63) / 64, (m + 1) / 2)", "dim3(64, 2)");
  l.site.grid_form = l.site.block_form = "dim3";
  l.mep.parameters = {{"count", "int", "", false, "int"}, {"rows", "int", "", false, "int"}};
  auto& instance = l.mep.instances[0];
  instance.arguments.resize(8), instance.arguments[1] = std::byte{2}, instance.arguments[4] = std::byte{8};
  instance.parameters = {{0, 4}, {4, 4}};
  return l;
}

TEST(LaunchEdit, ComputesASizeFromWhatTheLaunchPasses) {
  Launch l = with_parameters();
  l.values = {{"TILE", 128}};
  l.grid("ceil_div(count, TILE * 2)"), l.block("TILE");
  EXPECT_EQ(l.result(), "<<<dim3((n + 255) / 256, (m + 1) / 2), dim3(128, 2)>>>");
}

TEST(LaunchEdit, LeavesASizeThatTheLaunchComputesInTheSameWay) {
  for (auto* size : {"ceil_div(count, 64)", "(count + 63) / 64", "(count - 1 + 64) / 64"}) {
    Launch l = with_parameters();
    l.grid(size);
    EXPECT_EQ(l.result(), "<<<dim3((n + 63) / 64, (m + 1) / 2), dim3(64, 2)>>>") << size;
  }
  Launch knob = with_parameters();
  knob.site.grid[0] = "(n + B - 1) / B"_e, knob.site.block[0] = "B"_e;
  Knob b;
  b.name = "B", b.value = 64;
  knob.mep.knobs = {b};
  knob.values = knob.changed = {{"B", 128}};
  knob.grid("ceil_div(count, B)"), knob.block("B");
  EXPECT_EQ(knob.result(), "<<<dim3((n + 63) / 64, (m + 1) / 2), dim3(64, 2)>>>") << "it follows B by itself";
  knob.grid("ceil_div(count, B * 2)");
  EXPECT_NE(knob.result().find("not known whether to the verified value"), std::string::npos) << knob.result();
}

TEST(LaunchEdit, RefusesASizeFromAnArgumentThatMustNotBeEvaluatedTwice) {
  for (auto* argument : {"next()", "left--"}) {
    Launch l = with_parameters();
    l.site.argument_text[0] = argument, l.site.unrepeatable_arguments = {0};
    l.grid("ceil_div(count, 256)");
    EXPECT_NE(l.result().find("depends on 'count', for which the source has no expression"), std::string::npos);
  }
}

}  // namespace
}  // namespace kernelift::reintegrate
