// Claims about size_plan.h.
#include "sandbox/evaluate/size_plan.h"

#include <gmock/gmock.h>

#include <bit>
#include <cstring>
#include <set>

#include "core/tests/expression_literal.h"

namespace kernelift::sandbox {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

template <class T>
void pass(MepInstance& instance, T value) {
  const size_t offset = (instance.arguments.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
  instance.arguments.resize(offset + sizeof(T));
  std::memcpy(&instance.arguments[offset], &value, sizeof(T));
  instance.parameters.push_back({static_cast<uint32_t>(offset), sizeof(T)});
}

LaunchSite site_of(const char* grid_x, const char* grid_y, std::vector<std::string> arguments) {
  LaunchSite site;
  site.grid[0] = expression_of(grid_x), site.grid[1] = expression_of(grid_y), site.grid[2] = "1"_e;
  site.block[0] = "B"_e, site.block[1] = "1"_e, site.block[2] = "1"_e;
  site.argument_text = std::move(arguments);
  return site;
}

/// k<<<(n + B - 1) / B, B>>>(x, n, n / 2), B = 128, recorded at n = 4096.
Mep one_size() {
  Mep mep;
  mep.kernel_name = "k";
  mep.parameters = {
      {"x", "float *", "float", false, ""}, {"size", "int", "", false, "int"}, {"half", "long", "", false, "long"}};
  mep.launches = {site_of("(n + B - 1) / B", "1", {"x", "n", "n / 2"})};
  MepInstance& instance = mep.instances.emplace_back();
  instance.id = "a", instance.geometry = {{32, 1, 1}, {128, 1, 1}, 0, false};
  pass<uint64_t>(instance, 0x1000), pass<int>(instance, 4096), pass<int64_t>(instance, 2048);
  return mep;
}

/// k<<<dim3((w + B - 1) / B, h), B>>>(w, h), B = 32, recorded at 100 x 60.
Mep two_sizes() {
  Mep mep;
  mep.parameters = {{"w", "int", "", false, "int"}, {"h", "int", "", false, "int"}};
  mep.launches = {site_of("(w + B - 1) / B", "h", {"w", "h"})};
  MepInstance& instance = mep.instances.emplace_back();
  instance.id = "a", instance.geometry = {{4, 60, 1}, {32, 1, 1}, 0, false};
  pass<int>(instance, 100), pass<int>(instance, 60);
  return mep;
}

Candidate with_block(int block) {
  Candidate candidate;
  candidate.launches = {CandidateLaunch::as_recorded("k")};
  candidate.launches[0].block[0] = Expression::constant(block);
  return candidate;
}

std::vector<int64_t> values_of(const SizePlan& plan, const std::string& parameter) {
  std::vector<int64_t> values;
  for (auto& sized : plan.launches)
    if (auto found = sized.size.values.find(parameter); found != sized.size.values.end())
      values.push_back(found->second);
  return values;
}

TEST(SizePlan, VariesMembersOfAStructureThatTheGridNames) {
  // k<<<(view.rows + B - 1) / B, B>>>(view), with struct View { float* data; int rows, columns; }
  struct View {
    uint64_t data;
    int rows, columns;
  };
  Mep mep;
  mep.kernel_name = "k";
  mep.parameters = {{"v", "View", "", false, ""}};
  mep.parameters[0].record = "View";
  mep.launches = {site_of("(view.rows + B - 1) / B", "1", {"view"})};
  MepInstance& instance = mep.instances.emplace_back();
  instance.id = "a", instance.geometry = {{8, 1, 1}, {128, 1, 1}, 0, false};
  pass<uint64_t>(instance, 7), pass<View>(instance, {0x1000, 1000, 50});
  instance.parameters.erase(instance.parameters.begin());  // It lies behind other bytes.
  SizeQuestion question{with_block(256)};
  EXPECT_TRUE(plan_sizes(mep, question).launches.empty());
  EXPECT_FALSE(knows_launches(mep, {0}));
  question.members = {{0, 0, "pointer", ".data"}, {0, 8, "int", ".rows"}, {0, 12, "int", ".columns"}};
  EXPECT_TRUE(knows_launches(mep, {0}, question.members));
  const SizePlan plan = plan_sizes(mep, question);
  EXPECT_THAT(values_of(plan, "v.rows"), Contains(999));
  EXPECT_THAT(values_of(plan, "v.rows"), Contains(1));
  EXPECT_TRUE(values_of(plan, "v.columns").empty()) << "nothing is launched by it";
  for (auto& sized : plan.launches) {
    ASSERT_EQ(sized.parts.size(), 1u);
    EXPECT_EQ(sized.parts[0].offset, instance.parameters[0].offset + 8);
    EXPECT_EQ(sized.parts[0].bytes, 4u);
    EXPECT_EQ(sized.parts[0].value, sized.size.values.at("v.rows"));
    EXPECT_EQ(sized.geometry.grid.x, (sized.parts[0].value + 127) / 128);
  }
  question.premise = "arg.a0.o8 % 8 == 0"_e;
  for (int64_t rows : values_of(plan_sizes(mep, question), "v.rows")) EXPECT_EQ(rows % 8, 0);
}

TEST(SizePlan, HasTheEdgesOfBlocksAndTheTinySizes) {
  const Candidate candidate = with_block(1024);
  const SizePlan plan = plan_sizes(one_size(), {candidate});
  const auto sizes = values_of(plan, "size");
  // 3968 is the largest multiple of 128 below 4096 that is none of 1024.
  for (int64_t size : {4095, 4089, 3968, 3072, 1, 31, 33}) EXPECT_THAT(sizes, Contains(size));
  EXPECT_LE(plan.launches.size(), kMostSizes + kLargerSizes);
  EXPECT_EQ(plan.left_out, "");
}

TEST(SizePlan, ArgumentsAndGridFollowTheHostsVariable) {
  const Candidate candidate;
  for (auto& sized : plan_sizes(one_size(), {candidate}).launches) {
    const int64_t n = sized.values.at(1);
    EXPECT_EQ(sized.values.contains(2) ? sized.values.at(2) : 2048, n / 2);
    EXPECT_EQ(sized.geometry.grid.x, (n + 127) / 128);
    EXPECT_EQ(sized.geometry.block.x, 128u);
  }
}

TEST(SizePlan, ASizeOfZeroThatTheHostDoesNotLaunchIsLeftOut) {
  const Candidate candidate;
  EXPECT_THAT(values_of(plan_sizes(one_size(), {candidate}), "size"), Not(Contains(0)));
  Mep whole = one_size();
  whole.launches = {site_of("n / B", "1", {"x", "n", "n / 2"})};
  for (int64_t size : values_of(plan_sizes(whole, {candidate}), "size")) EXPECT_GE(size, 128);
  Mep always = one_size();
  always.launches = {site_of("32", "1", {"x", "n", "n / 2"})};
  EXPECT_THAT(values_of(plan_sizes(always, {candidate, {1}}), "size"), Contains(0));
}

TEST(SizePlan, SomeSizesAreDrawnAndNotShown) {
  const Candidate candidate;
  auto unshown = [&](uint64_t seed) {
    std::vector<int64_t> sizes;
    for (auto& sized : plan_sizes(one_size(), {candidate, {}, {}, {}, {}, seed}).launches)
      if (!sized.shown) sizes.push_back(sized.values.at(1));
    return sizes;
  };
  EXPECT_EQ(unshown(1).size(), 3u);
  EXPECT_EQ(unshown(1), unshown(1));
  EXPECT_NE(unshown(1), unshown(2));
}

TEST(SizePlan, EachArgumentVariesAloneAndWithTheOthers) {
  const Candidate candidate;
  const SizePlan plan = plan_sizes(two_sizes(), {candidate});
  auto has = [&](const Bindings& values) {
    return std::ranges::any_of(plan.launches, [&](auto& sized) { return sized.size.values == values; });
  };
  EXPECT_TRUE(has({{"w", 99}}) && has({{"h", 59}}) && has({{"w", 96}, {"h", 59}}));
  for (auto& sized : plan.launches) {
    EXPECT_EQ(sized.geometry.grid.y, sized.size.values.contains("h") ? sized.size.values.at("h") : 60);
  }
  EXPECT_LE(plan.launches.size(), kMostSizes + kLargerSizes);
}

TEST(SizePlan, LargerSizesGrowTheMemoryThatPointersLeadTo) {
  const Candidate candidate = with_block(1024);
  auto larger = [&](const Mep& mep) {
    std::map<int64_t, double> found;
    for (auto& sized : plan_sizes(mep, {candidate}).launches)
      if (sized.values.contains(1) && sized.values.at(1) > 4096) found[sized.values.at(1)] = sized.growth;
    return found;
  };
  auto found = larger(one_size());
  ASSERT_EQ(found.size(), kLargerSizes);
  for (int64_t n : {4097, 4224, 5121, 8193}) EXPECT_DOUBLE_EQ(found[n], double(n) / 4096 * (double(n) / 4096)) << n;
  Mep structured = one_size();
  structured.parameters.push_back({"box", "Box", "", false, "", "Box"});
  EXPECT_THAT(larger(structured), IsEmpty());
  EXPECT_EQ(plan_sizes(structured, {candidate}).left_out,
            "no larger size was run, as it gets a structure, which may hold addresses and sizes");
}

TEST(SizePlan, MemoryThatOnlyANumberLooksLikeAnAddressOfKeepsNothingFromGrowing) {
  auto grows = [](const char* element) {
    Mep mep = one_size();
    MepInstance& instance = mep.instances[0];
    MepRegion holder, found;
    holder.address = 0x1000, holder.size = 4096 * 4, holder.parameter = 0, holder.element = element;
    holder.reached_from = Origin::of_argument(0);
    found.address = 0x200000000000, found.size = 64, found.parameter = -1, found.element = "byte";
    found.reached_from = Origin::of_memory(0x1000, 40);
    instance.regions = {holder, found};
    const Candidate candidate = with_block(1024);
    return std::ranges::any_of(plan_sizes(mep, {candidate}).launches, [](auto& sized) { return sized.growth > 1; });
  };
  EXPECT_TRUE(grows("int"));
  EXPECT_TRUE(grows("float"));
  EXPECT_FALSE(grows("long long")) << "tables of 64-bit integers hold addresses, too";
  EXPECT_FALSE(grows("byte"));
}

TEST(SizePlan, AnArgumentThatOnlyConditionsDependOnVaries) {
  Mep mep = one_size();
  mep.launches = {site_of("32", "1", {"x", "n", "n / 2"})};
  const Candidate candidate;
  EXPECT_THAT(values_of(plan_sizes(mep, {candidate}), "size"), ElementsAre(4095, 4097)) << "as any other integer";
  mep.launches = {site_of("32", "1", {"x", "4096", "2048"})};
  const SizePlan without = plan_sizes(mep, {candidate});
  EXPECT_THAT(without.launches, IsEmpty());
  EXPECT_EQ(without.left_out, "neither its grid nor a condition in it depends on an integer argument");
  mep.launches = {site_of("32", "1", {"x", "n", "n / 2"})};
  EXPECT_THAT(values_of(plan_sizes(mep, {candidate, {1}}), "size"), Contains(4095));
}

/// What one launch with another value of a parameter has of it alone.
std::vector<int64_t> alone(const SizePlan& plan, const std::string& parameter) {
  std::vector<int64_t> values;
  for (auto& sized : plan.launches)
    if (sized.size.values.size() == 1 && sized.size.values.contains(parameter) && sized.size.pointers.empty())
      values.push_back(sized.size.values.at(parameter));
  return values;
}

std::vector<std::string> pointers_of(const SizePlan& plan) {
  std::vector<std::string> all;
  for (auto& sized : plan.launches) all.push_back(sized.size.pointers);
  return all;
}

TEST(SizePlan, OtherBranchesAreTakenByTheConstantsThatFlagsAreComparedWith) {
  Mep mep = one_size();
  mep.parameters.push_back({"mode", "int", "", false, "int"}), mep.launches[0].argument_text.push_back("0");
  mep.parameters.push_back({"relu", "bool", "", false, "bool"}), mep.launches[0].argument_text.push_back("f()");
  pass<int>(mep.instances[0], 0), pass<uint8_t>(mep.instances[0], 1);
  const Candidate candidate;
  EXPECT_THAT(alone(plan_sizes(mep, {candidate}), "mode"), IsEmpty()) << "no launch site passes another constant";
  const KernelModel::Compared both{.integers = {{"arg.a3", {1}}, {"arg.a4", {0, 300}}}};
  const SizePlan plan = plan_sizes(mep, {candidate, {}, both});
  EXPECT_THAT(alone(plan, "mode"), ElementsAre(1, 2)) << "0 was recorded";
  EXPECT_THAT(alone(plan, "relu"), ElementsAre(0)) << "1 was recorded, and no other number is a bool";
  EXPECT_TRUE(std::ranges::any_of(plan.launches, [](const SizedInstance& sized) {
    return !sized.shown && sized.size.values.contains("mode") && sized.size.values.contains("relu");
  })) << "what is right for each alone may be wrong for both";
  const KernelModel::Compared mode{.integers = {{"arg.a3", {1}}}};
  EXPECT_THAT(alone(plan_sizes(mep, {candidate, {}, mode, "arg.a3 <= 1"_e}), "mode"), ElementsAre(1))
      << "elsewhere the original runs";
  const KernelModel::Compared size{.integers = {{"arg.a1", {7}}}};
  EXPECT_THAT(values_of(plan_sizes(mep, {candidate, {}, size}), "size"), Not(Contains(8)))
      << "a size, of which smaller ones are tried anyway";
}

TEST(SizePlan, AnArgumentIsWhatAnotherLaunchSitePasses) {
  // k<<<…>>>(x, n, n / 2, 1) was recorded, k<<<…>>>(x, n, n / 2, 5) was not.
  Mep mep = one_size();
  mep.parameters.push_back({"radius", "int", "", false, "int"});
  mep.launches = {site_of("(n + B - 1) / B", "1", {"x", "n", "n / 2", "1"}),
                  site_of("(n + B - 1) / B", "1", {"x", "n", "n / 2", "5"})};
  pass<int>(mep.instances[0], 1);
  const Candidate candidate;
  EXPECT_THAT(alone(plan_sizes(mep, {candidate}), "radius"), ElementsAre(5));
  mep.launches[1].argument_text[3] = "read()";
  EXPECT_THAT(alone(plan_sizes(mep, {candidate}), "radius"), ElementsAre(0, 2)) << "it may be anything";
}

TEST(SizePlan, PointersAreNullAndOptionalOnesAreThere) {
  Mep mep = one_size();
  mep.parameters.push_back({"bias", "const float *", "float", true, ""});
  mep.launches[0].argument_text.push_back("nullptr");
  MepInstance& instance = mep.instances[0];
  pass<uint64_t>(instance, 0);
  MepRegion region;
  region.address = 0x1000, region.size = 4096 * 4, region.parameter = 0, region.element = "float";
  region.reached_from = Origin::of_argument(0);
  instance.regions = {region};
  const Candidate candidate;
  EXPECT_THAT(pointers_of(plan_sizes(mep, {candidate})), Not(Contains("bias = x")));
  const KernelModel::Compared compared{.pointers = {0, 3}};
  EXPECT_THAT(pointers_of(plan_sizes(mep, {candidate, {}, compared})), Contains("bias = x"));
  EXPECT_THAT(pointers_of(plan_sizes(mep, {candidate, {}, compared})), Contains("x = null"));
}

TEST(SizePlan, MembersAndNumbersThatAreComparedTakeTheOtherBranchToo) {
  struct Options {
    int mode;
    float scale;
  };
  Mep mep = one_size();
  mep.parameters.push_back({"options", "Options", "", false, ""}), mep.parameters.back().record = "Options";
  mep.parameters.push_back({"alpha", "float", "", false, "float"});
  for (auto* passed : {"options", "alpha"}) mep.launches[0].argument_text.push_back(passed);
  pass<Options>(mep.instances[0], {0, 1.0f}), pass<float>(mep.instances[0], 1.0f);
  const Candidate candidate;
  SizeQuestion question{candidate};
  question.members = {{3, 0, "int", ".mode"}, {3, 4, "float", ".scale"}};
  question.compared.integers = {{"arg.a3.o0", {2}}};
  question.compared.numbers = {{"arg.a3.o4", {1}}, {"arg.a4", {0}}};
  const SizePlan plan = plan_sizes(mep, question);
  EXPECT_THAT(alone(plan, "options.mode"), ElementsAre(2, 1, 3));
  EXPECT_THAT(pointers_of(plan), Contains("options.scale = 1.5"));
  EXPECT_THAT(pointers_of(plan), Contains("alpha = 0"));
  EXPECT_THAT(pointers_of(plan), Contains("alpha = 0.5"));
  const auto scaled = std::ranges::find(plan.launches, "options.scale = 1.5",
                                        [](const SizedInstance& sized) { return sized.size.pointers; });
  ASSERT_EQ(scaled->parts.size(), 1u);
  EXPECT_EQ(scaled->parts[0].offset, mep.instances[0].parameters[3].offset + 4);
  EXPECT_EQ(static_cast<uint32_t>(scaled->parts[0].value), std::bit_cast<uint32_t>(1.5f));
}

TEST(SizePlan, NumbersOfFloatingPointHaveOtherValuesTogether) {
  Mep mep = one_size();
  for (auto* name : {"alpha", "beta"}) {
    mep.parameters.push_back({name, "float", "", false, "float"});
    mep.launches[0].argument_text.push_back(name);
  }
  pass<float>(mep.instances[0], 3), pass<float>(mep.instances[0], 0);
  const Candidate candidate;
  const SizePlan plan = plan_sizes(mep, {candidate});
  auto with =
      std::ranges::find_if(plan.launches, [](auto& one) { return one.size.pointers == "alpha = 1.5, beta = 0.5"; });
  ASSERT_NE(with, plan.launches.end());
  ASSERT_EQ(with->parts.size(), 2u);
  EXPECT_EQ(with->parts[0].value, std::bit_cast<int32_t>(1.5f));
  EXPECT_EQ(with->parts[1].value, std::bit_cast<int32_t>(0.5f));
}

TEST(SizePlan, SizesForWhichThePremiseDoesNotHoldAreCountedAndLeftOut) {
  const Candidate candidate = with_block(1024);
  const SizePlan plan = plan_sizes(one_size(), {candidate, {}, {}, "arg.a1 % 1024 == 0"_e});
  EXPECT_GT(plan.beyond_premise, 5u);
  for (int64_t size : values_of(plan, "size")) EXPECT_EQ(size % 1024, 0);
  EXPECT_THAT(values_of(plan, "size"), Contains(3072));
}

TEST(SizePlan, AGridOfConstantsStaysWhereTheKernelsArgumentChanges) {
  const Candidate candidate;
  Mep mep = one_size();
  mep.launches = {site_of("ceil_div(SIZE, B)", "1", {"x", "n", "n / 2"})};
  EXPECT_FALSE(knows_launches(mep, {0}));
  mep.constants = {{"SIZE", 4096}, {"B", 128}};
  const SizePlan plan = plan_sizes(mep, {candidate, {1}});
  EXPECT_THAT(values_of(plan, "size"), Contains(4095));
  for (auto& sized : plan.launches) EXPECT_EQ(sized.geometry.grid.x, 32u);
}

TEST(SizePlan, ASizeThatIsPassedAsAProductIsVariedAsAWhole) {
  // k<<<(rows * columns + threads - 1) / threads, threads>>>(x, rows * columns, rows * columns / 2)
  const Candidate candidate;
  Mep mep = one_size();
  mep.launches = {
      site_of("(rows * columns + threads - 1) / threads", "1", {"x", "rows * columns", "rows * columns / 2"})};
  mep.launches[0].block[0] = "threads"_e;
  const SizePlan plan = plan_sizes(mep, {candidate});
  EXPECT_THAT(values_of(plan, "size"), Contains(4095));
  for (auto& sized : plan.launches)
    if (auto size = sized.size.values.find("size"); size != sized.size.values.end()) {
      EXPECT_EQ(sized.geometry.grid.x, (size->second + 127) / 128);
      if (auto half = sized.size.values.find("half"); half != sized.size.values.end())
        EXPECT_EQ(half->second, size->second / 2);
    }
}

TEST(SizePlan, AGridThatIsNotKnownIsTheRecordedOne) {
  const Candidate candidate;
  auto as_recorded = [&](const Mep& mep, const std::string& why) {
    const SizePlan plan = plan_sizes(mep, {candidate, {1}});
    EXPECT_EQ(plan.left_out, why + ", so other sizes were run with the recorded number");
    EXPECT_THAT(values_of(plan, "size"), Contains(4095));
    EXPECT_THAT(values_of(plan, "size"), Not(Contains(4097))) << "more than its threads come to";
    SizeQuestion strides{candidate, {1}};
    strides.asks_grid = true;
    EXPECT_THAT(values_of(plan_sizes(mep, strides), "size"), Contains(4097));
    for (auto& sized : plan_sizes(mep, strides).launches) EXPECT_EQ(sized.geometry.grid.x, 32u);
    for (auto& sized : plan.launches) EXPECT_EQ(sized.geometry.grid.x, 32u);
  };
  Mep mep = one_size();
  mep.launches = {site_of("blocks", "1", {"x", "n", "n / 2"})};
  as_recorded(mep, "how many blocks it is launched with at other sizes is not known");
  // A site that launches another number of blocks than was recorded is another one.
  mep.launches = {site_of("(n + B - 1) / B + 1", "1", {"x", "n", "n / 2"})};
  as_recorded(mep, "how many blocks it is launched with at other sizes is not known");
  mep.launches.clear();
  as_recorded(mep, "the application's launch sites are not known");
  EXPECT_FALSE(knows_launches(mep, {0}));
}

TEST(SizePlan, PointersMoveByAnElementUnlessTheirAlignmentIsTakenForGranted) {
  Mep mep = one_size();
  MepRegion region;
  region.address = 0x1000, region.size = 4 * 4096, region.element = "float", region.parameter = 0;
  mep.instances[0].regions = {region};
  const Candidate candidate;
  SizePlan plan = plan_sizes(mep, {candidate});
  ASSERT_FALSE(plan.launches.empty());
  EXPECT_EQ(plan.launches.back().moved, (std::map<size_t, int64_t>{{0, 4}}));
  EXPECT_EQ(plan.launches.back().size.text(), "half = 2047, size = 4095, pointers one element further");
  plan = plan_sizes(mep, {candidate, {}, {}, {}, {0}});
  ASSERT_FALSE(plan.launches.empty());
  for (auto& sized : plan.launches) EXPECT_TRUE(sized.moved.empty());
}

/// one_size() with a further array `y`, at 0x10000.
Mep two_arrays() {
  Mep mep = one_size();
  mep.parameters.push_back({"y", "float *", "float", false, ""});
  pass<uint64_t>(mep.instances[0], 0x10000);
  for (int parameter : {0, 3}) {
    MepRegion& region = mep.instances[0].regions.emplace_back();
    region.address = parameter == 0 ? 0x1000 : 0x10000, region.size = 4 * 4096;
    region.element = "float", region.parameter = parameter;
  }
  return mep;
}

TEST(SizePlan, MemoryThatACallerPassesTwiceIsPassedTwice) {
  Mep mep = two_arrays();
  mep.launches[0].argument_text.push_back("y"), mep.launches[0].one_memory = {{0, 3}};
  const Candidate candidate;
  const SizePlan plan = plan_sizes(mep, {candidate});
  ASSERT_FALSE(plan.launches.empty());
  EXPECT_EQ(plan.launches.back().same, (std::map<size_t, size_t>{{3, 0}}));
  EXPECT_EQ(plan.launches.back().size.text(), "y = x");
}

TEST(SizePlan, PartsOfOneAllocationAreNotPassedTwice) {
  Mep mep = two_arrays();
  mep.launches[0].argument_text[0] = "pool";
  mep.launches[0].argument_text.push_back("pool + n"), mep.launches[0].one_memory = {{0, 3}};
  const Candidate candidate;
  const SizePlan plan = plan_sizes(mep, {candidate});
  ASSERT_FALSE(plan.launches.empty());
  for (auto& sized : plan.launches) EXPECT_TRUE(sized.same.empty()) << sized.size.text();
}

TEST(SizePlan, TheSmallestTwoLaunchesAreVaried) {
  Mep mep = one_size();
  for (int n : {1024, 2048, 512}) {
    MepInstance instance = mep.instances[0];
    instance.id = std::to_string(n), instance.geometry.grid.x = n / 128;
    const int64_t half = n / 2;
    std::memcpy(&instance.arguments[8], &n, sizeof n), std::memcpy(&instance.arguments[16], &half, sizeof half);
    instance.regions.emplace_back().size = 4 * n;
    mep.instances.push_back(instance);
  }
  mep.instances[0].regions.emplace_back().size = 4 * 4096;
  std::set<std::string> varied;
  const Candidate candidate;
  for (auto& sized : plan_sizes(mep, {candidate}).launches) varied.insert(sized.size.instance);
  EXPECT_EQ(varied, (std::set<std::string>{"1024", "512"}));
}

TEST(SizePlan, GivesIntegersThatDecideNoSizeTheirNeighboursValues) {
  // k<<<(n + B - 1) / B, B>>>(x, n, buckets): `key[i] % buckets`.
  Mep mep = one_size();
  mep.parameters[2] = {"buckets", "int", "", false, "int"};
  mep.launches = {site_of("(n + B - 1) / B", "1", {"x", "n", "buckets"})};
  MepInstance& instance = mep.instances[0];
  instance.arguments.clear(), instance.parameters.clear();
  pass<uint64_t>(instance, 0x1000), pass<int>(instance, 4096), pass<int>(instance, 64);
  const SizePlan plan = plan_sizes(mep, {with_block(128)});
  std::set<int64_t> buckets;
  for (auto& launch : plan.launches)
    if (auto known = launch.size.values.find("buckets"); known != launch.size.values.end())
      buckets.insert(known->second);
  EXPECT_THAT(buckets, ElementsAre(63, 65));
}

TEST(SizePlan, KnowsALaunchWhoseBlocksFollowFromItsArguments) {
  Mep mep = one_size();
  EXPECT_TRUE(knows_launches(mep, {0}));
  mep.launches[0].grid[2] = "batch"_e;
  EXPECT_TRUE(knows_launches(mep, {0, 1}));
  EXPECT_FALSE(knows_launches(mep, {2})) << "a variable that the kernel is not given";
  EXPECT_THAT(values_of(plan_sizes(mep, {with_block(64)}), "size"), Contains(4095)) << "with as many batches";
  mep.launches[0].grid[0] = "blocks"_e;
  EXPECT_FALSE(knows_launches(mep, {0}));
  mep.launches.clear();
  EXPECT_FALSE(knows_launches(mep, {0}));
}

}  // namespace
}  // namespace kernelift::sandbox
