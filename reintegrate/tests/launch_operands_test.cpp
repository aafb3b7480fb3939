// The launch's own texts as operands of new sizes: macros, floating point; and how much shared memory may be asked for.
#include <gtest/gtest.h>

#include "reintegrate/tests/edited_launch.h"

namespace kernelift::reintegrate {
namespace {

TEST(LaunchOperands, PutsMacrosOfSeveralOperandsInBrackets) {
  Launch l("BLOCKS", "dim3(WIDTH, ROWS)");
  l.site.grid_form = "number", l.site.block_form = "dim3", l.site.open_macros = {"BLOCKS", "WIDTH", "COUNT"};
  l.grid("gx * 8");
  EXPECT_EQ(l.result(), "<<<(BLOCKS) * 8, dim3(WIDTH, ROWS)>>>") << "the block is as it was written";
  l.site.open_macros = {};
  EXPECT_EQ(l.result(), "<<<BLOCKS * 8, dim3(WIDTH, ROWS)>>>");
  l.site.open_macros = {"N"}, l.site.argument_text = {"N"};
  l.mep.parameters.resize(1), l.mep.parameters[0].name = "n", l.mep.parameters[0].scalar = "int";
  l.mep.instances[0].parameters = {{0, 4}};
  l.mep.instances[0].arguments.assign(4, std::byte{1});
  l.grid("ceil_div(n, 64)");
  EXPECT_EQ(l.result(), "<<<((N) + 63) / 64, dim3(WIDTH, ROWS)>>>");
  l.site.argument_text = {"up(N)"};
  EXPECT_EQ(l.result(), "<<<(up(N) + 63) / 64, dim3(WIDTH, ROWS)>>>");
  l.site.argument_text = {"x / 2.0"}, l.site.argument_types = {{0, "double"}};
  EXPECT_EQ(l.result(), "<<<((int)(x / 2.0) + 63) / 64, dim3(WIDTH, ROWS)>>>");
}

TEST(LaunchOperands, RoundsASizeOfFloatingPointBeforeItIsMultiplied) {
  Launch l("dim3(n / 256.0, m)", "64");
  l.site.grid_form = "dim3", l.site.real_grid = {0};
  l.grid("gx * 4");
  EXPECT_EQ(l.result(), "<<<dim3(unsigned(n / 256.0) * 4, m), 64>>>");
  l.grid("gx"), l.launch.grid[1] = "gy * 2"_e;
  EXPECT_EQ(l.result(), "<<<dim3(n / 256.0, m * 2), 64>>>") << "the other axis is as it was written";
}

TEST(LaunchOperands, RefusesMoreSharedMemoryThanTheApplicationMayUse) {
  Launch l("grid", "64", "bytes");
  l.launch.shared = "shared * 256"_e;
  EXPECT_NE(l.result().find("would ask for 65536 bytes of dynamic shared memory"), std::string::npos) << l.result();
  l.mep.instances[0].settings.max_dynamic_shared = 96 << 10;
  EXPECT_EQ(l.result(), "<<<grid, 64, bytes * 256>>>");
  l.mep.instances[0].settings.max_dynamic_shared = 0;
  l.launch.shared = "shared * 192"_e;
  EXPECT_EQ(l.result(), "<<<grid, 64, bytes * 192>>>") << "48 KiB need not be asked for";
}

}  // namespace
}  // namespace kernelift::reintegrate
