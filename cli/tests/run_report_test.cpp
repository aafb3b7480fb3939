// The data of the HTML report, collected from runs that the tests create.
#include "cli/report/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/model/mep.h"
#include "reintegrate/apply_report.h"
#include "tuner/store/run.h"

namespace kernelift::cli {
namespace {

using RunStore = tuner::Run;  // testing::Test has a private member called Run.
using testing::HasSubstr;

/// A run with three confirmed candidates: two sources, and a recipe that is faster than both.
class RunReport : public testing::Test {
 protected:
  RunReport() {
    tuner::RunMeta meta;
    meta.mep = mep_.string(), meta.kernel = "k", meta.device = "cpu", meta.tiers = {"source", "params"};
    RunStore run = std::move(*RunStore::create(file_, meta));
    record(run, "baseline", "as recorded", 1);
    record(run, "source", "unroll", 1.5);
    record(run, "source", "unroll_and_jam", 1.6);
    record(run, "compiler", "O1", 2.5);
  }
  void record(RunStore& run, const char* tier, const char* note, double speedup) {
    Candidate candidate;
    candidate.tier = tier, candidate.steps = {Step::described(note)}, candidate.source = note;
    if (candidate.tier == "compiler") candidate.recipe.level = "O1";
    Verdict verdict;
    verdict.stage = Stage::Time, verdict.device = "cpu: a test's";
    verdict.timings = {{"i0", 1, 1e-3, 1e-3 / speedup, speedup, speedup * 0.99, speedup * 1.01, 20, false}};
    auto id = run.record(candidate, verdict, {}, 1);
    EXPECT_TRUE(id.ok() && run.record_confirmation(*id, verdict).ok());
  }
  ReportData report(const Json& applied = nullptr) {
    if (applied.is_object()) EXPECT_TRUE(write_json(folder_.path() / "k-1.applied.json", applied).ok());
    auto data = gather_report(file_);
    EXPECT_TRUE(data.ok());
    return data.ok() ? *data : ReportData();
  }
  static Json applied(const char* outcome, const Json& candidate, const Json& passed_over = Json::array()) {
    return {{"outcome", outcome},
            {"why", "so it is"},
            {"candidate", candidate},
            {"predicted", {{"whole", 1.2}}},
            {"measured", {{"speedup", 1.25}}},
            {"notes", Json::array()},
            {"diff", "+x\n"},
            {"passed_over", passed_over},
            {"branch", "kernelift/k-1"}};
  }

  TemporaryFolder folder_ = *TemporaryFolder::create("run-report");
  std::filesystem::path file_ = folder_.path() / "k-1.klrun", mep_ = folder_.path() / "mep";  ///< There is no MEP.
};

TEST_F(RunReport, NeedsOnlyTheRunIfTheMepIsGone) {
  tuner::TunedKernel kernel;
  kernel.place = "src/k.cu:12", kernel.proof = "proven equal to the original";
  kernel.not_tried = {"block size: the launch does not round its grid up"};
  Geometry geometry{{16, 1, 1}, {64, 1, 1}};
  kernel.launches = {{"i0", geometry, false, 0.5, 1000}, {"i1", geometry, false, 0.3, 1001}, {"i2", geometry, true}};
  ASSERT_TRUE(RunStore::resume(file_)->record_kernel(kernel).ok());
  ReportData data = report();
  EXPECT_EQ(data.place, "src/k.cu:12");
  EXPECT_EQ(data.proof, "proven equal to the original");
  EXPECT_EQ(data.not_tried, kernel.not_tried);
  ASSERT_EQ(data.instances.size(), 3u);
  EXPECT_EQ(data.instances[0].geometry, "<<<(16,1,1), (64,1,1)>>>");
  EXPECT_EQ(data.instances[0].application_us, 1000);
  EXPECT_NEAR(data.instances[0].best_us, 1000 / 2.5, 1e-6);
  EXPECT_EQ(data.instances[1].untimed, "as i0");
  EXPECT_EQ(data.instances[2].untimed, "verified only");
  EXPECT_TRUE(data.fidelity.empty());
  EXPECT_THAT(report_page(data), HasSubstr("Not tried: block size: the launch does not round its grid up."));
}

TEST_F(RunReport, ReadsTheMepForARunOfFormat1) {
  ReportData without = report();
  EXPECT_TRUE(without.instances.empty() && without.not_tried.empty());
  EXPECT_EQ(without.place, "");
  Mep mep;
  mep.kernel_key = "k(float*, int)", mep.kernel_name = "k", mep.kernel_mangled = "_Z1kPfi", mep.kernel_id = "k";
  mep.slice_mode = "slice", mep.proof_note = "equal", mep.unit = "/app/src/k.cu", mep.app_root = "/app";
  MepInstance instance;
  instance.id = "i0", instance.geometry = {{16, 1, 1}, {64, 1, 1}}, instance.microseconds = 1000;
  mep.instances = {instance};
  std::filesystem::create_directories(mep_);
  ASSERT_TRUE(mep.write(mep_).ok());
  ReportData data = report();
  EXPECT_EQ(data.place, "src/k.cu");
  EXPECT_EQ(data.proof, "equal");
  ASSERT_EQ(data.instances.size(), 1u);
  EXPECT_EQ(data.instances[0].application_us, 1000);
  EXPECT_TRUE(data.not_tried.empty()) << "the run does not say";
}

TEST_F(RunReport, ShowsTheFastestCandidateIfNothingWasApplied) {
  ReportData data = report();
  ASSERT_TRUE(data.fastest);
  EXPECT_EQ(data.fastest->number, 4);
  EXPECT_EQ(data.shown(), &*data.fastest);
  EXPECT_FALSE(data.applied);
  ASSERT_EQ(data.candidates.size(), 4u);
  EXPECT_NEAR(data.candidates[2].speedup, 1.6, 1e-9);
  EXPECT_NEAR(data.fastest->speedup, 2.5, 1e-9);
  EXPECT_NEAR(data.fastest->low, 2.5 * 0.99, 1e-9);
  EXPECT_TRUE(data.fastest->confirmed);
}

TEST_F(RunReport, ShowsTheAppliedCandidateAndWhyItIsNotTheFastest) {
  ReportData data = report(applied("kept", 3));
  ASSERT_TRUE(data.applied && data.applied->tried);
  EXPECT_EQ(data.shown()->number, 3);
  EXPECT_NEAR(data.shown()->speedup, 1.6, 1e-9);
  EXPECT_THAT(data.diff, HasSubstr("+unroll_and_jam"));
  EXPECT_EQ(data.fastest->number, 4);
  EXPECT_THAT(data.not_taken, HasSubstr("its gain is in how it is compiled"));
}

TEST_F(RunReport, QuotesTheReasonWhyApplyPassedOverTheFastest) {
  const Json passed_over = {
      {{"candidate", 3}, {"label", "#3 (source: unroll_and_jam, 1.60x)"}, {"why", "too wide"}},
      {{"candidate", 4}, {"label", "#4 (compiler: O1, 2.50x)"}, {"why", "it uses a variable (taps): of its own"}}};
  EXPECT_EQ(report(applied("rolled back", 2, passed_over)).not_taken, "it uses a variable (taps): of its own");
  const std::string line = "#4 (compiler: O1, 2.50x): it uses a variable";
  EXPECT_EQ(report(applied("rolled back", 2, Json::array({"#3 (source: jam, 1.60x): too wide", line}))).not_taken, line)
      << "a report of an earlier version";
}

TEST_F(RunReport, RecognisesAKeptPatchThatWasUndoneSince) {
  Json kept = applied("kept", 3), other = reintegrate::undone(kept);
  kept["originals"] = folder_.path().string();
  EXPECT_EQ(report(kept).applied->outcome, "kept") << "there is no report beside the originals";
  other["diff"] = "+y\n";
  ASSERT_TRUE(write_json(folder_.path() / "report.json", other).ok());
  EXPECT_EQ(report(kept).applied->outcome, "kept") << "the undone patch is another one";
  ASSERT_TRUE(write_json(folder_.path() / "report.json", reintegrate::undone(kept)).ok());
  ReportData data = report(kept);
  EXPECT_EQ(data.applied->outcome, "undone");
  EXPECT_FALSE(data.applied->kept());
  EXPECT_THAT(data.applied->why, HasSubstr("undone by `kernelift apply --undo` on 20"));
}

TEST_F(RunReport, StatesThatNoCandidateCouldBePatchedIn) {
  ReportData data = report(applied("no_patch", nullptr));
  ASSERT_TRUE(data.applied);
  EXPECT_EQ(data.applied->outcome, "no patch");
  EXPECT_FALSE(data.applied->tried);
  EXPECT_EQ(data.shown()->number, 4);
  EXPECT_EQ(data.not_taken, "");
}

}  // namespace
}  // namespace kernelift::cli
