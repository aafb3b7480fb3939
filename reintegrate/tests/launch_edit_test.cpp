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

struct GuardedLaunch : Launch {
  GuardedLaunch(const std::string& grid, const std::string& block, const char* asks) : Launch(grid, block) {
    guard = LaunchGuard({Premise::holds(*expression_of(asks))});
    site.grid_form = site.block_form = "number";
    mep.instances[0].geometry = {{8, 1, 1}, {64, 1, 1}, 0, false};
    mep.parameters.resize(2);
    mep.parameters[0].name = "count", mep.parameters[1].name = "m";
    for (auto& parameter : mep.parameters) parameter.scalar = "long";
    launch.grid[0] = *expression_of("ceil_div(gx * 64, 256)"), launch.block[0] = *expression_of("256");
  }
};

TEST(LaunchEdit, AsksThePremiseInTheLaunchsOwnWordsAndElseLaunchesAsBefore) {
  EXPECT_EQ(GuardedLaunch("(n + 63) / 64", "64", "count > 0 && (count - 1) % 256 >= 192").result(),
            "<<<((long long)(n) > 0 && ((long long)(n) - 1) % 256 >= 192) ? (n + 255) / 256 : (n + 63) / 64, "
            "((long long)(n) > 0 && ((long long)(n) - 1) % 256 >= 192) ? 256 : 64>>>");
}

TEST(LaunchEdit, GivesBothSidesOfAPremiseOneType) {
  GuardedLaunch l("grid", "dim3(64)", "count % 256 == 0");
  l.site.grid_form = "dim3", l.site.block_form = "dim3";
  EXPECT_EQ(l.result(),
            "<<<((long long)(n) % 256 == 0) ? dim3((grid.x + 3) / 4, grid.y, grid.z) : dim3(grid), "
            "((long long)(n) % 256 == 0) ? dim3(256) : dim3(64)>>>");
}

TEST(LaunchEdit, BreaksTheLineOfAChoice) {
  GuardedLaunch l("(n + 63) / 64", "64", "count % 256 == 0");
  l.site.argument_types = {{0, "long"}}, l.source.resize(l.source.find("//"));
  EXPECT_EQ(l.result(),
            "<<<(n % 256 == 0) ? (n + 255) / 256 : (n + 63) / 64,\n"
            "                    (n % 256 == 0) ? 256 : 64>>>");
  l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
  auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, l.guard, std::string(40, 't'));
  ASSERT_TRUE(edits.ok() && edits->edits.size() == 2u) << edits.error().message;
  EXPECT_EQ(edits->edits[1].text, "\n    (n % 256 == 0) ? (n + 255) / 256 : (n + 63) / 64, (n % 256 == 0) ? 256 : 64");
}

TEST(LaunchEdit, AsksForTheGridThatWasWritten) {
  EXPECT_EQ(GuardedLaunch("(n + 63) / 64", "64", "gridDim.x % 4 == 0").result(),
            "<<<(dim3((n + 63) / 64).x % 4 == 0) ? (n + 255) / 256 : (n + 63) / 64, "
            "(dim3((n + 63) / 64).x % 4 == 0) ? 256 : 64>>>");
}

TEST(LaunchEdit, RefusesAPremiseThatTheLaunchCannotAsk) {
  GuardedLaunch unknown("(n + 63) / 64", "64", "width % 4 == 0");
  EXPECT_NE(unknown.result().find("has no plain text for width"), std::string::npos) << unknown.result();
  GuardedLaunch called("(n + 63) / 64", "64", "count % 4 == 0");
  called.site.argument_text[0] = "next(n++)", called.site.unrepeatable_arguments = {0};
  EXPECT_NE(called.result().find("has no plain text for count"), std::string::npos) << called.result();
  GuardedLaunch knob("(n + 63) / 64", "64", "count % 4 == 0");
  knob.changed = {{"B", 32}};
  EXPECT_NE(knob.result().find("one constant for all launches"), std::string::npos) << knob.result();
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
            "<<<dim3((size_t(grid.x) * block.x + 63) / 64, (size_t(grid.y) * block.y + 31) / 32, grid.z), dim3(16, 8, "
            "block.z)>>>");
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
  EXPECT_EQ(l.result(), "<<<(((n + 255) / 256) + 3) / 4, 256>>>");
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
  EXPECT_EQ(wide.result(), "<<<((((size_t)w * h + 63) / 64) + 1) / 2, 64>>>")
      << "the cast is no part of the expression";
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
  EXPECT_EQ(l.result(), "<<<(((n + 255) / 256) + 3) / 4, 256>>>");
}

TEST(LaunchEdit, RefusesABlockThatFollowsAKnobToAnUnverifiedSize) {
  Launch l("grid", "BLOCK * 2");
  l.site.block[0] = "BLOCK * 2"_e;
  l.values["BLOCK"] = l.changed["BLOCK"] = 128;
  l.block("BLOCK");
  EXPECT_NE(l.result().find("would become 256 along x, but the candidate was verified with 128"), std::string::npos)
      << l.result();
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

TEST(LaunchEdit, ChoosesBetweenTwoKernels) {
  auto choose = [](const std::string& callee, const std::string& kernel = "k") {
    Launch l("grid", "block");
    l.mep.kernel_name = kernel;
    const size_t at = l.source.find("k<<<");
    l.source.replace(at, 1, callee);
    for (auto* range : {&l.site.grid_range, &l.site.block_range})
      range->begin += callee.size() - 1, range->end += callee.size() - 1;
    l.site.range.end += callee.size() - 1;
    l.site.kernel_range = {"f.cu", at, at + callee.size(), 1, 1};
    l.mep.parameters = {{"n", "int", "", false, "int"}};
    l.site.argument_types = {{0, "int"}};
    const LaunchGuard guard({Premise::holds("n % 4 == 0"_e)});
    auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, guard, "k_tuned");
    return !edits.ok() ? edits.error().message : edits->edits.empty() ? "no edit" : edits->edits[0].text;
  };
  EXPECT_EQ(choose("k"), "(n % 4 == 0 ? k_tuned : k)");
  EXPECT_EQ(choose("app::k"), "(n % 4 == 0 ? app::k_tuned : app::k)");
  for (auto* other : {"k<float>", "(*pointer)", "table[i]"})
    EXPECT_NE(choose(other).find("does not spell the kernel in front of <<<"), std::string::npos) << choose(other);
  // Of a template an instance is named, as the launch spells it or as it was recorded.
  EXPECT_EQ(choose("app::k <T, 8>", "app::k<float, 8>"), "(n % 4 == 0 ? app::k_tuned<T, 8> : app::k<T, 8>)");
  EXPECT_EQ(choose("k", "k<float, 8>"), "(n % 4 == 0 ? k_tuned<float, 8> : k<float, 8>)");
  EXPECT_NE(choose("table<4>[i]", "k<4>").find("does not spell the kernel"), std::string::npos);
}

TEST(LaunchEdit, AMacroThatSpellsTheKernelsNameCannotChoose) {
  Launch l("grid", "block");
  l.site.through_macro = true;
  l.mep.parameters = {{"n", "int", "", false, "int"}};
  auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, LaunchGuard({Premise::holds("n > 4"_e)}),
                           "k_tuned");
  ASSERT_FALSE(edits.ok());
  EXPECT_NE(edits.error().message.find("written by a macro that spells the kernel's name"), std::string::npos);
}

TEST(LaunchEdit, AsksForAMemberOfAStructure) {
  auto asked = [](const std::string& argument, std::set<size_t> unrepeatable = {}) {
    Launch l("grid", "block");
    l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
    l.mep.parameters = {{"view", "View", "", false, ""}};
    l.site.argument_text = {argument}, l.site.unrepeatable_arguments = std::move(unrepeatable);
    const LaunchGuard guard({Premise::holds("view.size.x % 4 == 0"_e)});
    auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, guard, "k_tuned");
    return edits.ok() ? edits->edits.at(0).text : edits.error().message;
  };
  EXPECT_EQ(asked("grids[i]"), "((long long)((grids[i]).size.x) % 4 == 0 ? k_tuned : k)");
  EXPECT_NE(asked("make_view(x)", {0}).find("no plain text for view.size.x"), std::string::npos);
}

TEST(LaunchEdit, AsksItsOwnBlockAndNumbersAsTheKernelGetsThem) {
  Launch l("(n + t - 1) / t", "t");
  l.mep.parameters = {{"n", "unsigned int", "", false, "unsigned int"}};
  l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
  l.site.argument_text = {"count"};
  const LaunchGuard guard({Premise::holds("blockDim.x == 128"_e), Premise::holds("n <= 1024"_e)});
  auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, guard, "k_tuned");
  ASSERT_TRUE(edits.ok()) << edits.error().message;
  EXPECT_EQ(edits->edits.at(0).text,
            "((dim3(t).x == 128) && ((long long)(unsigned int)(count) <= 1024) ? k_tuned : k)");
}

/// The condition as a launch asks it that passes `a` for the kernel's `x` and `b` for its `y`, both of this type.
std::string asked_of(const char* condition, const std::string& type, const std::map<size_t, std::string>& types = {}) {
  Launch l("grid", "block");
  l.site.argument_types = types;
  l.mep.parameters = {{"x", type, "", false, type}, {"y", type, "", false, type}, {"v", "View", "", false, ""}};
  l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
  l.site.argument_text = {"a", "b", "view"};
  auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false,
                           LaunchGuard({Premise::holds(*expression_of(condition))}), "k_tuned");
  if (!edits.ok()) return edits.error().message;
  const std::string text = edits->edits.at(0).text;
  return text.substr(1, text.find(" ? k_tuned") - 1);
}

TEST(LaunchGuard, NoProductOfWhatALaunchPassesOverflowsInItsGuard) {
  EXPECT_EQ(asked_of("x * y <= 2147483647", "int"), "(long long)(int)(a) * (long long)(int)(b) <= 2147483647");
  EXPECT_EQ(asked_of("x * y * x <= 2147483647", "int"),
            "(__int128)(int)(a) * (__int128)(int)(b) * (__int128)(int)(a) <= 2147483647");
  EXPECT_EQ(asked_of("x * y <= 2147483647", "long"), "(__int128)(long)(a) * (__int128)(long)(b) <= 2147483647");
  EXPECT_EQ(asked_of("(x - 1) % 256 >= 192", "long long"), "((__int128)(long long)(a) - 1) % 256 >= 192");
  EXPECT_EQ(asked_of("v.n * v.m <= 2147483647", "int"), "(__int128)((view).n) * (__int128)((view).m) <= 2147483647");
  EXPECT_EQ(asked_of("x <= 65536 && y <= 65536 && x >= 0 && y >= 0 && x * y <= 2147483647", "long"),
            "(long long)(a) <= 65536 && (long long)(b) <= 65536 && (long long)(a) >= 0 && (long long)(b) >= 0 && "
            "(long long)(a) * (long long)(b) <= 2147483647")
      << "what is asked before is known behind";
  for (auto* too_much : {"x * y * x * y <= 2147483647", "x % y == 0"})
    EXPECT_NE(asked_of(too_much, "unsigned long").find("cannot be computed at a launch without overflow"),
              std::string::npos)
        << too_much;
}

TEST(LaunchGuard, ComparesInTheTypeThatTheLaunchHasWhereNothingOverflowsInIt) {
  auto asked = [](const char* condition, const std::string& type, const std::string& other = "") {
    return asked_of(condition, type, {{0, type}, {1, other.empty() ? type : other}});
  };
  EXPECT_EQ(asked("x >= 1", "int"), "a >= 1");
  EXPECT_EQ(asked("x % 4 == 0 && y <= 1024", "unsigned int"), "a % 4 == 0 && b <= 1024");
  EXPECT_EQ(asked("x < y", "long"), "a < b");
  EXPECT_EQ(asked("x * y <= 65536", "unsigned char"), "a * b <= 65536") << "int is wide enough";
  EXPECT_EQ(asked("x - 1 <= 5", "int"), "(long long)(a) - 1 <= 5") << "the least int has no number before it";
  EXPECT_EQ(asked("x <= y", "int", "long"), "(long long)(a) <= (long long)(int)(b)") << "the kernel gets an int";
  EXPECT_EQ(asked("x >= -1", "unsigned int"), "(long long)(a) >= -1");
}

TEST(LaunchGuard, DoesNotAskWhatTheLaunchStates) {
  Launch l("dim3(n / 64, 8)", "64");
  l.mep.parameters = {{"n", "int", "", false, "int"}, {"m", "int", "", false, "int"}};
  l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
  l.site.argument_text = {"n", "1024"}, l.site.argument_types = {{0, "int"}, {1, "int"}};
  auto launched = [&](const char* condition) {
    auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false,
                             LaunchGuard({Premise::holds(*expression_of(condition))}), "k_tuned");
    return edits.ok() ? edits->edits.at(0).text : edits.error().message;
  };
  EXPECT_EQ(launched("m % 4 == 0 && gridDim.y <= 8191"), "k_tuned");
  EXPECT_EQ(launched("n >= 1 && blockDim.x == 64"), "(n >= 1 ? k_tuned : k)");
  EXPECT_EQ(launched("m % 5 == 0 || n >= 1"), "(n >= 1 ? k_tuned : k)");
}

TEST(LaunchGuard, AsksAnUnsignedNumberForItsSign) {
  EXPECT_EQ(asked_of("x < 2147483648", "unsigned int"), "(long long)(unsigned int)(a) < 2147483648");
  EXPECT_EQ(asked_of("x <= 9223372036854775807 && x % 4 == 0", "unsigned long"),
            "(unsigned long long)(unsigned long)(a) <= 9223372036854775807 && "
            "(long long)(unsigned long)(a) % 4 == 0");
  EXPECT_EQ(asked_of("v.n <= 9223372036854775807", "int"), "(unsigned long long)((view).n) <= 9223372036854775807");
}

TEST(LaunchEdit, AsksForTheAlignmentOfWhatTheLaunchIsGiven) {
  auto asked = [](const std::string& argument, std::set<size_t> unrepeatable = {}) {
    Launch l("grid", "block");
    l.mep.parameters = {{"x", "float *", "float", false, ""}};
    l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
    l.site.argument_text = {argument}, l.site.unrepeatable_arguments = std::move(unrepeatable);
    const LaunchGuard guard({Premise::aligned("x", 16)});
    auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, guard, "k_tuned");
    return edits.ok() ? edits->edits.at(0).text : edits.error().message;
  };
  EXPECT_EQ(asked("pool + n"), "((unsigned long long)(pool + n) % 16 == 0 ? k_tuned : k)");
  for (auto* unclear : {"next(pool)", "pool++", ""})
    EXPECT_NE(asked(unclear, {0})
                  .find("would have to ask whether x is a multiple of 16 bytes, and the launch has no plain "
                        "text for x"),
              std::string::npos)
        << asked(unclear, {0});
}

TEST(LaunchGuard, HasThePremiseOfTheSizesAndTheWidestAlignments) {
  Candidate candidate;
  candidate.steps.resize(1);
  candidate.steps[0].premises = {Premise::aligned("x", 8), Premise::aligned("y", 16), Premise::no_overlap({"x", "y"}),
                                 Premise::holds("n > 3"_e, 7)};
  Verdict figures;
  Mep mep;
  EXPECT_EQ(guard_of(candidate, figures, mep).text(), "x is a multiple of 8 bytes and y is a multiple of 16 bytes")
      << "n is no parameter";
  mep.parameters = {{"n", "int", "", false, "int"}};
  EXPECT_EQ(guard_of(candidate, figures, mep).text(),
            "x is a multiple of 8 bytes and y is a multiple of 16 bytes and n > 3");
  candidate.steps[0].premises = {Premise::holds("blockDim.x % 32 == 0"_e)};
  EXPECT_EQ(guard_of(candidate, figures, mep).text(), "blockDim.x % 32 == 0");
  mep.launches.resize(1), mep.launches[0].block[0] = "B"_e;
  mep.constants["B"] = 64;
  EXPECT_TRUE(guard_of(candidate, figures, mep).empty()) << "so it is at every launch";
  mep.launches.push_back(mep.launches[0]), mep.launches[1].block[0] = "threads"_e;
  EXPECT_EQ(guard_of(candidate, figures, mep).text(), "blockDim.x % 32 == 0");
  candidate.steps[0].premises = {Premise::aligned("x", 8), Premise::aligned("y", 16), Premise::no_overlap({"x", "y"}),
                                 Premise::holds("n > 3"_e, 7)};
  figures.other_sizes.emplace();
  figures.other_sizes->premise = "n % 4 == 0"_e;
  figures.other_sizes->assumptions = {Premise::aligned("x", 16), Premise::no_overlap({"x"})};
  const LaunchGuard guard = guard_of(candidate, figures, mep);
  EXPECT_EQ(guard.text(), "n % 4 == 0 and x is a multiple of 16 bytes and y is a multiple of 16 bytes");
  const AskedNumber number{"int", [](const std::string& type) { return "(" + type + ")(m)"; }};
  EXPECT_EQ(*guard.cpp({{"n", number}}, {{"x", "p"}, {"y", "q"}}),
            "((long long)(m) % 4 == 0) && (p % 16 == 0) && (q % 16 == 0)");
  EXPECT_TRUE(guard_of({}, {}, mep).empty());
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
