// Candidates for a GPU whose sums round otherwise than the original's: real compilers, a fake GPU, and field runs on
// this machine's processor. What an image computes there, and how long that takes, is in it as the name of a variable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/device/fake/fake_device.h"
#include "sandbox/evaluate/cuda/cuda_evaluator.h"
#include "sandbox/evaluate/tests/sums_mep.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNotHeld = "not held to the error bounds of the original's sums";

/// The kernel with a variable that says what it computes and how many microseconds it takes.
std::string marked(const std::string& body, const std::string& how, int microseconds) {
  const std::string mark = "sums_" + how + "_in_" + std::to_string(10000 + microseconds);
  return sums_source("  if (n == -1) " + mark + " = i;\n" + body, 64, "__device__ int " + mark + ";\n");
}

void sum(const FakeCall& call, const std::string& how) {
  const auto* in = reinterpret_cast<const float*>(call.argument<uint64_t>(0));
  auto* out = reinterpret_cast<float*>(call.argument<uint64_t>(8));
  constexpr int kTerms = 64;
  for (int i = 0; i < call.argument<int>(16); ++i) {
    const float* row = in + i * kTerms;
    float a = 0, b = 0;
    if (how == "in_order")
      for (int j = 0; j < kTerms; ++j) a += row[j];
    else
      for (int j = 0; j < kTerms / 2; ++j) a += row[j], b += how == "lost" && j == 23 ? 0 : row[kTerms - 1 - j];
    out[i] = how == "far" ? a + b + 0.25f : a + b;
  }
}

std::optional<FakeImage> compiled_image(std::string_view image) {
  for (std::string how : {"in_order", "by_halves", "lost", "far"}) {
    const size_t at = image.find("sums_" + how + "_in_");
    if (at == image.npos) continue;
    const int microseconds = std::atoi(std::string(image.substr(at + how.size() + 9, 5)).c_str()) - 10000;
    FakeImage made;
    made.kernels["_Z4sumsPKfPfi"] = {[=](const FakeCall& call) {
                                       sum(call, how);
                                       return FakeRun{microseconds * 1e-6};
                                     },
                                     {{0, 8}, {8, 8}, {16, 4}}};
    return made;
  }
  return std::nullopt;
}

class SumsOnGpu : public ::testing::Test {
 protected:
  void start(const std::string& original) {
    fixture_.emplace(sums_mep(original));
    // The application's compiler is not asked: it would take most of the time.
    const auto nvcc = fixture_->path() / "nvcc";
    ASSERT_TRUE(write_atomically(nvcc, "#!/bin/sh\nexit 1\n").ok());
    std::filesystem::permissions(nvcc, std::filesystem::perms::owner_all);
    fixture_->mep.compile_command = {nvcc.string(), "-c", "sums.cu"};
    EvaluatorOptions how;
    how.device = "cuda", how.compile_workers = 1, how.few_candidates = true;
    auto runners = [](const Mep& mep, const std::filesystem::path& folder, const RunnerSettings& settings) {
      auto open = [](int) -> Result<std::unique_ptr<Device>> {
        auto device = std::make_unique<FakeDevice>(std::map<std::string, FakeImage>{});
        device->unregistered = compiled_image;
        return std::unique_ptr<Device>(std::move(device));
      };
      return RunnerProcess::fork_server(mep, folder, settings, {open});
    };
    auto gpu = open_gpu("cuda", fixture_->mep, fixture_->path(), runner_settings(how), true, runners);
    ASSERT_TRUE(gpu.ok()) << gpu.error().message;
    auto made = CudaEvaluator::create(fixture_->mep, fixture_->path(), how, std::move(*gpu));
    ASSERT_TRUE(made.ok()) << made.error().message;
    evaluator_ = std::move(*made);
  }
  Verdict screened(const std::string& source) { return std::get<Verdict>(evaluator_->submit(of(source)).get()); }
  Verdict confirmed(const std::string& source) { return std::get<Verdict>(evaluator_->confirm(of(source))); }
  static Candidate of(const std::string& source) {
    Candidate made;
    made.source = source, made.tier = "source";
    return made;
  }
  std::optional<MepFixture> fixture_;
  std::unique_ptr<Evaluator> evaluator_;
  const std::string original_ = marked(kSumsInOrder, "in_order", 100);
};

TEST_F(SumsOnGpu, InAnotherOrderAreRightWithinTheErrorBoundsOfTheirLength) {
  start(original_);
  const std::string by_halves = marked(kSumsByHalves, "by_halves", 50);
  const Verdict one = screened(by_halves), finalist = confirmed(by_halves);
  for (auto& verdict : {one, finalist}) {
    ASSERT_TRUE(verdict.ok()) << verdict.text();
    EXPECT_NEAR(verdict.speedup(), 2, 1e-3);
    EXPECT_THAT(verdict.detail, HasSubstr("beyond the tolerance that is derived from the original"));
    EXPECT_THAT(verdict.detail, HasSubstr(kHeldToLength));
  }
  ASSERT_TRUE(finalist.field && finalist.sizes_run);
  EXPECT_EQ(finalist.field->found, FieldEquality::Found::Equal);
  EXPECT_THAT(finalist.sizes_run->text(), HasSubstr("right at ")) << "sums of other sizes have bounds of their own";
}

TEST_F(SumsOnGpu, WithALostTermAreRefusedThoughItIsSmallerThanTheErrorBound) {
  start(original_);
  const std::string lost = marked(kSumsWithALostTerm, "lost", 50);
  for (const Verdict& verdict : {screened(lost), confirmed(lost)}) {
    EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
    EXPECT_THAT(verdict.detail, HasSubstr(std::string(kNotHeld) + ": another formula than the original's"));
  }
}

TEST_F(SumsOnGpu, FurtherOffThanRoundingAllowsAreRefusedThoughTheirFormulaIsTheSame) {
  start(original_);
  const Verdict far = screened(marked(kSumsByHalves, "far", 50));
  EXPECT_EQ(far.outcome, Outcome::Wrong) << far.text();
  EXPECT_THAT(far.detail, HasSubstr("beyond the error bounds of the original's sums, too"));
}

TEST_F(SumsOnGpu, AreNotLookedAtAgainWhereTheyCannotBeTheFastest) {
  start(original_);
  const Verdict slow = screened(marked(kSumsByHalves, "by_halves", 500));
  EXPECT_EQ(slow.outcome, Outcome::Wrong) << slow.text();
  EXPECT_THAT(slow.detail, Not(HasSubstr("error bounds")));
}

TEST_F(SumsOnGpu, OfAnOriginalThatIsTooHeavyForThisProcessorAreRefusedWithThatReason) {
  start(marked("  for (volatile long k = 0; k < 4000000000000l && n > 0; k = k + 1) {}\n" + kSumsInOrder, "in_order",
               100));
  const Verdict heavy = screened(marked(kSumsByHalves, "by_halves", 50));
  EXPECT_EQ(heavy.outcome, Outcome::Wrong) << heavy.text();
  EXPECT_THAT(heavy.detail, HasSubstr(std::string(kNotHeld) + ": not asked: the original: "));
}

}  // namespace
}  // namespace kernelift::sandbox
