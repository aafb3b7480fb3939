// Candidates at sizes that were not recorded, by their launch sites: real compilers, nothing is run.
#include "sandbox/evaluate/size_comparison.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/tests/expression_literal.h"

namespace kernelift::sandbox {
namespace {

using Kind = legality::Answer::Kind;

constexpr const char* kGuarded =
    "__global__ void twice(const float* x, float* out, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) out[i] = 2 * x[i];\n"
    "}\n";
constexpr const char* kWholeBlocks =
    "__global__ void twice(const float* x, float* out, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  out[i] = 2 * x[i];\n"
    "}\n";

LaunchSite site(const char* grid, const char* block, std::vector<std::string> arguments = {"a", "b", "count"}) {
  LaunchSite site;
  site.range.line = 7;
  site.grid[0] = expression_of(grid), site.grid[1] = "1"_e, site.grid[2] = "1"_e;
  site.block[0] = expression_of(block), site.block[1] = "1"_e, site.block[2] = "1"_e;
  site.argument_text = std::move(arguments);
  return site;
}

class SizeComparisonTest : public testing::Test {
 protected:
  void SetUp() override {
    CompilePoolOptions options;
    options.workers = 1, options.few = true;
    auto pool = CompilePool::start(std::move(options));
    ASSERT_TRUE(pool.ok()) << pool.error().message;
    pool_ = std::move(*pool);
    mep_.kernel_name = "twice", mep_.kernel_mangled = "_Z5twicePKfPfi";
    mep_.parameters = {{"x", "const float *", "float", true, ""},
                       {"out", "float *", "float", false, ""},
                       {"n", "int", "", false, "int"}};
    mep_.launches = {site("(count + 127) / 128", "128")};
    mep_.instances.resize(1);
    mep_.instances[0].geometry = {{8, 1, 1}, {128, 1, 1}, 0, false};
  }

  /// The answer about the source with another block, and the grid that covers the recorded one.
  legality::Answer with_block(const char* source, int block) {
    EXPECT_TRUE(pool_->compile_own(source).ok());
    SizeComparison comparison(mep_, *pool_, source);
    Candidate candidate;
    candidate.source = source;
    candidate.launches = {CandidateLaunch::as_recorded("twice")};
    candidate.launches[0].grid[0] = *Expression::parse("ceil_div(gx * 128, " + std::to_string(block) + ")");
    candidate.launches[0].block[0] = Expression::constant(block);
    return comparison.answer(candidate);
  }

  Mep mep_;
  std::unique_ptr<CompilePool> pool_;
};

TEST_F(SizeComparisonTest, AGuardedKernelIsProvenWithEveryBlock) {
  for (int block : {32, 96, 1024}) {
    auto answer = with_block(kGuarded, block);
    EXPECT_EQ(answer.kind, Kind::Proven) << block << ": " << answer.why;
  }
}

TEST_F(SizeComparisonTest, WhatItsConfirmationWouldSurelyRefuseIsNotRun) {
  auto text = [](const char* body) {
    return "__global__ void twice(const float* x, float* out, int n) {\n"
           "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
           std::string(body) + "}\n";
  };
  const std::string read = text("  if (i < n) ((float**)out)[0][i] = 2 * x[i];\n"),
                    changed = text("  if (i < n) ((float**)out)[0][i] = x[i] + x[i];\n");
  auto refuses = [&](const std::string& original, const std::string& source, int block) {
    EXPECT_TRUE(pool_->compile_own(original).ok());
    Candidate candidate;
    candidate.source = source;
    candidate.launches = {CandidateLaunch::as_recorded("twice")};
    if (block != 128) {
      candidate.launches[0].grid[0] = *Expression::parse("ceil_div(gx * 128, " + std::to_string(block) + ")");
      candidate.launches[0].block[0] = Expression::constant(block);
    }
    auto early = SizeComparison(mep_, *pool_, original).refuted(candidate);
    return early && std::get<Verdict>(*early).outcome == Outcome::Refused;
  };
  const uint32_t count = 1000;
  mep_.instances[0].arguments.resize(24);
  std::memcpy(mep_.instances[0].arguments.data() + 16, &count, sizeof count);
  mep_.instances[0].parameters = {{0, 8}, {8, 8}, {16, 4}};
  EXPECT_FALSE(refuses(read, changed, 256)) << "how many blocks there are is known";
  mep_.launches = {site("blocks", "128")};
  EXPECT_TRUE(refuses(read, changed, 256));
  EXPECT_FALSE(refuses(read, changed, 128)) << "it is launched as it was";
  EXPECT_FALSE(refuses(kGuarded, text("  if (i < n) out[i] = x[i] + x[i];\n"), 256)) << "it may be proven";
}

TEST_F(SizeComparisonTest, WithAnotherConstantGridsAreWhatTheLaunchesSay) {
  const std::string by_block =
      "__global__ void twice(const float* x, float* out, int n) {\n"
      "  int i = blockIdx.x * 128 + threadIdx.x;\n"
      "  if (i < n) out[i] = 2 * x[i];\n"
      "}\n";
  EXPECT_TRUE(pool_->compile_own(kGuarded).ok());
  mep_.launches = {site("(count + B - 1) / B", "B")};
  mep_.constants = {{"B", 128}};
  uint32_t count = 1000;
  mep_.instances[0].arguments.resize(24);
  std::memcpy(mep_.instances[0].arguments.data() + 16, &count, sizeof count);
  mep_.instances[0].parameters = {{0, 8}, {8, 8}, {16, 4}};
  SizeComparison as_it_is(mep_, *pool_, kGuarded);
  Candidate candidate;
  candidate.source = by_block;
  EXPECT_EQ(as_it_is.answer(candidate).kind, Kind::Proven);
  Mep other = mep_;
  other.constants["B"] = 256, other.instances[0].geometry.block.x = 256;  // And 4 blocks, not the 8 of the recording.
  SizeComparison twice_as_wide(as_it_is, other, *pool_, kGuarded);
  EXPECT_NE(twice_as_wide.answer(candidate).kind, Kind::Proven) << "it leaves out half of the elements";
  candidate.source = std::string(kGuarded) + "// changed\n";
  EXPECT_EQ(twice_as_wide.answer(candidate).kind, Kind::Proven);
}

TEST_F(SizeComparisonTest, AnotherInstanceOfTheTemplateIsComparedByItsName) {
  auto text = [](int block) {
    return "template <int B> __global__ void twice(const float* x, float* out, int n) {\n"
           "  int i = blockIdx.x * B + threadIdx.x;\n"
           "  if (i < n) out[i] = 2 * x[i];\n"
           "}\nconstexpr int twice_B = " +
           std::to_string(block) +
           ";\n"
           "template __global__ void ::twice<twice_B>(const float *, float *, int);\n";
  };
  mep_.kernel_name = "twice<128>", mep_.kernel_mangled = "_Z5twiceILi128EEvPKfPfi";
  EXPECT_TRUE(pool_->compile_own(text(128)).ok());
  SizeComparison comparison(mep_, *pool_, text(128));
  Candidate candidate;
  candidate.source = text(64);
  candidate.launches = {CandidateLaunch::as_recorded("twice<64>")};
  candidate.launches[0].grid[0] = "ceil_div(gx * 128, 64)"_e, candidate.launches[0].block[0] = "64"_e;
  auto answer = comparison.answer(candidate);
  EXPECT_EQ(answer.kind, Kind::Proven) << answer.why;
  candidate.launches[0].block[0] = "128"_e;
  EXPECT_NE(comparison.answer(candidate).kind, Kind::Proven) << "blocks overlap";
  candidate.launches[0] = CandidateLaunch::as_recorded("thrice<64>");
  EXPECT_EQ(comparison.answer(candidate).kind, Kind::NotKnown);
}

TEST_F(SizeComparisonTest, InstancesInOneTextAreNotTakenForEachOther) {
  const std::string text =
      "template <int B> __global__ void twice(const float* x, float* out, int n) {\n"
      "  int i = blockIdx.x * B + threadIdx.x;\n"
      "  if (i < n) out[i] = 2 * x[i];\n"
      "}\n"
      "template __global__ void ::twice<128>(const float *, float *, int);\n"
      "template __global__ void ::twice<256>(const float *, float *, int);\n";
  mep_.kernel_name = "twice<128>", mep_.kernel_mangled = "_Z5twiceILi128EEvPKfPfi";
  EXPECT_TRUE(pool_->compile_own(text).ok());
  SizeComparison comparison(mep_, *pool_, text);
  Candidate candidate;
  candidate.source = text;
  candidate.launches = {CandidateLaunch::as_recorded("twice<128>")};
  ASSERT_EQ(comparison.answer(candidate).kind, Kind::Proven);
  candidate.launches = {CandidateLaunch::as_recorded("twice<256>")};
  EXPECT_NE(comparison.answer(candidate).kind, Kind::Proven) << "half of the elements are left out";
}

TEST_F(SizeComparisonTest, AnyNumberOfTextsIsModelledAndTheLastOnesAreKept) {
  EXPECT_TRUE(pool_->compile_own(kGuarded).ok());
  KernelModels models(*pool_);
  auto first = models.of(kGuarded, mep_.kernel_mangled, {128, 1, 1});
  ASSERT_TRUE(first.ok());
  for (unsigned block = 1; block <= KernelModels::kMostKept + 2; ++block) {
    EXPECT_TRUE(models.of(kGuarded, mep_.kernel_mangled, {block, 1, 1}).ok());
    EXPECT_EQ(models.of(kGuarded, mep_.kernel_mangled, {128, 1, 1})->get(), first->get()) << "used again and again";
  }
  EXPECT_EQ(models.kept(), KernelModels::kMostKept);
}

TEST_F(SizeComparisonTest, ASizeInAStructureIsSpelledAsTheSourceDoes) {
  const char* source =
      "struct View { const float* x; float* out; int n; };\n"
      "__global__ void twice(View v) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  v.out[i] = 2 * v.x[i];\n"
      "}\n";
  ASSERT_TRUE(pool_->compile_own(source).ok());
  mep_.kernel_mangled = "_Z5twice4View";
  mep_.parameters = {{"v", "View", "", false, "", "View"}};
  mep_.launches = {site("(view.n + 127) / 128", "128", {"view"})};
  auto& instance = mep_.instances[0];
  instance.parameters = {{0, 24}}, instance.arguments.resize(24);
  for (int n : {1024, 1152}) {
    std::memcpy(&instance.arguments[16], &n, sizeof n);
    instance.geometry.grid.x = static_cast<uint32_t>(n / 128);
    SizeComparison comparison(mep_, *pool_, source);
    Candidate candidate;
    candidate.source = source;
    candidate.launches = {CandidateLaunch::as_recorded("twice")};
    candidate.launches[0].grid[0] = "ceil_div(gx * 128, 1024)"_e, candidate.launches[0].block[0] = "1024"_e;
    Verdict verdict;
    verdict.outcome = Outcome::Ok;
    auto judged = std::get<Verdict>(comparison.judged(verdict, candidate));
    if (n == 1152) {
      EXPECT_EQ(judged.outcome, Outcome::Wrong) << "the recorded launch does not fulfil the premise";
      EXPECT_NE(judged.detail.find("its condition "), std::string::npos) << judged.detail;
      continue;
    }
    ASSERT_TRUE(judged.other_sizes && judged.other_sizes->premise) << judged.detail;
    EXPECT_EQ(judged.other_sizes->premise->variables(), std::set<std::string>{"v.n"});
    for (int64_t size : {1, 128, 896, 897, 1024, 1100, 1152, 2048})
      EXPECT_EQ(*judged.other_sizes->premise->evaluate({{"v.n", size}}) != 0, (size + 127) / 128 % 8 == 0) << size;
    EXPECT_NE(judged.other_sizes->why.find("v.x["), std::string::npos) << judged.other_sizes->why;
  }
}

TEST_F(SizeComparisonTest, AKernelWithoutAGuardIsRightWhereTheLastLargerBlockIsFull) {
  auto answer = with_block(kWholeBlocks, 256);
  ASSERT_EQ(answer.kind, Kind::UnderPremise) << answer.why;
  for (int64_t n = 1; n < 1500; ++n) {
    auto holds = answer.premise->evaluate({{"arg.a2", n}});
    ASSERT_TRUE(holds.ok());
    const int64_t threads = (n + 127) / 128 * 128, more = (threads + 255) / 256 * 256;
    EXPECT_EQ(*holds != 0, threads == more) << n;
  }
  EXPECT_TRUE(answer.why.starts_with("n = 1: thread 128 of block 0 ")) << answer.why;
}

TEST_F(SizeComparisonTest, AVerdictSpellsThePremiseByTheKernelsParameters) {
  EXPECT_TRUE(pool_->compile_own(kWholeBlocks).ok());
  SizeComparison comparison(mep_, *pool_, kWholeBlocks);
  Candidate candidate;
  candidate.source = kWholeBlocks, candidate.launches = {CandidateLaunch::as_recorded("twice")};
  candidate.launches[0].grid[0] = "ceil_div(gx, 2)"_e, candidate.launches[0].block[0] = "256"_e;
  auto evaluation = comparison.judged(Verdict{}, candidate);
  auto& sizes = std::get<Verdict>(evaluation).other_sizes;
  ASSERT_TRUE(sizes && sizes->premise);
  EXPECT_EQ(sizes->premise->variables(), std::set<std::string>{"n"}) << sizes->premise->text();
  EXPECT_EQ(sizes->assumptions, std::vector<Premise>{Premise::no_overlap({"x", "out"})});
  EXPECT_NE(sizes->text().find(", assuming that out and x do not overlap"), std::string::npos) << sizes->text();
}

/// Models read the bits of an unsigned number as a signed one; a verdict is about the number.
TEST_F(SizeComparisonTest, AnUnsignedNumberIsAskedForItsHighestBit) {
  auto of = [&](const std::string& type, const std::string& mangled, const std::string& member, uint64_t recorded) {
    const std::string parameter = member.empty() ? type + " flags" : "View v", flags = member.empty() ? "flags" : "v.m";
    const std::string bit = std::to_string(type == "unsigned int" ? 31 : type == "unsigned char" ? 7 : 63);
    const std::string source = "struct View { " + type +
                               " m; };\n"
                               "__global__ void twice(const float* x, float* out, " +
                               parameter +
                               ", int n) {\n"
                               "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                               "  if (i >= n) return;\n"
                               "  out[i] = 2 * x[i];\n"
                               "  if (" +
                               flags + " >> " + bit + " & 1) out[n + i] = x[i];\n}\n";
    std::string dropped = source;
    dropped.erase(dropped.find("  if (" + flags), dropped.rfind('}') - dropped.find("  if (" + flags));
    EXPECT_TRUE(pool_->compile_own(source).ok());
    mep_.kernel_mangled = "_Z5twicePKfPf" + mangled + "i";
    mep_.parameters[2] = {"flags", type, "", false, type};
    if (!member.empty()) mep_.parameters[2] = {"v", "View", "", false, "", "View"};
    mep_.parameters.resize(4), mep_.parameters[3] = {"n", "int", "", false, "int"};
    mep_.launches = {site("(count + 127) / 128", "128", {"a", "b", "c", "count"})};
    auto& instance = mep_.instances[0];
    const uint32_t bytes = type == "unsigned char" ? 1 : type == "unsigned int" ? 4 : 8;
    instance.parameters = {{0, 8}, {8, 8}, {16, bytes}, {24, 4}}, instance.arguments.assign(28, {});
    std::memcpy(&instance.arguments[16], &recorded, bytes);
    const int32_t count = 1024;
    std::memcpy(&instance.arguments[24], &count, sizeof count);
    SizeComparison comparison(mep_, *pool_, source);
    Candidate candidate;
    candidate.source = dropped;
    auto judged = std::get<Verdict>(comparison.judged(Verdict{}, candidate));
    auto& sizes = *judged.other_sizes;
    EXPECT_EQ(sizes.why.find("= -"), sizes.why.npos) << sizes.why;
    return sizes.premise ? sizes.premise->text() : judged.outcome == Outcome::Ok ? sizes.text() : judged.detail;
  };
  EXPECT_EQ(of("unsigned char", "h", "", 1), "flags < 128");
  EXPECT_EQ(of("unsigned long", "m", "", 1), "flags <= 9223372036854775807");
  EXPECT_EQ(of("unsigned int", "4View", "m", 1), "v.m < 2147483648");
  EXPECT_NE(of("unsigned int", "j", "", 1u << 31).find("flags < 2147483648 holds for no recorded launch"),
            std::string::npos)
      << "as recorded it has that bit";
}

TEST_F(SizeComparisonTest, ALaunchThatGivesOneMemoryTwiceIsNoneForWhichItIsProven) {
  EXPECT_EQ(with_block(kGuarded, 256).kind, Kind::Proven);
  auto& launch = mep_.launches.front();
  const auto spelled = launch.argument_text;
  launch.argument_text[1] = launch.argument_text[0];
  auto answer = with_block(kGuarded, 256);
  EXPECT_EQ(answer.kind, Kind::NotKnown);
  EXPECT_NE(answer.why.find("gives one memory for x and out"), std::string::npos) << answer.why;
  launch.argument_text = spelled, launch.one_memory = {{0, 1}};
  EXPECT_EQ(with_block(kGuarded, 256).kind, Kind::NotKnown) << "by a caller's text";
  launch.one_memory.clear();
  launch.argument_text[0] = "buffers[to]", launch.argument_text[1] = "buffers[0]";
  EXPECT_EQ(with_block(kGuarded, 256).kind, Kind::NotKnown) << "elements that may be one";
  launch.argument_text[0] = "buffers[1]";
  EXPECT_EQ(with_block(kGuarded, 256).kind, Kind::Proven);
  launch.one_memory = {{0, 1}};
  launch.argument_text[0] = "pool", launch.argument_text[1] = "pool + count";
  answer = with_block(kGuarded, 256);
  EXPECT_EQ(answer.kind, Kind::Proven) << "places of one object: " << answer.why;
  EXPECT_FALSE(answer.assumptions.empty()) << "that they do not overlap";
}

TEST_F(SizeComparisonTest, ACandidateThatLosesItsGuardIsWrongOrAsksForSizes) {
  EXPECT_TRUE(pool_->compile_own(kGuarded).ok());
  SizeComparison comparison(mep_, *pool_, kGuarded);
  Candidate candidate;
  candidate.source = kWholeBlocks;
  auto answer = comparison.answer(candidate);
  ASSERT_EQ(answer.kind, Kind::UnderPremise) << answer.why;
  EXPECT_EQ(answer.premise->text(), "arg.a2 % 128 == 0");
}

TEST_F(SizeComparisonTest, ACandidateWhoseConditionNoRecordedLaunchFulfilsIsWrong) {
  for (int32_t n : {1000, 1024}) {
    auto& instance = mep_.instances[0];
    instance.arguments.assign(20, {}), instance.parameters = {{0, 8}, {8, 8}, {16, 4}};
    std::memcpy(&instance.arguments[16], &n, sizeof n);
    EXPECT_TRUE(pool_->compile_own(kGuarded).ok());
    Candidate candidate;
    candidate.source = kWholeBlocks;
    auto answer = SizeComparison(mep_, *pool_, kGuarded).answer(candidate);
    EXPECT_EQ(answer.kind, n == 1000 ? Kind::Refuted : Kind::UnderPremise) << answer.why;
    if (n == 1000)
      EXPECT_NE(answer.why.find("n % 128 == 0 holds for no recorded launch"), answer.why.npos) << answer.why;
  }
}

TEST_F(SizeComparisonTest, EveryLaunchSiteCounts) {
  EXPECT_EQ(with_block(kGuarded, 256).kind, Kind::Proven);
  // The first blocks of a longer array: more threads than there were pass the guard.
  mep_.launches.push_back(site("(count + 127) / 128 - 1", "128"));
  auto answer = with_block(kGuarded, 256);
  ASSERT_EQ(answer.kind, Kind::UnderPremise) << answer.why;
  for (int64_t n = 129; n < 1500; ++n) {
    auto holds = answer.premise->evaluate({{"arg.a2", n}});
    const int64_t threads = ((n + 127) / 128 - 1) * 128;
    if (holds.ok() && *holds != 0) EXPECT_EQ(std::min(n, (threads + 255) / 256 * 256), threads) << n;
  }
}

TEST_F(SizeComparisonTest, IsOfRecordedBlocksAloneWhichALaunchThatMayHaveAnotherHasToAsk) {
  mep_.launches.push_back(site("n / 64", "64", {"x", "out", "n"}));
  auto answer = with_block(kGuarded, 256);
  ASSERT_EQ(answer.kind, Kind::UnderPremise) << answer.why;
  EXPECT_EQ(answer.premise->text(), "blockDim.x == 128");
  EXPECT_EQ(answer.why, "launches with other blocks were not compared");
  EXPECT_FALSE(answer.wrong_elsewhere);
  auto rewritten = with_block(kWholeBlocks, 256);
  ASSERT_EQ(rewritten.kind, Kind::UnderPremise) << rewritten.why;
  EXPECT_NE(rewritten.premise->text().find("blockDim.x == 128 && "), std::string::npos) << rewritten.premise->text();
  Candidate same;
  same.source = kGuarded;
  EXPECT_EQ(SizeComparison(mep_, *pool_, kGuarded).answer(same).kind, Kind::Proven) << "it changes nothing";
}

TEST_F(SizeComparisonTest, SharedMemoryOfItsOwnHasToFitBesideWhatALaunchAsksFor) {
  const std::string original =
      "__global__ void twice(const float* x, float* out, int n) {\n"
      "  extern __shared__ float row[];\n"
      "  for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = x[i];\n"
      "  __syncthreads();\n"
      "  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = row[i] * 2;\n"
      "}\n";
  std::string more = original;
  more.replace(more.find("  for"), 0, "  __shared__ float kept[1024];\n  kept[threadIdx.x] = 0;\n");
  auto answer = [&](const char* bytes) {
    mep_.launches = {site("1", "128")};
    mep_.launches[0].shared_range = {"app.cu", 10, 20, 7, 7};
    if (*bytes) mep_.launches[0].shared = expression_of(bytes);
    EXPECT_TRUE(pool_->compile_own(original).ok());
    SizeComparison comparison(mep_, *pool_, original);
    Candidate candidate;
    candidate.source = more;
    return comparison.answer(candidate);
  };
  mep_.instances[0].geometry = {{1, 1, 1}, {128, 1, 1}, 4000, false};
  const auto asked = answer("count * 4");
  ASSERT_EQ(asked.kind, Kind::UnderPremise) << asked.why;
  EXPECT_EQ(*asked.premise->evaluate({{"arg.a2", 11264}}), 1);
  EXPECT_EQ(*asked.premise->evaluate({{"arg.a2", 11265}}), 0) << "45060 and 4096 bytes are more than 48 KiB";
  EXPECT_EQ(answer("4000").kind, Kind::Proven) << "as recorded, always";
  const auto unknown = answer("");
  EXPECT_EQ(unknown.kind, Kind::NotKnown);
  EXPECT_NE(unknown.why.find("whether its 4096 bytes of shared memory fit beside"), unknown.why.npos) << unknown.why;
}

TEST_F(SizeComparisonTest, NothingIsProvenForLaunchesThatNobodySaw) {
  mep_.unseen_launches = "its address is taken at src/k.cu:9";
  auto answer = with_block(kGuarded, 256);
  EXPECT_EQ(answer.kind, Kind::NotKnown);
  EXPECT_EQ(answer.why, "there may be other launches: its address is taken at src/k.cu:9");
}

TEST_F(SizeComparisonTest, IsOfTheRecordedBlockAloneWhereNoLaunchIsKnown) {
  mep_.launches.clear();
  EXPECT_TRUE(pool_->compile_own(kGuarded).ok());
  SizeComparison comparison(mep_, *pool_, kGuarded);
  Candidate candidate;
  candidate.source = std::string(kGuarded) + "// again\n__device__ int unused;\n";
  const auto answer = comparison.answer(candidate);
  ASSERT_EQ(answer.kind, Kind::UnderPremise) << answer.why;
  EXPECT_EQ(answer.premise->text(), "blockDim.x == 128 && blockDim.y == 1 && blockDim.z == 1");
}

TEST_F(SizeComparisonTest, WhereAGridIsNotKnownItsBlockStays) {
  mep_.launches.push_back(site("half", "128"));
  auto answer = with_block(kWholeBlocks, 256);
  EXPECT_TRUE(answer.kind == Kind::Refuted || answer.kind == Kind::UnderPremise) << answer.why;
  EXPECT_NE(with_block(kGuarded, 256).kind, Kind::Proven);
}

TEST_F(SizeComparisonTest, ATextIsNotRefutedByAGridThatMayNeverBeLaunched) {
  mep_.launches = {site("half", "128")};
  EXPECT_TRUE(pool_->compile_own(kGuarded).ok());
  SizeComparison comparison(mep_, *pool_, kGuarded);
  Candidate candidate;
  candidate.source = kWholeBlocks;
  auto answer = comparison.answer(candidate);
  EXPECT_TRUE(answer.kind == Kind::NotKnown || answer.kind == Kind::UnderPremise) << answer.why;
}

TEST_F(SizeComparisonTest, AGridThatIsNotWhatWasRecordedIsNotKnown) {
  auto& instance = mep_.instances[0];
  instance.arguments.assign(20, {}), instance.parameters = {{0, 8}, {8, 8}, {16, 4}};
  auto proven_with = [&](int32_t n) {
    std::memcpy(&instance.arguments[16], &n, sizeof n);
    return with_block(kGuarded, 256).kind == Kind::Proven;
  };
  EXPECT_TRUE(proven_with(1000));
  EXPECT_FALSE(proven_with(500)) << "`count` had another value when the grid of 8 blocks was computed";
  mep_.launches.push_back(site("(2 * count + 127) / 128", "128"));
  const auto answer = with_block(kGuarded, 256);
  EXPECT_EQ(answer.why.find("how many blocks"), answer.why.npos) << "another launch explains it: " << answer.why;
}

TEST_F(SizeComparisonTest, AGridOfSinglePrecisionIsKnownUpToTheNumbersThatItHolds) {
  auto& launch = mep_.launches[0];
  launch.grid_where = {"count >= 0"_e, "count <= 16777216"_e};
  const auto other_block = with_block(kGuarded, 256);
  ASSERT_EQ(other_block.kind, Kind::UnderPremise) << other_block.why;
  EXPECT_EQ(other_block.premise->text(), "arg.a2 <= 16777216");
  EXPECT_FALSE(other_block.wrong_elsewhere);
  SizeComparison comparison(mep_, *pool_, kGuarded);
  Candidate text;
  text.source = kGuarded + std::string("// Another text.\n");
  EXPECT_EQ(comparison.answer(text).kind, Kind::Proven) << "for any number of blocks";
  launch.grid_where = {"elsewhere <= 16777216"_e};
  const auto unknown = with_block(kGuarded, 256);
  ASSERT_EQ(unknown.kind, Kind::UnderPremise) << unknown.why;
  EXPECT_EQ(unknown.premise->text(), "arg.a2 <= 128") << "what the kernel is not given bounds nothing";
}

TEST_F(SizeComparisonTest, APointerToNumbersIsTakenToLeadToOne) {
  const std::string head =
      "__global__ void twice(const float* x, float* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n";
  const std::string original = head + "  if (n > 64 && i < n) out[i] = 2 * x[i];\n}\n";
  EXPECT_TRUE(pool_->compile_own(original).ok());
  SizeComparison comparison(mep_, *pool_, original);
  Candidate candidate;
  candidate.source = head + "  if (i < n) out[i] = 2 * x[i];\n}\n";
  const auto answer = comparison.answer(candidate);
  ASSERT_EQ(answer.kind, Kind::UnderPremise) << answer.why;
  for (auto& assumption : answer.assumptions)
    EXPECT_EQ(assumption.kind, legality::Assumption::Kind::DifferentMemory) << assumption.bytes;
}

TEST_F(SizeComparisonTest, APremiseIsAskedEvenWhereMemoryThatIsGivenTwiceLeavesTheRestUnknown) {
  mep_.launches.front().one_memory = {{0, 1}};
  EXPECT_TRUE(pool_->compile_own(kGuarded).ok());
  SizeComparison comparison(mep_, *pool_, kGuarded);
  Candidate candidate;
  candidate.source = kWholeBlocks;
  const auto answer = comparison.answer(candidate);
  EXPECT_EQ(answer.kind, Kind::NotKnown) << answer.why;
  ASSERT_TRUE(answer.premise);
  EXPECT_EQ(answer.premise->text(), "arg.a2 % 128 == 0");
}

TEST_F(SizeComparisonTest, AnArgumentOfAPackIsNoOtherOfItsArguments) {
  auto& launch = mep_.launches.front();
  launch.argument_text[0] = launch.argument_text[1] = "std::forward<A>(a)...";
  EXPECT_EQ(with_block(kGuarded, 256).why.find("gives one memory"), std::string::npos);
}

TEST_F(SizeComparisonTest, WhatIsPassedAsAWholeIsThatArgumentWhateverItIsComputedFrom) {
  mep_.launches = {site("(rows * columns + threads - 1) / threads", "threads", {"a", "b", "rows * columns"})};
  const auto understood = with_block(kGuarded, 256);
  ASSERT_EQ(understood.kind, Kind::UnderPremise) << understood.why;
  EXPECT_EQ(understood.premise->text(), "blockDim.x == 128");
  mep_.launches = {site("(rows * columns + threads - 1) / threads", "threads", {"a", "b", "rows"})};
  EXPECT_NE(with_block(kGuarded, 256).kind, Kind::Proven) << "it is not the argument";
  mep_.launches = {site("(arg.a2 + 127) / 128", "128", {"a", "b", "rows"})};
  EXPECT_NE(with_block(kGuarded, 256).kind, Kind::Proven) << "it is the host's own";
}

TEST_F(SizeComparisonTest, AConditionThatNoRecordedLaunchFulfilsProvesNothingOfUnknownGrids) {
  mep_.launches = {site("half", "128")};
  auto& instance = mep_.instances[0];
  const int32_t n = 1000;
  instance.arguments.assign(20, {}), instance.parameters = {{0, 8}, {8, 8}, {16, 4}};
  std::memcpy(&instance.arguments[16], &n, sizeof n);
  EXPECT_TRUE(pool_->compile_own(kGuarded).ok());
  Candidate candidate;
  candidate.source =
      "__global__ void twice(const float* x, float* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n || i == 700) out[i] = 2 * x[i];\n"
      "}\n";
  SizeComparison comparison(mep_, *pool_, kGuarded);
  auto answer = comparison.answer(candidate);
  EXPECT_EQ(answer.kind, Kind::UnderPremise) << answer.why;
  candidate.source =
      "__global__ void twice(const float* x, float* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n && n < 100) out[i] = 2 * x[i];\n"
      "}\n";
  answer = comparison.answer(candidate);
  EXPECT_EQ(answer.kind, Kind::NotKnown) << answer.why;
  EXPECT_NE(answer.why.find("holds for no recorded launch"), answer.why.npos) << answer.why;
  EXPECT_FALSE(answer.premise) << "no guard is made of it";
}

TEST_F(SizeComparisonTest, LaunchesOfKernelsThatShareTheTextCount) {
  mep_.sibling_launches.push_back(site("(count + 127) / 128 - 1", "128"));
  EXPECT_EQ(with_block(kGuarded, 256).kind, Kind::UnderPremise);
}

TEST_F(SizeComparisonTest, AnotherBlockOfIndependentThreadsGivesTheSameValues) {
  EXPECT_TRUE(with_block(kGuarded, 256).same_values);
  const char* of_block =
      "__global__ void twice(const float* x, float* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) out[i] = x[i] * blockDim.x;\n"
      "}\n";
  EXPECT_FALSE(with_block(of_block, 256).same_values);
}

TEST_F(SizeComparisonTest, HowOftenALoopIsUnrolledChangesNothing) {
  const std::string begin = "__global__ void twice(const float* x, float* out, int n) {\n",
                    loop = "  for (int i = 0; i < n; ++i) out[(int)x[i]] += x[(int)out[i]];\n}\n";
  EXPECT_TRUE(pool_->compile_own(begin + loop).ok());
  SizeComparison comparison(mep_, *pool_, begin + loop);
  Candidate candidate;
  candidate.source = begin + "  // Four at a time.\n  #pragma unroll 4\n" + loop;
  auto answer = comparison.answer(candidate);
  EXPECT_EQ(answer.kind, Kind::Proven) << answer.why;
  EXPECT_TRUE(answer.same_values);
  EXPECT_TRUE(answer.assumptions.empty()) << "whatever it touches";
  candidate.source = begin + "  #pragma unroll 4\n  ++n;\n" + loop;
  EXPECT_FALSE(comparison.answer(candidate).same_values);
  candidate.source = begin + "  #pragma clang fp reassociate(on)\n" + loop;
  EXPECT_FALSE(comparison.answer(candidate).kind == Kind::Proven && comparison.answer(candidate).assumptions.empty());
}

TEST_F(SizeComparisonTest, StepsAndMemoryOfACandidatesOwnAreNotKnown) {
  SizeComparison comparison(mep_, *pool_, kGuarded);
  Candidate steps, memory;
  steps.source = memory.source = kGuarded;
  steps.launches.resize(2), memory.scratch.resize(1);
  EXPECT_EQ(comparison.answer(steps).kind, Kind::NotKnown);
  EXPECT_EQ(comparison.answer(memory).kind, Kind::NotKnown);
}

TEST_F(SizeComparisonTest, ASourceThatDoesNotCompileIsNotKnownWithTheCompilersWords) {
  EXPECT_TRUE(pool_->compile_own(kGuarded).ok());
  SizeComparison comparison(mep_, *pool_, kGuarded);
  Candidate candidate;
  candidate.source = "__global__ void twice(const float* x, float* out, int n) { nothing(); }\n";
  auto answer = comparison.answer(candidate);
  EXPECT_EQ(answer.kind, Kind::NotKnown);
  EXPECT_NE(answer.why.find("nothing"), std::string::npos) << answer.why;
}

}  // namespace
}  // namespace kernelift::sandbox
