// Claims about cli/report/report_page.h.
#include "cli/report/report_page.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kernelift::cli {
namespace {

ReportData sample() {
  ReportData data;
  data.kernel = "heat::stencil<float, 16>", data.place = "src/stencil.cu:41", data.run = "stencil-1.klrun",
  data.device = "cpu: two cores";
  data.candidates = {{1, "baseline", "original", "as it is", "ok", "ok: 1.000x", 1.0, 0.99},
                     {2, "source", "unroll", "unroll by 4", "ok", "ok: 1.4x", 1.4, 1.35},
                     {3, "compiler", "passes", "O1", "wrong", "wrong at verify: out[3] expected 1, got <2>", 0, 0}};
  data.instances = {{"i-0", "<<<(8,8,1), (16,16,1)>>>", false, 1.0, 120, 118, 84}};
  data.fastest = ReportWinner{2, "unroll by 4", "", 1.4, 1.35, false};
  data.diff = "@@ -1 +1 @@\n-a<b\n+a<c\n";
  return data;
}

TEST(ReportPage, NeedsNothingFromOutside) {
  std::string page = report_page(sample());
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
}

TEST(ReportPage, SaysOfFiguresThatNobodyConfirmedThatTheyAreNot) {
  ReportData data = sample();
  EXPECT_NE(report_page(data).find("not confirmed yet, at least 1.35"), std::string::npos);
  data.fastest->confirmed = true;
  EXPECT_NE(report_page(data).find("confirmed in a fresh process, at least 1.35"), std::string::npos);
}

TEST(ReportPage, TellsHowTrueTheReplayWasToTheApplication) {
  ReportData data = sample();
  EXPECT_EQ(report_page(data).find("Fidelity"), std::string::npos) << "a MEP that was never replayed";
  data.fidelity = {"limited on cuda: NVIDIA H200: addresses RELOCATED"};
  EXPECT_NE(report_page(data).find("Fidelity of the replay: limited on cuda: NVIDIA H200: addresses RELOCATED"),
            std::string::npos);
}

TEST(ReportPage, EscapesWhatCameFromOutside) {
  std::string page = report_page(sample());
  EXPECT_NE(page.find("heat::stencil&lt;float, 16&gt;"), std::string::npos);
  EXPECT_NE(page.find("got &lt;2&gt;"), std::string::npos);
  EXPECT_EQ(page.find("a<b"), std::string::npos);
}

TEST(ReportPage, ShowsEveryCandidateAndEveryFailureKind) {
  std::string page = report_page(sample());
  EXPECT_EQ(std::count(page.begin(), page.end(), '#') > 2, true);
  EXPECT_NE(page.find("#2 unroll by 4"), std::string::npos);
  EXPECT_NE(page.find(">wrong</td>"), std::string::npos);
}

TEST(ReportPage, SaysWhatBecameOfTheApplicationBeforeItsPatch) {
  ReportData data = sample();
  data.applied = ReportApplied{"rolled back",
                               "it is not faster",
                               data.fastest,
                               1.2,
                               1.003,
                               {"<b> is changed too"},
                               "--- a/k.cu\n+++ b/k.cu\n+a<c\n"};
  std::string page = report_page(data);
  size_t verdict = page.find("<b>rolled back</b>: it is not faster. Predicted was 1.200×."),
         patch = page.find("--- a/k.cu");
  ASSERT_NE(verdict, std::string::npos);
  EXPECT_LT(verdict, patch);
  EXPECT_NE(page.find("<p>Candidate #2 unroll by 4</p>"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt; is changed too"), std::string::npos);
}

TEST(ReportPage, NamesWhatWasKeptAndWhatWasFasterAlone) {
  ReportData data = sample();
  data.applied = ReportApplied{
      "kept",          "it is faster",     data.fastest,          1.2, 1.25, {"a header", "a header"}, "+a<c\n",
      "kernelift/k-1", "0123456789abcdef", "2026-11-22 18:40 UTC"};
  data.fastest = ReportWinner{3, "O1", "O1 unroll=0", 2.5, 2.4, true}, data.not_taken = "it is in how it is compiled";
  std::string page = report_page(data);
  EXPECT_NE(page.find("<b>1.25×</b><span>the whole application, when the patch was kept</span>"), std::string::npos);
  EXPECT_NE(page.find("<b>1.40×</b><span>#2 in its MEP, "), std::string::npos);
  EXPECT_NE(page.find("<p><b>Kept</b> on 2026-11-22 18:40 UTC as commit <code>0123456789</code> on branch "
                      "<code>kernelift/k-1</code>: #2 unroll by 4</p>"),
            std::string::npos);
  EXPECT_NE(page.find("<p>Fastest in the MEP: #3 O1 · compiler recipe: <code>O1 unroll=0</code>, 2.50×, at least "
                      "2.40×. Not taken: it is in how it is compiled</p>"),
            std::string::npos);
  EXPECT_NE(page.find("<th class=\"n\">#2</th>"), std::string::npos) << "whose figures the launches have";
  EXPECT_EQ(page.find("a header", page.find("a header") + 1), std::string::npos) << "once";
  data.fastest = data.applied->tried, data.not_taken.clear();
  EXPECT_EQ(report_page(data).find("Fastest in the MEP"), std::string::npos) << "it is the one that was kept";
}

TEST(ReportPage, SaysThatNothingWasKeptAndWhy) {
  ReportData data = sample();
  EXPECT_NE(report_page(data).find("<b>Not applied yet</b>"), std::string::npos);
  data.applied = ReportApplied{"no patch", "its launch is a macro's", std::nullopt, 0, 0, {}, ""};
  std::string page = report_page(data);
  EXPECT_NE(page.find("<b>nothing kept</b><span>no patch</span>"), std::string::npos);
  EXPECT_NE(page.find("<p><b>Nothing was kept</b> (no patch): its launch is a macro's.</p>"), std::string::npos);
  EXPECT_NE(page.find("<p>Fastest in the MEP: #2 unroll by 4</p>"), std::string::npos);
}

TEST(ReportPage, ShowsLaunchesThatDifferInNameAloneOnce) {
  ReportData data = sample();
  for (auto* id : {"i-1", "i-8"})
    data.instances.push_back({id, "<<<(8,8,1), (16,16,1)>>>", false, 0.25, 121, 0, 0, "as i-0"});
  std::string page = report_page(data);
  EXPECT_NE(page.find("<td class=\"ids\">i-1, i-8</td>"), std::string::npos);
  EXPECT_NE(page.find("<td class=\"n\">0.500</td>"), std::string::npos) << "what both stand for";
  EXPECT_NE(page.find("<td class=\"ids\">i-0</td>"), std::string::npos);
}

TEST(ReportPage, CountsTheOriginalAmongNoCandidates) {
  EXPECT_NE(report_page(sample()).find("<b>2</b><span>candidates tried"), std::string::npos);
  EXPECT_NE(report_page(sample()).find("<b>1</b><span>verified right"), std::string::npos);
}

TEST(ReportPage, SaysWhyALaunchWasNotTimed) {
  ReportData data = sample();
  data.instances.push_back({"i-1", "<<<(8,8,1), (16,16,1)>>>", false, 0.5, 121, 0, 0, "as i-0"});
  EXPECT_NE(report_page(data).find("<span class=\"dim\">as i-0</span>"), std::string::npos);
}

TEST(ReportPage, SaysNoGainWhenThereIsNone) {
  ReportData data = sample();
  data.fastest.reset(), data.without_gain = "no gain";
  EXPECT_NE(report_page(data).find("<b>no gain</b><span>nothing beat the original"), std::string::npos);
  data.without_gain = "undecided";
  EXPECT_NE(report_page(data).find("<b>undecided</b><span>the search was cut short"), std::string::npos);
}

TEST(ReportPage, SaysThatNothingWasTriedAndNotWhoDidWhat) {
  ReportData data = sample();
  EXPECT_NE(report_page(data).find("Who proposed what"), std::string::npos);
  data.fastest.reset(), data.without_gain = "nothing tried", data.candidates.resize(1);
  std::string page = report_page(data);
  EXPECT_NE(page.find("<b>nothing tried</b>"), std::string::npos);
  EXPECT_EQ(page.find("Who proposed what"), std::string::npos);
}

}  // namespace
}  // namespace kernelift::cli
