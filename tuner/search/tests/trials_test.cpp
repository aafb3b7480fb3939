// Tests of recorded trials and of simulation; published trials are used if they are beside the checkout.
#include "tuner/search/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "core/base/file.h"
#include "tuner/search/simulation.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

const char* const kCachefile = R"({"device_name": "D", "kernel_name": "k", "tune_params_keys": ["a", "mode"],
  "tune_params": {"a": [1, 2], "mode": ["x", "y"]}, "objective": "time", "cache": {
  "1,x": {"a": 1, "mode": "x", "time": 4.0}, "2,x": {"a": 2, "mode": "x", "time": 2.0},
  "2,y": {"a": 2, "mode": "y", "time": "RuntimeFailedConfig"}}})";
const char* const kT4 = R"({"results": [
  {"configuration": {"a": 1}, "invalidity": "correct", "measurements": [{"name": "time", "value": 3.0}], "objectives": ["time"]},
  {"configuration": {"a": 2}, "invalidity": "runtime", "measurements": [{"name": "time", "value": "X"}], "objectives": ["time"]}],
  "schema_version": "1.0.0"})";

TEST(Trials, ReadACachefile) {
  auto trials = parse_trials(kCachefile, "c.json");
  ASSERT_TRUE(trials.ok()) << trials.error().message;
  EXPECT_EQ(trials->space.count(), 3);
  EXPECT_EQ(trials->failures, 1u);
  EXPECT_EQ(trials->optimum, 2.0);
  EXPECT_EQ(trials->device, "D");
}

TEST(Trials, ReadT4Results) {
  auto trials = parse_trials(kT4, "t4.json");
  ASSERT_TRUE(trials.ok()) << trials.error().message;
  EXPECT_EQ(trials->optimum, 3.0);
  EXPECT_EQ(trials->failures, 1u);
}

TEST(Trials, KeepTheBestOfEqualRows) {
  const char* const kTwice = R"({"results": [
    {"configuration": {"a": 1}, "invalidity": "correct", "measurements": [{"name": "time", "value": 3.0}], "objectives": ["time"]},
    {"configuration": {"a": 1}, "invalidity": "correct", "measurements": [{"name": "time", "value": 2.0}], "objectives": ["time"]},
    {"configuration": {"a": 1}, "invalidity": "runtime", "measurements": [{"name": "time", "value": "X"}], "objectives": ["time"]}]})";
  auto trials = parse_trials(kTwice, "t4.json");
  ASSERT_TRUE(trials.ok()) << trials.error().message;
  ASSERT_EQ(trials->results.size(), 1u);
  EXPECT_EQ(trials->results.begin()->second.cost, trials->optimum);
}

TEST(Trials, ReportTruncationsAndFlippedBits) {
  const std::string text = kCachefile;
  for (size_t cut = 0; cut < text.size(); ++cut) {
    auto trials = parse_trials(text.substr(0, cut), "cut");
    ASSERT_FALSE(trials.ok()) << cut;
    EXPECT_THAT(trials.error().message, HasSubstr("cut"));
  }
  int reported = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string flipped = text;
    flipped[at] ^= 1 << (at % 7);
    auto trials = parse_trials(flipped, "flipped");
    // A flip inside a name or a number gives other trials.
    if (trials.ok()) EXPECT_LE(trials->results.size(), 3u) << at;
    else EXPECT_THAT(trials.error().message, HasSubstr("flipped"));
    reported += !trials.ok();
  }
  EXPECT_GT(reported, static_cast<int>(text.size()) / 4);
}

TEST(Trials, ReportADamagedGzipInOneSentence) {
  auto folder = *TemporaryFolder::create("trials");
  auto file = folder.path() / "x.json.gz";
  ASSERT_TRUE(write_atomically(file, std::string_view("\x1f\x8b\x08garbage")).ok());
  auto trials = read_trials(file);
  ASSERT_FALSE(trials.ok());
  EXPECT_THAT(trials.error().message, HasSubstr("damaged gzip"));
}

TEST(Simulation, AFullBudgetFindsTheOptimum) {
  auto trials = parse_trials(kCachefile, "c.json");
  auto curve = simulate(*trials, "random", 3, 4);
  EXPECT_EQ(curve->quantile(3, 0), 1.0);
}

TEST(Simulation, ModelBasedSearchBeatsRandomSearchOnPublishedTrials) {
  auto file = std::filesystem::path(KERNELIFT_SOURCE_DIR) / "../shared/trials/convolution_milo_A4000.json.gz";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no published trials beside the checkout";
  auto trials = read_trials(file);
  ASSERT_TRUE(trials.ok()) << trials.error().message;
  EXPECT_EQ(trials->results.size(), 4362u);
  double random = simulate(*trials, "random", 60, 6)->mean(60);
  EXPECT_GT(simulate(*trials, "bayesian", 60, 6)->mean(60), random);
  EXPECT_GT(simulate(*trials, "portfolio", 60, 6)->mean(60), random);
}

TEST(Simulation, InheritingOneOtherGpuIsAheadOnPublishedTrials) {
  auto folder = std::filesystem::path(KERNELIFT_SOURCE_DIR) / "../shared/trials";
  if (!std::filesystem::exists(folder / "convolution_milo_A4000.json.gz"))
    GTEST_SKIP() << "no published trials beside the checkout";
  auto trials = read_trials(folder / "convolution_milo_A6000.json.gz"),
       other = read_trials(folder / "convolution_milo_A4000.json.gz");
  ASSERT_TRUE(trials.ok() && other.ok());
  std::vector<std::string> notes;
  // This run has not found its own GPU's best hill after 100 evaluations, and would leave others the wrong one.
  auto prior =
      std::make_shared<const Prior>(Prior::of(trials->space, {*earlier_run(*other, "A4000", "portfolio", 200)}, notes));
  EXPECT_GE(simulate(*trials, "portfolio", 25, 3, 1, {prior, {}})->mean(25), 0.95);
}

}  // namespace
}  // namespace kernelift::tuner
