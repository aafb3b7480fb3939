// scan.json is read back as it was written, and a damaged file is an error, not a crash.
#include "core/model/scan/scan_index.h"

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/tests/expression_literal.h"
#include "core/tests/json_leaves.h"

namespace kernelift {
namespace {

ScanIndex sample() {
  ScanIndex index;
  index.root = "/app", index.language = "hip";
  index.units.push_back({"/app/a.cu", "/app/build", {"nvcc", "-c", "../a.cu"}, {"a.cu:3: lost"}, "toolkit"});
  ScannedKernel kernel;
  kernel.id = "0a1b2c3d", kernel.key = "app::k(float*)", kernel.name = "app::k", kernel.mangled = "_ZN3app1kEPf",
  kernel.tu = "/app/a.cu";
  kernel.definition = {"/app/a.cu", 10, 90, 2, 6};
  kernel.parameters.push_back({"x", "float *", "float", true, ""});
  kernel.parameters.push_back({"view", "View", "", false, "", "app::View"});
  kernel.variables.push_back({"app::table", "float *"});
  kernel.records.push_back({"app::View", 24, "byte", {{0, "float"}, {16, "struct app::View"}}, true});
  kernel.is_template = kernel.through_macro = true;
  kernel.max_threads = 256, kernel.min_blocks = 2;
  kernel.uses = {"atomics", "shared"};
  index.kernels.push_back(kernel);
  kernel.id = "ffffffff", kernel.key = "other::k(int)", kernel.name = "other::k", kernel.mangled = "_ZN5other1kEi";
  index.kernels.push_back(kernel);
  LaunchSite site;
  site.kernels = {"0a1b2c3d"}, site.range = {"/app/a.cu", 100, 120, 8, 8}, site.enclosing = "run";
  site.grid[0] = "n / BLOCK"_e, site.block[0] = "BLOCK"_e, site.shared = "0"_e, site.argument_text = {"x"},
  site.through_macro = true;
  site.kernel_range = {"/app/a.cu", 101, 102, 8, 8}, site.unrepeatable_arguments = {0};
  site.open_macros = {"BLOCKS"}, site.real_grid = {1}, site.real_block = {2}, site.argument_types = {{0, "float"}};
  index.launches.push_back(site);
  index.pointers.push_back({{"0a1b2c3d"}, {"/app/a.cu", 130, 131, 9, 9}});
  index.settings.push_back({{"ffffffff"}, {"/app/b.cu", 10, 60, 3, 4}});
  index.knobs.push_back({"BLOCK", 256, {"/app/a.cu", 1, 4, 1, 1}, true, true, false, {"0a1b2c3d"}});
  return index;
}

TEST(ScanIndex, IsReadBackAsItWasWritten) {
  auto folder = std::move(TemporaryFolder::create("kernelift-scan")).value();
  auto file = folder.path() / "scan.json";
  ASSERT_TRUE(sample().write(file).ok());
  auto back = ScanIndex::read(file);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(sample()));
  EXPECT_EQ(back->units[0].headers, "toolkit");
  EXPECT_EQ(back->knobs[0].value, 256);
  EXPECT_EQ(back->kernels[0].parameters[1].record, "app::View");
  auto* view = back->kernels[0].record("app::View");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->pointers.at(1).offset, 16u);
  EXPECT_EQ(view->pointers[1].pointee, "struct app::View");
  EXPECT_TRUE(view->open);
  EXPECT_FALSE(back->kernels[0].record("View"));
  EXPECT_EQ(back->kernels[0].variables.at(0).type, "float *");
}

TEST(ScanIndex, ReadsTheGeometryOfALaunchOnceAndSaysWhatIsWrongWithIt) {
  Json json = to_json(sample());
  Json& grid = json["launches"][0]["grid"];
  EXPECT_EQ(grid, Json({"n / BLOCK", "", ""}));
  auto index = scan_index_from_json(json, "scan.json");
  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_EQ(index->launches[0].grid[0], "n / BLOCK"_e);
  EXPECT_EQ(index->launches[0].grid[1], std::nullopt);
  grid[0] = "n / (BLOCK";
  index = scan_index_from_json(json, "scan.json");
  ASSERT_FALSE(index.ok());
  EXPECT_NE(index.error().message.find("cannot read the expression 'n / (BLOCK': expected ')' at column 11"),
            std::string::npos)
      << index.error().message;
}

TEST(ScanIndex, FindsByIdKeyNameAndPartOfAName) {
  ScanIndex index = sample();
  EXPECT_EQ(index.find("ffffffff").size(), 1u);
  EXPECT_EQ(index.find("app::k").size(), 1u);
  EXPECT_EQ(index.find("app::k(float*)").size(), 1u);
  EXPECT_EQ(index.find("k").size(), 2u);
  EXPECT_TRUE(index.find("nothing").empty());
}

TEST(ScanIndex, DistinguishesKernelsWithOneKeyByTheirDefinitions) {
  ScanIndex index = sample();
  ScannedKernel again = index.kernels[0];
  again.tu = "/app/b.cu", index.kernels.push_back(again);  // The same header in another unit.
  EXPECT_EQ(index.namesakes("app::k(float*)").size(), 1u);
  again.definition.file = "/app/b.cu", index.kernels.push_back(again);
  ASSERT_EQ(index.namesakes("app::k(float*)").size(), 2u);
  EXPECT_EQ(index.namesakes("app::k(float*)")[1]->definition.file, "/app/b.cu");
}

TEST(ScanIndex, RefusesDamagedFilesByName) {
  auto folder = std::move(TemporaryFolder::create("kernelift-scan")).value();
  auto file = folder.path() / "scan.json";
  ASSERT_TRUE(sample().write(file).ok());
  std::string good = std::move(read_text(file)).value();
  size_t refused = 0;
  for (size_t i = 0; i < good.size(); i += 11)
    for (bool truncate : {true, false}) {
      std::string bad = truncate ? good.substr(0, i) : good;
      if (!truncate) bad[i] = static_cast<char>(bad[i] ^ 0x11);
      ASSERT_TRUE(write_atomically(file, bad).ok());
      auto index = ScanIndex::read(file);
      if (index.ok()) continue;
      ++refused;
      EXPECT_NE(index.error().message.find("scan.json"), std::string::npos) << index.error().message;
    }
  EXPECT_GT(refused, good.size() / 11);
}

TEST(ScanIndex, IsReadOrRefusedWhateverOneOfItsFieldsHolds) {
  int refused = 0;
  for_each_leaf(to_json(sample()), [&](const Json& changed, const std::string& where) {
    auto index = scan_index_from_json(changed, "scan.json");
    if (!index.ok()) {
      EXPECT_NE(index.error().message.find("scan.json"), std::string::npos) << where << ": " << index.error().message;
      ++refused;
      return;
    }
    (void)index->find("app::k(float*)");
    auto again = scan_index_from_json(to_json(*index), where);
    ASSERT_TRUE(again.ok()) << again.error().message;
  });
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace kernelift
