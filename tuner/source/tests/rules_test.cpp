// Tests of the small rules and of what all rules have in common, as text before and after. Every rewritten text must
// parse.
#include "tuner/source/rules/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/compiler/frontend.h"
#include "core/tests/expression_literal.h"
#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

TEST(RestrictPointers, MarksEveryPointerRestrict) {
  EXPECT_THAT(after("restrict_pointers", kProduct, {{"ldg", 0}}),
              HasSubstr("k(float *__restrict__ a, float *__restrict__ b, float *__restrict__ c, int n)"));
}

TEST(RestrictPointers, ReadsNeverWrittenArraysThroughTheCache) {
  std::string text = after("restrict_pointers", kProduct, {{"ldg", 1}});
  EXPECT_THAT(text, HasSubstr("c[j] += __ldg(&a[j * n + i]) * __ldg(&b[i * n + j]);"));
}

TEST(RestrictPointers, LeavesSharedPointers) {
  RuleContext known = facts();
  known.shared_pointers = {0, 2};
  std::string text = after("restrict_pointers", kProduct, {{"ldg", 1}}, 0, known);
  EXPECT_THAT(text, HasSubstr("k(float *a, float *__restrict__ b, float *c, int n)"));
  EXPECT_THAT(text, HasSubstr("c[j] += a[j * n + i] * __ldg(&b[i * n + j]);"));
  known.shared_pointers = {0, 1, 2};
  EXPECT_EQ(after("restrict_pointers", kProduct, {{"ldg", 0}}, 0, known), "");
}

TEST(Unroll, PutsThePragmaOnItsOwnLine) {
  EXPECT_THAT(after("unroll", kProduct, {{"factor", 4}}),
              HasSubstr("// The whole row.\n    #pragma unroll 4\n    for (int i"));
}

TEST(Unroll, LeavesLoopsWithAPragma) {
  EXPECT_EQ(
      after(
          "unroll",
          "__global__ void k(float *y, int n) {\n#pragma unroll 2\n  for (int i = 0; i < n; ++i)\n    y[i] += 1;\n}\n",
          {{"factor", 4}}),
      "");
}

TEST(Unroll, UnrollsFullyOnlyWithConstantBounds) {
  EXPECT_EQ(after("unroll", kProduct, {{"factor", 0}}), "");
  EXPECT_THAT(after("unroll", "__global__ void k(float *y) {\n  for (int i = 0; i < 9; ++i)\n    y[i] += 1;\n}\n",
                    {{"factor", 0}}),
              HasSubstr("  #pragma unroll\n  for"));
}

TEST(BlockCoarsening, WrapsTheRestOfTheKernelAndShrinksTheGrid) {
  std::string text = after("block_coarsening", kProduct, {{"factor", 4}});
  EXPECT_THAT(text, HasSubstr("  for (int block_iteration = 0; block_iteration < 4; ++block_iteration) {\n    int j = "
                              "(blockIdx.x * 4 + block_iteration) * blockDim.x + threadIdx.x;\n"));
  EXPECT_THAT(text, HasSubstr("      }\n    }\n  }\n}\n"));
  auto found = offers("block_coarsening", kProduct, {{"factor", 4}});
  EXPECT_EQ(found[0].launch.at("gx").text(), "ceil_div(gx, 4)");
}

TEST(BlockCoarsening, TurnsAGuardsReturnIntoContinue) {
  EXPECT_THAT(after("block_coarsening",
                    "__global__ void k(float *y, int n) {\n  const int i = threadIdx.x + blockIdx.x * blockDim.x;\n  "
                    "if (i >= n) return;\n  y[i] = 1;\n}\n",
                    {{"factor", 2}}),
              HasSubstr("if (i >= n) continue;"));
}

TEST(BlockCoarsening, AcceptsAnIndexWhoseWidthIsAMacro) {
  EXPECT_THAT(after("block_coarsening",
                    "#define W 64\n__global__ void k(float *y, int n) {\n  int i = blockIdx.x * W + threadIdx.x;\n  if "
                    "(i >= n) return;\n  y[i] = 1;\n}\n",
                    {{"factor", 2}}),
              HasSubstr("int i = (blockIdx.x * 2 + block_iteration) * W + threadIdx.x;"));
}

TEST(BlockCoarsening, RefusesKernelsWithBarriers) {
  EXPECT_EQ(after("block_coarsening",
                  "__global__ void k(float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  "
                  "__syncthreads();\n  if (i < n) y[i] = 1;\n}\n",
                  {{"factor", 2}}),
            "");
}

TEST(BlockCoarsening, RefusesAnUnguardedKernel) {
  // It would be correct for a grid that is a multiple of the factor, but the application may use another grid.
  EXPECT_EQ(after("block_coarsening",
                  "__global__ void k(float *y) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[i] = 1;\n}\n",
                  {{"factor", 2}}, 0, facts(100)),
            "");
}

TEST(BlockCoarsening, RefusesAGridStrideLoop) {
  EXPECT_EQ(after("block_coarsening",
                  "__global__ void k(float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  for (; i "
                  "< n; i += gridDim.x * blockDim.x) y[i] = 1;\n}\n",
                  {{"factor", 2}}),
            "");
}

TEST(PadShared, AddsAColumn) {
  EXPECT_THAT(after("pad_shared",
                    "__global__ void k(float *y) {\n  __shared__ float tile[16][16];\n  tile[threadIdx.x][0] = 1;\n  "
                    "__syncthreads();\n  y[0] = tile[0][threadIdx.x];\n}\n",
                    {{"pad", 1}}),
              HasSubstr("float tile[16][16 + 1];"));
}

TEST(PadShared, ParenthesisesAComputedExtent) {
  EXPECT_THAT(after("pad_shared",
                    "__global__ void k(float *y) {\n  __shared__ float tile[16][1 << 4];\n  tile[threadIdx.x][0] = "
                    "1;\n  y[0] = tile[0][threadIdx.x];\n}\n",
                    {{"pad", 1}}),
              HasSubstr("float tile[16][(1 << 4) + 1];"));
}

TEST(PadShared, LeavesKernelsWithDynamicSharedMemory) {
  EXPECT_EQ(after("pad_shared",
                  "__global__ void k(float *y) {\n  __shared__ float tile[16][16];\n  extern __shared__ float "
                  "more[];\n  tile[threadIdx.x][0] = more[0];\n  y[0] = tile[0][threadIdx.x];\n}\n",
                  {{"pad", 1}}),
            "");
}

TEST(PadShared, LeavesTilesUsedAsFlatArrays) {
  EXPECT_EQ(after("pad_shared",
                  "__global__ void k(float *y) {\n  __shared__ float tile[16][16];\n  float *flat = tile[0];\n  y[0] = "
                  "flat[17];\n}\n",
                  {{"pad", 1}}),
            "");
}

TEST(PadShared, RequiresIndicesThatStayInTheirRow) {
  auto pads = [](const std::string& body, const std::string& tile = "tile[16][16]") {
    return after("pad_shared",
                 "#define B 16\n__device__ void fill(float *);\n__global__ void k(float *y, int n) {\n  __shared__ "
                 "float " +
                     tile + ";\n  int tx = threadIdx.x;\n  " + body + "\n}\n",
                 {{"pad", 1}}) != "";
  };
  EXPECT_TRUE(pads("for (int j = 0; j < B; j += 4) tile[tx][threadIdx.y + j] = 1;\n  y[0] = tile[tx + 1][tx - 1];"));
  EXPECT_TRUE(pads("y[0] = tile[n][n % B] + tile[n][(tx / 2) % 8];"));
  EXPECT_FALSE(pads("for (int e = tx; e < 256; e += 64) tile[0][e] = 1;\n  y[0] = tile[tx][0];"))
      << "the index runs over all rows";
  EXPECT_FALSE(pads("for (int e = tx; e < n; e += 64) tile[0][e] = 1;")) << "n is not known";
  EXPECT_FALSE(pads("tile[0][threadIdx.y * B + tx] = 1;"));
  EXPECT_FALSE(pads("int e = threadIdx.y * B + tx;\n  tile[0][e] = 1;"));
  EXPECT_FALSE(pads("tx += n;\n  tile[0][tx] = 1;"));
  EXPECT_FALSE(pads("tile[0][16] = 1;")) << "the next row's first element";
  EXPECT_TRUE(pads("tile[1][0][tx] = 1;", "tile[2][16][16]"));
  EXPECT_FALSE(pads("fill(tile[1][0]);", "tile[2][16][16]")) << "a row is passed to a function";
  EXPECT_FALSE(pads("float *row = tile[1][0];\n  row[0] = 1;", "tile[2][16][16]"));
}

TEST(LaunchBounds, StateTheRecordedBlock) {
  EXPECT_THAT(after("launch_bounds", kProduct, {{"min_blocks", 2}}),
              HasSubstr("__global__ void __launch_bounds__(256, 2) k("));
  RuleContext on_cpu = facts();
  on_cpu.on_cpu = true;
  EXPECT_EQ(after("launch_bounds", kProduct, {{"min_blocks", 2}}, 0, on_cpu), "") << "the CPU device ignores them";
}

TEST(LaunchBounds, UseTheKnobsOfTheLaunchSites) {
  std::string text = "#define BX 32\n#define HALF 4\n" + kProduct;
  Mep mep;
  mep.kernel_name = "k";
  MepInstance instance;
  instance.geometry = {{100, 1, 1}, {32, 8, 1}};
  mep.instances = {instance};
  LaunchSite site;
  site.block[0] = "BX"_e, site.block[1] = "2 * HALF"_e, site.block[2] = "1"_e;
  mep.launches = {site};
  mep.knobs = {{"BX", 32, {}, true, true, true, {}}, {"HALF", 4, {}, true, true, true, {}}};
  EXPECT_THAT(after("launch_bounds", text, {{"min_blocks", 0}}, 0, RuleContext::of(mep)),
              HasSubstr("__launch_bounds__(BX * (2 * HALF)) k("));
  mep.knobs[1].in_kernel = false;
  EXPECT_EQ(after("launch_bounds", text, {{"min_blocks", 0}}, 0, RuleContext::of(mep)), "")
      << "HALF is not visible to the kernel";
  mep.launches[0].block[0] = "256"_e, mep.launches[0].block[1] = "1"_e;
  EXPECT_THAT(after("launch_bounds", text, {{"min_blocks", 0}}, 0, RuleContext::of(mep)),
              HasSubstr("__launch_bounds__(256) k("));
}

TEST(LaunchBounds, AreStatedOnlyWhereNoLaunchCanExceedThem) {
  Mep mep;
  mep.kernel_name = "k";
  MepInstance instance;
  instance.geometry = {{100, 1, 1}, {256, 1, 1}};
  mep.instances = {instance};
  auto with = [&](const std::vector<std::string>& blocks) {
    mep.launches.clear();
    for (auto& block : blocks) {
      LaunchSite site;
      site.block[0] = expression_of(block), site.block[1] = site.block[2] = "1"_e;
      mep.launches.push_back(site);
    }
    return after("launch_bounds", kProduct, {{"min_blocks", 0}}, 0, RuleContext::of(mep));
  };
  EXPECT_THAT(with({"256", "512"}), HasSubstr("__launch_bounds__(512) k("))
      << "the largest block of all launches counts";
  EXPECT_EQ(with({"256", "threads"}), "") << "a block computed at run time";
  EXPECT_EQ(with({"256", ""}), "") << "a block whose text is unknown";
  EXPECT_EQ(with({}), "") << "no launch site is known";
  LaunchSite sibling;
  sibling.block[0] = "512"_e, sibling.block[1] = sibling.block[2] = "1"_e;
  mep.sibling_launches = {sibling};
  EXPECT_THAT(with({"256"}), HasSubstr("__launch_bounds__(512) k(")) << "the block of another instance of the template";
  mep.unseen_launches = "its address is taken at main.cu:7";
  EXPECT_EQ(with({"256"}), "");
}

TEST(LaunchBounds, AreNotStatedTwice) {
  EXPECT_EQ(
      after("launch_bounds", "__global__ void __launch_bounds__(64) k(float *y) { y[0] = 1; }\n", {{"min_blocks", 0}}),
      "");
}

TEST(ConstantToGlobal, MovesTablesReadWithDivergentIndices) {
  const std::string text =
      "__constant__ unsigned char table[256];\n__constant__ float same[4];\n__global__ void k(int *y, const int *x, "
      "int n) {\n"
      "  int i = threadIdx.x;\n  float s = 0;\n  for (int j = 0; j < 4; ++j) s += same[j] + same[n];\n  y[i] = "
      "table[x[i] & 255] + s;\n}\n";
  EXPECT_THAT(after("constant_to_global", text),
              HasSubstr("__device__ unsigned char table[256];\n__constant__ float same[4];"));
  EXPECT_EQ(offers("constant_to_global", text, {}).size(), 1u) << "`same` is read with uniform indices";
}

TEST(StaticTable, KeepsConstantsThatAreOnlyReadOnce) {
  auto with = [](const std::string& table, const std::string& use) {
    return after("static_table", "__global__ void k(int *y, const int *x, int n) {\n  int i = threadIdx.x;\n  " +
                                     table + "\n  " + use + "\n}\n");
  };
  const std::string read = "y[i] = t[x[i] & 3];";
  EXPECT_THAT(with("const int t[] = {1, 2, 4, 8};", read), HasSubstr("  static const int t[] = {1, 2, 4, 8};"));
  EXPECT_THAT(with("int t[4] = {1, 2, 4, 8};", read), HasSubstr("  static const int t[4] = {1, 2, 4, 8};"));
  EXPECT_THAT(with("constexpr int t[4] = {1, 2, 4, 8};", read), HasSubstr("  static constexpr int t[4]"));
  EXPECT_THAT(with("const unsigned char t[] = \"0123\";", read), HasSubstr("  static const unsigned char t[]"));
  EXPECT_NE(with("const int t[] = {1, 2, 4, 8};", "y[i] = n > 0 ? t[x[i] & 3] : (t[i & 1]);"), "");
  EXPECT_EQ(with("int t[4] = {1, 2, 4, 8};", "t[0] += i; " + read), "") << "it is changed";
  EXPECT_EQ(with("int t[4] = {1, 2, 4, 8};", "y[i] = x[i];"), "") << "nobody reads it";
  EXPECT_EQ(with("int t[4] = {1, 2, 4, 8};", "int *p = t; p[1] = i; " + read), "") << "its address is kept";
  EXPECT_EQ(with("int t[4] = {1, 2, 4, n};", read), "") << "its values are the launch's";
  EXPECT_EQ(with("static const int t[4] = {1, 2, 4, 8};", read), "") << "it is so already";
  EXPECT_EQ(with("int t[2] = {1, 2};", "y[i] = t[x[i] & 1];"), "") << "it may lie in registers";
}

KernelFacts facts_of(double dram, double fp32, double issue) {
  KernelFacts facts;
  facts.seconds = 1;
  facts.peaks.dram_bytes = facts.peaks.fp32_operations = 1;
  facts.dram_read_bytes = dram, facts.dram_written_bytes = 0, facts.fp32_operations = fp32, facts.issue_active = issue;
  return facts;
}

TEST(Bound, IsTheHighestRoofOrElseFollowsTheStalls) {
  EXPECT_EQ(bound_by(facts_of(0.8, 0.3, 0.2)), Bound::Memory);
  EXPECT_EQ(bound_by(facts_of(0.3, 0.6, 0.2)), Bound::Compute);
  EXPECT_EQ(bound_by(facts_of(0.1, 0.1, 0.7)), Bound::Compute)
      << "integer arithmetic has no roof, but keeps the schedulers busy";
  KernelFacts waiting = facts_of(0.1, 0.1, 0.2);
  waiting.stalls = {{"long_scoreboard", 20}, {"lg_throttle", 3}, {"selected", 1}};
  EXPECT_EQ(bound_by(waiting), Bound::Latency);
  waiting.stalls["lg_throttle"] = 60;
  EXPECT_EQ(bound_by(waiting), Bound::Memory);
  EXPECT_EQ(bound_by(KernelFacts{}), Bound::Unknown);
}

TEST(RuleContext, TreatsTheArraysOfAPoolAsOneAllocation) {
  auto shared = [](uint64_t part_of) {
    Mep mep;
    mep.parameters = {{"a", "float *", "float", false, ""}, {"b", "int *", "int", false, ""}};
    MepInstance instance;
    instance.parameters = {{0, 8}, {8, 8}}, instance.argument_pointers = {0, 8};
    const uint64_t places[] = {0x1000, 0x2000};
    instance.arguments.resize(16), instance.regions.resize(2);
    std::memcpy(instance.arguments.data(), places, 16);
    for (size_t i = 0; i < 2; ++i)
      instance.regions[i].address = places[i], instance.regions[i].size = 0x1000, instance.regions[i].part_of = part_of;
    mep.instances = {instance};
    return RuleContext::of(mep).shared_pointers.size();
  };
  EXPECT_EQ(shared(0), 0u);
  EXPECT_EQ(shared(0x1000), 2u) << "the kernel may access either array through either pointer";
}

TEST(RuleContext, FindsPointersIntoOneAllocation) {
  // Two arrays of 4 KiB at 0x1000 and 0x4000; a and b are pointers, c is a structure that contains a pointer.
  auto known = [](std::vector<uint64_t> addresses, uint64_t pointer_stride = 0) {
    Mep mep;
    mep.parameters = {
        {"a", "float *", "float", false, ""}, {"b", "float *", "float", false, ""}, {"c", "View", "", false, ""}};
    MepInstance instance;
    instance.parameters = {{0, 8}, {8, 8}, {16, 16}};
    instance.argument_pointers = {0, 8, 24};
    instance.arguments.resize(32);
    for (size_t i = 0; i < 3; ++i) std::memcpy(instance.arguments.data() + (i < 2 ? 8 * i : 24), &addresses[i], 8);
    MepRegion first, second;
    first.address = 0x1000, first.size = 0x1000, second.address = 0x4000, second.size = 0x1000;
    second.pointer_stride = pointer_stride;
    instance.regions = {first, second};
    MepInstance apart = instance;
    const uint64_t places[] = {0x1000, 0x4000, 0};
    std::memcpy(apart.arguments.data(), places, 16), std::memcpy(apart.arguments.data() + 24, places + 2, 8);
    mep.instances = {instance, apart};
    mep.instances[1].regions[1].pointer_stride = 0;
    return RuleContext::of(mep);
  };
  auto shared = [&](std::vector<uint64_t> addresses, uint64_t pointer_stride = 0) {
    return known(addresses, pointer_stride).shared_pointers;
  };
  using Set = std::set<size_t>;
  EXPECT_EQ(shared({0x1000, 0x1000, 0}), (Set{0, 1}));
  EXPECT_EQ(shared({0x1000, 0x1020, 0}), (Set{0, 1})) << "smooth(buffer, buffer + 8, n): the ranges overlap";
  EXPECT_EQ(shared({0x1000, 0x4000, 0}), Set{});
  EXPECT_EQ(shared({0x1000, 0x4000, 0x4800}), Set{1}) << "the structure's member points there, too";
  EXPECT_EQ(shared({0x1000, 0x4000, 0}, 8), (Set{0, 1})) << "the recorded memory contains pointers";
  EXPECT_EQ(shared({0x9000, 0x9000, 0}), (Set{0, 1})) << "no region was recorded there";
  EXPECT_EQ(shared({0, 0, 0}), Set{});
  EXPECT_EQ(known({0x1000, 0x4800, 0}).extents.at(1), 0x1000u)
      << "the largest extent, from the launch that pointed to the beginning";
}

TEST(Rules, DoNotEditMacros) {
  std::string text =
      "#define LOOP for (int i = 0; i < n; ++i)\n#define HALF 0.5\n__global__ void k(float *y, int n) {\n  LOOP y[0] "
      "+= HALF * y[1];\n}\n";
  std::set<std::string> applied;
  for (auto* rule : all_rules()) {
    auto source = KernelSource::parse(text, arguments());
    for (auto& opportunity : opportunities(*rule, *source, facts())) {
      applied.insert(rule->name);
      EXPECT_THAT(*apply_edits(text, opportunity.edits),
                  HasSubstr("#define LOOP for (int i = 0; i < n; ++i)\n#define HALF 0.5\n"));
    }
  }
  EXPECT_THAT(applied, testing::IsSupersetOf({"float_literals", "launch_bounds"}));
}

TEST(Rules, ComposeAndAlwaysParse) {
  std::string text = kProduct;
  std::multiset<std::string> applied;
  for (int round = 0; round < 2; ++round)
    for (auto* rule : all_rules()) {
      auto source = KernelSource::parse(text, arguments());
      ASSERT_TRUE(source.ok()) << source.error().message << "\n" << text;
      auto found = opportunities(*rule, *source, facts());
      if (!found.empty()) text = *apply_edits(text, found[0].edits), applied.insert(rule->name);
    }
  auto source = KernelSource::parse(text, frontend_arguments({}));
  EXPECT_TRUE(source.ok()) << source.error().message << "\n" << text;
  EXPECT_THAT(applied, testing::IsSupersetOf({"scalar_promotion", "restrict_pointers", "unroll", "launch_bounds"}));
}

TEST(Edits, ThatOverlapAreRefused) { EXPECT_FALSE(apply_edits("abcdef", {{0, 3, "x"}, {2, 4, "y"}})); }

}  // namespace
}  // namespace kernelift::tuner
