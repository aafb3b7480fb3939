// Tests of the parameter space of a MEP: which knobs and block sizes are offered, and the candidates of its points.
#include "tuner/space/mep_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/tests/expression_literal.h"

namespace kernelift::tuner {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// One kernel launched as `<<<grid, block>>>(data, n)` on `gx` blocks of `bx` threads.
Mep mep_with(const std::string& grid, const std::string& block, uint32_t gx, uint32_t bx, int32_t n = 0) {
  Mep mep;
  mep.kernel_name = "k";
  mep.parameters = {{"data", "float *", "float", false, ""}, {"n", "int", "", false, "int"}};
  LaunchSite site;
  site.grid[0] = expression_of(grid), site.block[0] = expression_of(block);
  for (int axis : {1, 2}) site.grid[axis] = site.block[axis] = "1"_e;
  site.argument_text = {"data", "n"};
  mep.launches = {site};
  MepInstance instance;
  instance.geometry = {{gx, 1, 1}, {bx, 1, 1}};
  instance.arguments.resize(12);
  std::memcpy(instance.arguments.data() + 8, &n, 4);
  instance.parameters = {{0, 8}, {8, 4}};
  mep.instances = {instance};
  return mep;
}

Knob knob(const char* name, int64_t value, bool in_kernel, bool in_geometry) {
  Knob made;
  made.name = name, made.value = value, made.is_macro = true, made.in_kernel = in_kernel,
  made.in_geometry = in_geometry;
  return made;
}

Candidate parent(const char* source) {
  Candidate candidate;
  candidate.source = source;
  return candidate;
}

Point with(const Space& space, const std::string& name, int64_t value) {
  Point point;
  for (auto& parameter : space.parameters()) {
    point.push_back(parameter.start);
    for (size_t i = 0; i < parameter.values.size(); ++i)
      if (parameter.name == name && parameter.values[i] == value) point.back() = i;
  }
  return point;
}

TEST(MepSpace, GridFollowsAGeometryKnob) {
  Mep mep = mep_with("(n + B - 1) / B", "B", 16, 64, 1000);
  mep.knobs = {knob("B", 64, true, true)};
  auto space = MepSpace::create(mep, parent("#define B 64\n__global__ void k() {}"));
  Candidate candidate = space.materialise(with(space.space(), "B", 128));
  EXPECT_THAT(candidate.source, HasSubstr("#define B 128\n"));
  auto geometry = candidate.launches.at(0).evaluate(mep.instances[0].geometry, candidate.values);
  ASSERT_TRUE(geometry.ok());
  EXPECT_EQ(geometry->grid.x, 8u);
  EXPECT_EQ(geometry->block.x, 128u);
}

TEST(MepSpace, VariesConstantsThatAModelIntroduced) {
  Mep mep = mep_with("(n + 63) / 64", "64", 16, 64, 1000);
  Candidate rewritten = parent("#define TILE 16\n__global__ void k() { f(TILE); }");
  rewritten.values = {{"TILE", 16}, {"GONE", 3}};
  CandidateLaunch launch = CandidateLaunch::as_recorded("k");
  launch.block[0] = "TILE"_e;
  rewritten.launches = {launch};
  auto space = MepSpace::create(mep, rewritten);
  ASSERT_EQ(space.space().parameters().size(), 1u);
  Candidate candidate = space.materialise(with(space.space(), "TILE", 32));
  EXPECT_THAT(candidate.source, HasSubstr("#define TILE 32\n"));
  EXPECT_EQ(candidate.launches.at(0).evaluate(mep.instances[0].geometry, candidate.values)->block.x, 32u);
  EXPECT_EQ(candidate.note(), "TILE 16 -> 32");
}

TEST(MepSpace, LeavesNumbersThatAreNotSizes) {
  Mep mep = mep_with("n", "64", 16, 64, 16);
  for (int64_t multiplier : {int64_t(2862933555777941757), int64_t(1) << 61, -(int64_t(1) << 62)}) {
    mep.knobs = {knob("M", multiplier, true, false)};
    auto space =
        MepSpace::create(mep, parent(("#define M " + std::to_string(multiplier) + "\n__global__ void k() {}").c_str()));
    for (auto& parameter : space.space().parameters())
      if (parameter.name == "M") EXPECT_EQ(parameter.values, std::vector<int64_t>{multiplier});
  }
}

/// The values offered for `name` with a launch `<<<grid, block>>>` that has 16 blocks of 64.
std::vector<int64_t> offered(const std::string& grid, const std::string& block, const std::string& name,
                             std::vector<Knob> knobs, int32_t n) {
  Mep mep = mep_with(grid, block, 16, 64, n);
  mep.knobs = std::move(knobs);
  std::string source = "__global__ void k(float* data, int n) { data[blockIdx.x * blockDim.x + threadIdx.x] = 1; }\n";
  for (auto& one : mep.knobs) source = "#define " + one.name + " " + std::to_string(one.value) + "\n" + source;
  auto space = MepSpace::create(mep, parent(source.c_str()));
  for (auto& parameter : space.space().parameters())
    if (parameter.name == name) return parameter.values;
  return {};
}

/// Whether such a block is right is asked of core/legality when it gains.
TEST(MepSpace, OffersEveryBlockWhoseLaunchCanBeFormed) {
  using testing::Contains;
  auto knobs = [] { return std::vector<Knob>{knob("B", 64, true, true)}; };
  EXPECT_THAT(offered("(n + B - 1) / B", "B", "B", knobs(), 1000), AllOf(Contains(128), Contains(32)));
  for (auto* grid : {"n / 64", "(n - 2 + 63) / 64", "ceil_div(n, 64)", "1024 / 64"})
    EXPECT_THAT(offered(grid, "64", "block_x", {}, 1024), AllOf(Contains(512), Contains(32))) << grid;
  EXPECT_THAT(offered("(1024 + B - 1) / B", "B", "B", knobs(), 0), AllOf(Contains(128), Contains(32)));
}

/// A launch `n / B` of the next build has as many blocks as its text says.
TEST(MepSpace, OffersNoKnobWithWhichTheLaunchWouldHaveFewerBlocks) {
  auto values = offered("n / B", "B", "B", {knob("B", 64, true, true)}, 1040);
  EXPECT_THAT(values, testing::Not(testing::Contains(16))) << "16 blocks of 64 are 64 of 16, and n / 16 is 65";
  EXPECT_THAT(values, testing::Contains(32));
}

/// The reasons reported for the block of a launch `<<<grid, block>>>(data, n)` of 16 blocks of 64.
std::string not_tried(const std::string& grid, const std::string& block, const char* kernel = "int i = blockDim.x;",
                      std::vector<Knob> knobs = {}) {
  Mep mep = mep_with(grid, block, 16, 64, 1024);
  mep.launches[0].range.line = 7;
  mep.knobs = std::move(knobs);
  std::string source = "__global__ void k() { " + std::string(kernel) + " }\n", said;
  for (auto& one : mep.knobs) source = "#define " + one.name + " " + std::to_string(one.value) + "\n" + source;
  auto space = MepSpace::create(mep, parent(source.c_str()));
  for (auto& line : space.blocks_left_alone()) said += (said.empty() ? "" : "\n") + line;
  return said;
}

TEST(MepSpace, AGridOfAProductThatIsPassedFollowsTheBlock) {
  // 16 blocks of 64 for 1000 = rows * columns.
  Mep mep = mep_with("(rows * columns + 63) / 64", "64", 16, 64, 1000);
  mep.launches[0].argument_text = {"data", "rows * columns"};
  auto space = MepSpace::create(mep, parent("__global__ void k(int n) { int i = blockIdx.x * blockDim.x; }\n"));
  EXPECT_THAT(space.blocks_left_alone(), testing::IsEmpty());
}

TEST(MepSpace, ABlockThatTheProgramChoosesAnewForEachLaunchIsLeftAlone) {
  Mep mep = mep_with("(n + threads - 1) / threads", "threads", 16, 64, 1024);
  mep.instances.push_back(mep.instances[0]);
  mep.instances[1].geometry.block.x = 128, mep.instances[1].geometry.grid.x = 8;
  auto space = MepSpace::create(mep, parent("__global__ void k(int n) { int i = blockIdx.x * blockDim.x; }\n"));
  EXPECT_EQ(space.blocks_left_alone(),
            std::vector<std::string>{"block size: the recorded launches have several along x"});
}

TEST(MepSpace, ReportsWhichBlockSizesAreNotTriedAndWhy) {
  using testing::StartsWith;
  EXPECT_EQ(not_tried("(n + 63) / 64", "64"), "");
  EXPECT_THAT(not_tried("n / 32 / 2", "64"), HasSubstr("the grid (n / 32 / 2) is not divided by it (64)"));
  EXPECT_THAT(not_tried("", "64"), StartsWith("block size: the launch does not say how the grid along x follows it; "));
  EXPECT_THAT(not_tried("n / 4", "64"),
              StartsWith("block size: the launch at line 7 says grid x is n / 4, which is 256, and 16 was recorded; "));
  EXPECT_THAT(not_tried("n / 64", "64", "int i = threadIdx.x;"),
              StartsWith("block size: the kernel does not read it (blockDim)"));
}

TEST(MepSpace, KeepsTheBlockWithinTheThreadLimit) {
  Mep mep = mep_with("(n + B - 1) / B", "B", 16, 256, 4000);
  mep.knobs = {knob("B", 256, true, true)};
  auto space = MepSpace::create(mep, parent("#define B 256\n"));
  for (uint64_t rank = 0; rank < space.space().count(); ++rank)
    EXPECT_LE(space.space().bindings(space.space().at(rank)).at("B"), 1024);
}

TEST(MepSpace, SolvesForASizeThatIsNotAnArgument) {
  Mep mep = mep_with("(size + B - 1) / B", "B", 16, 64);
  mep.knobs = {knob("B", 64, true, true)};
  auto space = MepSpace::create(mep, parent("#define B 64\n"));
  EXPECT_GT(space.space().count(), 1);
}

TEST(MepSpace, LeavesAKnobIfTheSiteDoesNotGiveTheRecordedGrid) {
  Mep mep = mep_with("(n + B - 1) / B", "B", 99, 64, 1000);
  mep.knobs = {knob("B", 64, true, true)};
  auto space = MepSpace::create(mep, parent("#define B 64\n"));
  EXPECT_TRUE(space.space().parameters().empty());
  EXPECT_THAT(space.blocks_left_alone().at(0),
              HasSubstr("says grid x is (n + B - 1) / B, which is 16, and 99 was recorded"));
}

TEST(MepSpace, LeavesAKnobThatTheTextSpellsTwice) {
  Mep mep = mep_with("1", "64", 1, 64);
  mep.knobs = {knob("U", 4, true, false)};
  auto space = MepSpace::create(mep, parent("#define U 4\n#define U 4\n"));
  EXPECT_THAT(space.left_alone().at(0), HasSubstr("U: "));
}

TEST(MepSpace, DoesNotShrinkArraysThatDataMayFill) {
  Mep mep = mep_with("16", "64", 16, 64);
  mep.knobs = {knob("CAP", 32, true, false)};
  auto least = [&] {
    auto space =
        MepSpace::create(mep, parent("#define CAP 32\n__global__ void k(float *data, int n) { float kept[CAP]; }\n"));
    EXPECT_FALSE(space.space().parameters().empty());
    auto& values = space.space().parameters().at(0).values;
    return *std::min_element(values.begin(), values.end());
  };
  EXPECT_LT(least(), 32);
  mep.knobs[0].grows_only = true;
  EXPECT_EQ(least(), 32);
  auto space =
      MepSpace::create(mep, parent("#define CAP 32\n__global__ void k(float *data, int n) { float kept[CAP]; }\n"));
  EXPECT_THAT(space.left_alone().at(0), HasSubstr("CAP below 32: an array of that extent may be filled further"));
}

TEST(MepSpace, OffersAKnobThatOnlyTheLaunchUses) {
  Mep mep = mep_with("(n + B - 1) / B", "B", 16, 64, 1000);
  mep.knobs = {knob("heat::B", 64, false, true)};
  mep.launches[0].grid[0] = "(n + heat::B - 1) / heat::B"_e, mep.launches[0].block[0] = "heat::B"_e;
  mep.knobs[0].value_range.file = "config.h";
  Candidate original = parent("__global__ void k() { int i = blockDim.x; }");
  auto space = MepSpace::create(mep, original);
  auto point = space.point_at({{"heat::B", 128}});
  ASSERT_TRUE(point);
  Candidate candidate = space.materialise(*point);
  EXPECT_EQ(candidate.source, original.source);
  auto geometry = candidate.launches.at(0).evaluate(mep.instances[0].geometry, candidate.values);
  EXPECT_EQ(geometry->grid.x, 8u);
  EXPECT_EQ(geometry->block.x, 128u);
  original.source = "__global__ void k() { __shared__ int a[B]; }";
  EXPECT_TRUE(MepSpace::create(mep, original).space().parameters().empty()) << "the text names it without its value";
  mep.knobs[0].value_range.file.clear();
  EXPECT_TRUE(MepSpace::create(mep, parent("__global__ void k() {}")).point_at({{"heat::B", 128}}))
      << "defined on the command line";
}

TEST(MepSpace, LaunchesTheInstanceWithAnotherArgument) {
  Mep mep = mep_with("(n + 127) / 128", "128", 8, 128, 1000);
  mep.kernel_name = "app::scale<float, 128>";
  mep.knobs = {knob("scale_B", 128, true, true)};
  mep.launches[0].kernel_range = {"a.cu", 100, 123, 7, 7}, mep.knobs[0].value_range = {"a.cu", 119, 122, 7, 7};
  auto space = MepSpace::create(mep, parent("template <class T, int B> __global__ void scale(T*) {}\n"
                                            "constexpr int scale_B = 128;\n#ifdef __clang__\n"
                                            "template __global__ void ::app::scale<float, scale_B>(float *, int);\n"));
  Candidate candidate = space.materialise(with(space.space(), "scale_B", 64));
  EXPECT_THAT(candidate.source, HasSubstr("constexpr int scale_B = 64;\n"));
  EXPECT_EQ(candidate.launches.at(0).kernel, "app::scale<float, 64>");
  auto geometry = candidate.launches[0].evaluate(mep.instances[0].geometry, candidate.values);
  ASSERT_TRUE(geometry.ok());
  EXPECT_EQ(geometry->grid.x, 16u);
  EXPECT_EQ(geometry->block.x, 64u);
}

TEST(MepSpace, AxesOfTheBlockFollowArgumentsOfTheSameValueInTheirOrder) {
  Mep mep = mep_with("n / 16", "16", 4, 16, 64);
  mep.kernel_name = "tile<16, 16>";
  mep.launches[0].grid[1] = "(m + 15) / 16"_e, mep.launches[0].block[1] = "16"_e;
  mep.instances[0].geometry = {{4, 8, 1}, {16, 16, 1}};
  mep.knobs = {knob("tile_X", 16, true, true), knob("tile_Y", 16, true, true)};
  mep.launches[0].kernel_range = {"a.cu", 0, 12, 1, 1};
  mep.knobs[0].value_range = {"a.cu", 5, 7, 1, 1}, mep.knobs[1].value_range = {"a.cu", 9, 11, 1, 1};
  auto space = MepSpace::create(mep, parent("constexpr int tile_X = 16;\nconstexpr int tile_Y = 16;\n"
                                            "template __global__ void ::tile<tile_X, tile_Y>(float *, int);\n"));
  auto point = space.point_at({{"tile_X", 32}, {"tile_Y", 8}});
  ASSERT_TRUE(point);
  Candidate candidate = space.materialise(*point);
  EXPECT_EQ(candidate.launches.at(0).kernel, "tile<32, 8>");
  auto geometry = candidate.launches[0].evaluate(mep.instances[0].geometry, candidate.values);
  ASSERT_TRUE(geometry.ok());
  EXPECT_EQ(geometry->text(), "<<<(2,16,1), (32,8,1)>>>");
}

TEST(MepSpace, HasNoPointForOtherValues) {
  Mep mep = mep_with("(n + B - 1) / B", "B", 16, 64, 1000);
  mep.knobs = {knob("B", 64, true, true)};
  auto space = MepSpace::create(mep, parent("#define B 64\n__global__ void k() {}"));
  EXPECT_EQ(space.point_at({{"B", 128}}), with(space.space(), "B", 128));
  EXPECT_EQ(space.point_at({}), with(space.space(), "B", 64));
  EXPECT_FALSE(space.point_at({{"B", 65}}));
  EXPECT_FALSE(space.point_at({{"C", 128}}));
}

TEST(MepSpace, OffersTheBlockSizeIfTheGridIsDividedByIt) {
  Mep mep = mep_with("(n + 255) / 256", "256", 4, 256, 1000);
  auto space = MepSpace::create(mep, parent("__global__ void k() { int i = blockDim.x; }"));
  Candidate candidate = space.materialise(with(space.space(), "block_x", 128));
  auto geometry = candidate.launches.at(0).evaluate(mep.instances[0].geometry, candidate.values);
  EXPECT_EQ(geometry->grid.x, 8u);
  EXPECT_EQ(geometry->block.x, 128u);
}

TEST(MepSpace, OffersABlockSizeInAVariableOfTheSite) {
  Mep mep = mep_with("(n + threads - 1) / threads", "threads", 4, 256, 1000);
  auto space = MepSpace::create(mep, parent("__global__ void k() { int i = blockDim.x; }"));
  EXPECT_EQ(space.space().parameters().at(0).name, "block_x");
}

TEST(MepSpace, UsesTheBlockThatTheApplicationComputes) {
  Mep mep = mep_with("(n + bs - 1) / bs", "bs", 4, 256, 1000);
  auto space = MepSpace::create(mep, parent("__global__ void k() { int i = blockDim.x; }"));
  Candidate candidate = space.materialise(with(space.space(), "block_x", 128));
  // Recorded with 256; another day it runs with 512 and two blocks, which are 1024 threads as well.
  for (uint32_t block : {64u, 256u, 512u}) {
    auto geometry =
        candidate.launches.at(0).evaluate({{(1000 + block - 1) / block, 1, 1}, {block, 1, 1}}, candidate.values);
    EXPECT_EQ(geometry->grid.x, 8u) << block;
    EXPECT_EQ(geometry->block.x, 128u);
  }
}

/// 4 times 4 blocks of 16 times 16, of a size that the application computes.
Mep square(const std::string& block_y = "bs") {
  Mep mep = mep_with("(n + bs - 1) / bs", "bs", 4, 16, 64);
  mep.launches[0].grid[1] = expression_of("(n + " + block_y + " - 1) / " + block_y);
  mep.launches[0].block[1] = expression_of(block_y);
  for (auto& instance : mep.instances) instance.geometry.grid.y = 4, instance.geometry.block.y = 16;
  return mep;
}
constexpr const char* kAsksForBothAxes = "__global__ void k() { int i = blockDim.x + blockDim.y; }";

TEST(MepSpace, SetsAllAxesOfAChangedBlock) {
  // 16 along x and 32 along y fit; what the application may have along x another day would not.
  auto space = MepSpace::create(square(), parent(kAsksForBothAxes));
  Candidate candidate = space.materialise(with(space.space(), "block_y", 32));
  auto& launch = candidate.launches.at(0);
  EXPECT_EQ(launch.evaluate({{4, 4, 1}, {16, 16, 1}}, candidate.values)->text(), "<<<(4,2,1), (16,32,1)>>>");
  EXPECT_EQ(launch.evaluate({{1, 8, 1}, {64, 8, 1}}, candidate.values)->text(), "<<<(4,2,1), (16,32,1)>>>");
}

TEST(MepSpace, KeepsAxesWhoseSizeTheSourceFixes) {
  auto space = MepSpace::create(square("16"), parent(kAsksForBothAxes));
  Candidate candidate = space.materialise(with(space.space(), "block_x", 32));
  EXPECT_EQ(candidate.launches.at(0).block[0].text(), "block_x");
  EXPECT_EQ(candidate.launches.at(0).block[1].text(), "by");
  EXPECT_EQ(candidate.launches.at(0).grid[1].text(), "gy");
  candidate = space.materialise(with(space.space(), "block_y", 32));
  EXPECT_EQ(candidate.launches.at(0).block[0].text(), "block_x") << "the application may compute another size";
}

TEST(MepSpace, LeavesABlockWhoseSizeAlongAnotherAxisIsUnknown) {
  Mep mep = square("(rows * 2)");
  EXPECT_TRUE(MepSpace::create(mep, parent(kAsksForBothAxes)).space().parameters().empty());
  mep = square("16");
  EXPECT_EQ(MepSpace::create(mep, parent(kAsksForBothAxes)).space().parameters().size(), 2u);
}

TEST(MepSpace, KeepsGridsAlongYBelowTheirLimitByAPremise) {
  Mep mep = square("by");
  auto space = MepSpace::create(mep, parent(kAsksForBothAxes));
  EXPECT_THAT(space.materialise(with(space.space(), "block_y", 4)).note(),
              HasSubstr("block_y 16 -> 4, assuming that gridDim.y <= 16383"));
  EXPECT_THAT(space.materialise(with(space.space(), "block_x", 4)).note(), testing::Not(HasSubstr("assuming")));
  for (auto& instance : mep.instances) instance.geometry.grid.y = 16000;
  mep.launches[0].grid[1] = "(rows + by - 1) / by"_e, mep.launches[0].argument_text.push_back("rows");
  auto full = MepSpace::create(mep, parent(kAsksForBothAxes));
  EXPECT_FALSE(full.point_at({{"block_y", 4}}));
  EXPECT_TRUE(full.point_at({{"block_y", 32}}));
}

TEST(MepSpace, OffersTheBlockSizeOnlyIfTheKernelReadsIt) {
  Mep mep = mep_with("(n + 255) / 256", "256", 4, 256, 1000);
  EXPECT_TRUE(
      MepSpace::create(mep, parent("__global__ void k() { int i = threadIdx.x; }")).space().parameters().empty());
}

TEST(MepSpace, OffersTheBlockOfAGridThatDoesNotFollowIt) {
  using testing::Contains;
  EXPECT_THAT(offered("16", "64", "block_x", {}, 100), AllOf(Contains(32), Contains(128)));
  EXPECT_THAT(offered("16", "threads", "block_x", {}, 100), Contains(32));
  EXPECT_THAT(offered("16", "B", "B", {knob("B", 64, true, true)}, 100), Contains(32));
}

TEST(MepSpace, ScalesDynamicSharedMemoryWithTheBlock) {
  auto bytes = [](const std::string& block, const std::string& shared, const std::vector<Knob>& knobs, int64_t size) {
    Mep mep = mep_with("(n + " + block + " - 1) / " + block, block, 16, 64, 1000);
    mep.knobs = knobs;
    mep.launches[0].shared = expression_of(shared), mep.instances[0].geometry.shared_bytes = 256;
    auto space =
        MepSpace::create(mep, parent("#define B 64\n__global__ void k(float* data, int n) {\n  extern __shared__ float "
                                     "part[];\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  part[threadIdx.x] = "
                                     "0;\n  if (i < n) data[i] = part[threadIdx.x];\n}\n"));
    Candidate candidate = space.materialise(with(space.space(), knobs.empty() ? "block_x" : "B", size));
    return candidate.launches.at(0).evaluate(mep.instances[0].geometry, candidate.values)->shared_bytes;
  };
  EXPECT_EQ(bytes("64", "256", {}, 128), 512u);
  EXPECT_EQ(bytes("64", "256", {}, 32), 256u);
  EXPECT_EQ(bytes("64", "", {}, 128), 512u) << "in proportion to the recorded bytes";
  EXPECT_EQ(bytes("B", "B * 4", {knob("B", 64, true, true)}, 128), 512u);
  EXPECT_EQ(bytes("B", "B * 4", {knob("B", 64, true, true)}, 32), 128u) << "by the launch's expression";
  EXPECT_EQ(bytes("B", "256", {knob("B", 64, true, true)}, 128), 512u);
}

TEST(MepSpace, TheOriginalPointIsTheParentItself) {
  Mep mep = mep_with("(n + B - 1) / B", "B", 16, 64, 1000);
  mep.knobs = {knob("B", 64, true, true)};
  Candidate original = parent("#define B 64\n");
  auto space = MepSpace::create(mep, original);
  Random random(1);
  EXPECT_EQ(space.materialise(space.space().start(random)).key(), original.key());
}

TEST(MepSpace, ComposesWithALaunchThatAParentAlreadyChanged) {
  Mep mep = mep_with("(n + B - 1) / B", "B", 16, 64, 1000);
  mep.knobs = {knob("B", 64, true, true)};
  Candidate coarsened = parent("#define B 64\n");
  coarsened.launches = {CandidateLaunch::as_recorded("k")};
  coarsened.launches[0].grid[0] = *Expression::parse("ceil_div(gx, 4)");
  auto space = MepSpace::create(mep, coarsened);
  Candidate candidate = space.materialise(with(space.space(), "B", 32));
  EXPECT_EQ(candidate.launches[0].evaluate(mep.instances[0].geometry, candidate.values)->grid.x, 8u);
}

TEST(MepSpace, LeavesSizesThatARewrittenCandidateNoLongerUses) {
  Mep mep = mep_with("(n + B - 1) / B", "B", 16, 64, 1000);
  mep.knobs = {knob("B", 64, false, true), knob("UNROLL", 4, true, false)};
  mep.knobs[0].value_range.file = "config.h";
  auto names = [&](const Candidate& candidate) {
    std::vector<std::string> all;
    const auto space = MepSpace::create(mep, candidate);
    for (auto& parameter : space.space().parameters()) all.push_back(parameter.name);
    return all;
  };
  Candidate tiled = parent("#define UNROLL 4\n__global__ void k() { int i = blockDim.x * UNROLL; }");
  EXPECT_EQ(names(tiled), (std::vector<std::string>{"B", "UNROLL"}));
  tiled.launches = {CandidateLaunch::as_recorded("k")};
  tiled.launches[0].grid[0] = *Expression::parse("ceil_div(gx * bx, 32)");
  EXPECT_EQ(names(tiled), (std::vector<std::string>{"B", "UNROLL"})) << "blocks are as large as before";
  tiled.launches[0].block[0] = *Expression::parse("32");
  EXPECT_EQ(names(tiled), std::vector<std::string>{"UNROLL"});
  tiled.source = "#define UNROLL 4\n__global__ void k() { int i = blockDim.x; }";
  EXPECT_EQ(names(tiled), std::vector<std::string>());
  mep.knobs = {};
  mep.launches[0].block[0] = "64"_e, mep.launches[0].grid[0] = "(n + 63) / 64"_e;
  EXPECT_EQ(names(tiled), std::vector<std::string>()) << "nor the block's size itself";
  tiled.launches.clear();
  EXPECT_EQ(names(tiled), std::vector<std::string>{"block_x"});
}

TEST(MepSpace, LeavesSizesOfTheData) {
  Mep mep = mep_with("(ROWS + B - 1) / B", "B", 16, 64);
  mep.knobs = {knob("B", 64, true, true), knob("ROWS", 1000, true, true)};
  auto space = MepSpace::create(
      mep, parent("#define B 64\n#define ROWS 1000\n__global__ void k() { int i = blockIdx.x * B + ROWS; }"));
  ASSERT_EQ(space.space().parameters().size(), 1u);
  EXPECT_EQ(space.space().parameters()[0].name, "B");
  EXPECT_THAT(space.left_alone(),
              testing::Contains(HasSubstr("ROWS: launches compute from it how many blocks there are")));
}

TEST(MepSpace, AppendsItsStepToThoseOfTheParent) {
  Mep mep = mep_with("(n + B - 1) / B", "B", 16, 64, 1000);
  mep.knobs = {knob("B", 64, true, true)};
  Candidate rewritten = parent("#define B 64\n");
  rewritten.tier = "source", rewritten.steps = {Step::described("restrict_pointers parameters of k")};
  auto space = MepSpace::create(mep, rewritten);
  EXPECT_EQ(space.materialise(with(space.space(), "B", 32)).note(), "restrict_pointers parameters of k; B 64 -> 32");
}

TEST(MepSpace, ContinuesFromTheParentsValue) {
  Mep mep = mep_with("(n + B - 1) / B", "B", 16, 64, 1000);
  mep.knobs = {knob("B", 64, true, true)};
  auto first = MepSpace::create(mep, parent("#define B 64\n"));
  Candidate child = first.materialise(with(first.space(), "B", 128));
  auto second = MepSpace::create(mep, child);
  Candidate grandchild = second.materialise(with(second.space(), "B", 32));
  auto geometry = grandchild.launches.at(0).evaluate(mep.instances[0].geometry, grandchild.values);
  EXPECT_EQ(geometry->grid.x, 32u);
  EXPECT_EQ(geometry->block.x, 32u);
  EXPECT_THAT(grandchild.source, HasSubstr("#define B 32\n"));
}

}  // namespace
}  // namespace kernelift::tuner
