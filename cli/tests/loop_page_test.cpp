// The page about a whole `optimize`.
#include "cli/report/loop_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelift::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

LoopReport two_kernels() {
  LoopReport report;
  report.run = "./app <x>", report.device = "cpu", report.at = "2026-11-26 10:00 UTC", report.measure = "run";
  report.measure_text = "Shares are of the whole run.", report.way_back = "git switch main";
  report.seconds = {{"tune", 60}, {"apply", 30}};
  LoopRow kept, small;
  kept.kernel = "a(float*)", kept.share = 0.4, kept.kernel_gain = 1.5, kept.measured = 1.14, kept.outcome = "kept";
  kept.run = ".kernelift/runs/a-1.klrun", kept.order = "1st: 40.0 % of the time", kept.together = 1;
  kept.why = "kept together with <b>", kept.candidate = 7, kept.way_back = "git switch main";
  small.kernel = "b(float*)", small.share = 0.01, small.outcome = "skipped", small.why = "too small a share to matter";
  report.rows = {kept, small};
  return report;
}

TEST(LoopPage, HasEveryKernelWithItsOrderOutcomeAndReason) {
  const LoopReport report = two_kernels();
  ReportData run;
  run.kernel = "a", run.run = "a-1.klrun";
  const std::string page = loop_page(report, {{report.rows[0].run, run}});
  EXPECT_THAT(page,
              AllOf(HasSubstr("1st: 40.0 % of the time"), HasSubstr("#7: kept together with &lt;b&gt;"),
                    HasSubstr("too small a share to matter"), HasSubstr("1.140×"), HasSubstr("git switch main"),
                    HasSubstr("<a href=\"#run0\">a</a>"), HasSubstr("id=\"run0\""), HasSubstr("./app &lt;x&gt;")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("id=\"run1\"")), HasSubstr("</html>")));
}

TEST(LoopPage, AddsWhatIsLeftAsSharesOfTheApplicationAsItIsNow) {
  LoopReport report = two_kernels();
  report.rows.resize(3, report.rows[1]);
  report.rows[0].outcome = "no gain", report.rows[0].share = 0.2;
  report.rows[1].outcome = "kept", report.rows[1].share = 0.5, report.rows[1].measured = 2;
  report.rows[2].share = 0.4;  // Of a run that takes half as long.
  EXPECT_THAT(loop_page(report, {}), HasSubstr("80.0 %"));
}

TEST(LoopPage, ItsDocumentIsReadBackAsItWasWritten) {
  const LoopReport report = two_kernels();
  auto read = loop_report_from_json(to_json(report), "optimize.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(report));
  EXPECT_EQ(loop_page(*read, {}), loop_page(report, {}));
}

TEST(LoopPage, ADamagedDocumentIsAnError) {
  Json document = to_json(two_kernels());
  document["seconds"] = 3;
  EXPECT_FALSE(loop_report_from_json(document, "optimize.json").ok());
  EXPECT_FALSE(loop_report_from_json(Json::array(), "optimize.json").ok());
}

}  // namespace
}  // namespace kernelift::cli
