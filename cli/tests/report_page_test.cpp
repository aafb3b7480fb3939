// The HTML report: the figures that a reader finds in its tables, cards and chart, and the sentences about the outcome.
#include "cli/report/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace kernelift::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ReportData sample() {
  ReportData data;
  data.kernel = "heat::stencil<float, 16>", data.place = "src/stencil.cu:41", data.run = "stencil-1.klrun",
  data.device = "cpu: two cores", data.seconds = 75;
  data.candidates = {{1, "baseline", "original", "as it is", "ok", "ok: 1.000x", 1.0, 0.99},
                     {2, "source", "unroll", "unroll by 4", "ok", "ok: 1.4x", 1.4, 1.35},
                     {3, "compiler", "passes", "O1", "wrong", "wrong at verify: out[3] expected 1, got <2>", 0, 0}};
  data.instances = {{"i-0", "<<<(8,8,1), (16,16,1)>>>", false, 1.0, 120, 118, 84}};
  data.fastest = ReportWinner{2, "unroll by 4", "", 1.4, 1.35, false};
  data.diff = "@@ -1 +1 @@\n-a<b\n+a<c\n";
  return data;
}

/// Two lines of descent that meet in #6.
ReportData descent() {
  ReportData data = sample();
  data.candidates = {{1, "baseline", "original", "as it is", "ok", "ok: 1.000x", 1.0, 0.99},
                     {2, "source", "rules", "unroll", "ok", "ok", 1.2, 1.1, {1}, "unroll the loop over k"},
                     {3, "params", "search", "unroll; B", "ok", "ok", 1.5, 1.4, {2}, "B 64 -> <32>"},
                     {4, "source", "rules", "restrict", "ok", "ok", 0.9, 0.8, {1}, "__restrict__"},
                     {5, "source", "rules", "other", "wrong", "wrong", 0, 0, {2}, "other"},
                     {6, "source", "model", "all", "ok", "ok", 1.8, 1.7, {3, 4}, "both"}};
  data.fastest = ReportWinner{6, "all", "", 1.8, 1.7, false};
  return data;
}

/// The part of `html` between `begin` and the next `end` after it, from `at` on; moves `at` behind `end`.
std::string between(const std::string& html, const std::string& begin, const std::string& end, size_t& at) {
  size_t from = html.find(begin, at);
  if (from == html.npos) return at = html.npos, "";
  size_t to = html.find(end, from + begin.size());
  at = to == html.npos ? html.npos : to + end.size();
  return html.substr(from + begin.size(), to - from - begin.size());
}

/// The text that a browser shows for a piece of HTML.
std::string shown_text(const std::string& html) {
  std::string text;
  bool in_tag = false;
  for (char c : html) {
    if (c == '<') in_tag = true;
    if (!in_tag) text += c;
    if (c == '>') in_tag = false;
  }
  for (auto [entity, character] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
    for (size_t at = text.find(entity); at != text.npos; at = text.find(entity, at + 1))
      text.replace(at, std::string(entity).size(), character);
  return text;
}

/// A table's rows, each cell by the title of its column.
using Row = std::map<std::string, std::string>;
std::vector<Row> table_under(const std::string& page, const std::string& heading) {
  size_t at = page.find("<h2>" + heading + "</h2>");
  EXPECT_NE(at, page.npos) << heading;
  const std::string html = between(page, "<table>", "</table>", at);
  std::vector<std::string> titles;
  std::vector<Row> rows;
  for (size_t row_at = 0; row_at != html.npos;) {
    const std::string row = between(html, "<tr>", "</tr>", row_at);
    if (row_at == html.npos && row.empty()) break;
    std::vector<std::string> cells;
    for (const char* kind : {"th", "td"})
      for (size_t cell_at = 0;;) {
        std::string cell = between(row, std::string("<") + kind, std::string("</") + kind + ">", cell_at);
        if (cell_at == row.npos && cell.empty()) break;
        cells.push_back(shown_text(cell.substr(cell.find('>') + 1)));
        if (cell_at == row.npos) break;
      }
    if (titles.empty()) {
      titles = cells;
      continue;
    }
    EXPECT_EQ(cells.size(), titles.size()) << row;
    Row named;
    for (size_t i = 0; i < std::min(cells.size(), titles.size()); ++i) named[titles[i]] = cells[i];
    rows.push_back(named);
  }
  return rows;
}

/// The large figures at the top, each with its label: "1.40×" and "#2 in its MEP, …".
std::vector<std::pair<std::string, std::string>> cards(const std::string& page) {
  std::vector<std::pair<std::string, std::string>> found;
  for (size_t at = page.find("<main>"); at != page.npos;) {
    std::string card = between(page, "<div class=\"card\">", "</div>", at);
    if (at == page.npos) break;
    size_t inner = 0;
    std::string value = shown_text(between(card, "<b>", "</b>", inner));
    found.emplace_back(value, shown_text(between(card, "<span>", "</span>", inner)));
  }
  return found;
}

/// A mark in the chart: a dot for a verified candidate, a tick for a failed one.
struct Mark {
  bool dot = false;
  std::string tier, title;
  double x = 0, y = 0;
  bool ring = false;
};
std::vector<Mark> marks(const std::string& page) {
  auto attribute = [](const std::string& tag, const std::string& name) {
    size_t at = 0;
    return between(tag, name + "=\"", "\"", at);
  };
  size_t at = page.find("<svg");
  const std::string svg = between(page, "<svg", "</svg>", at);
  std::vector<Mark> found;
  for (const char* kind : {"<circle ", "<line class=\"bad\""})
    for (size_t mark_at = 0;;) {
      std::string mark = between(svg, kind, "</title>", mark_at);
      if (mark_at == svg.npos) break;
      std::string tag = kind + mark.substr(0, mark.find('>') + 1);
      bool dot = tag.starts_with("<circle");
      found.push_back({dot, attribute(tag, "class"), shown_text(mark.substr(mark.find("<title>"))),
                       std::stod(attribute(tag, dot ? "cx" : "x1")), std::stod(attribute(tag, dot ? "cy" : "y1")),
                       attribute(tag, "r") == "5"});
    }
  return found;
}

TEST(ReportPage, ShowsTextFromOutsideAsText) {
  ReportData data = sample();
  const std::string hostile = "<script>\x1b[2J\u202e' onload='x\" zz=\"";
  data.kernel = data.place = data.device = data.run = data.proof = data.not_taken = data.diff = hostile;
  data.not_tried = data.fidelity = {hostile};
  for (auto& one : data.candidates) one.note = one.verdict = one.proposer = one.tier = hostile;
  data.candidates[2].outcome = hostile;
  data.instances[0].id = data.instances[0].geometry = data.instances[0].untimed = hostile;
  data.fastest->note = data.fastest->recipe = hostile;
  const std::string page = report_page(data);
  for (const char* unsafe : {"<script>", "\x1b", "\u202e", "' onload", "\" zz="})
    EXPECT_THAT(page, Not(HasSubstr(unsafe))) << unsafe;
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;\\x1b[2J\\u202e&#39; onload=&#39;x&quot; zz=&quot;"));
}

TEST(ReportPage, LoadsNothingFromTheNetworkAndRunsNoScript) {
  std::string page = report_page(sample());
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(ReportPage, ShowsTheFiguresOfEachLaunchInTheirColumns) {
  ReportData data = sample();
  data.instances.push_back({"i-1", "<<<(1,1,1), (64,1,1)>>>", true, 0.25, 2500, 2400, 1.2e6});
  auto rows = table_under(report_page(data), "Recorded launches");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], (Row{{"instance", "i-0"},
                          {"launch", "<<<(8,8,1), (16,16,1)>>>"},
                          {"role", "tuned on"},
                          {"weight", "1.000"},
                          {"in the application", "120.0 µs"},
                          {"original", "118.0 µs"},
                          {"#2", "84.0 µs"},
                          {"gain", "1.405×"}}));
  EXPECT_EQ(rows[1]["role"], "held out");
  EXPECT_EQ(rows[1]["weight"], "0.250");
  EXPECT_EQ(rows[1]["in the application"], "2.50 ms");
  EXPECT_EQ(rows[1]["original"], "2.40 ms");
  EXPECT_EQ(rows[1]["#2"], "1.200 s");
  EXPECT_EQ(rows[1]["gain"], "0.002×");
}

TEST(ReportPage, ShowsWhatAHypothesisPredictedAndWhatCame) {
  ReportData data = sample();
  EXPECT_THAT(report_page(data), Not(HasSubstr("Hypotheses of models")));
  data.hypotheses = {{4, 2, "use <shared> memory", "registers 40 -> 32; 1.40x; risk low", "1.35x (1.30x to 1.40x)",
                      "confirmed", "the gain came", "500 tokens and 2.0 s for each 10 %"}};
  auto rows = table_under(report_page(data), "Hypotheses of models");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["idea"], "use <shared> memory (#2)");
  EXPECT_EQ(rows[0]["predicted"], "registers 40 -> 32; 1.40x; risk low");
  EXPECT_EQ(rows[0]["finding"], "confirmed: the gain came");
  EXPECT_EQ(rows[0]["cost"], "500 tokens and 2.0 s for each 10 %");
}

TEST(ReportPage, SaysWhyALaunchWasNotTimed) {
  ReportData data = sample();
  data.instances.push_back({"i-1", "<<<(8,8,1), (16,16,1)>>>", false, 0.5, 121, 0, 0, "as i-0"});
  auto rows = table_under(report_page(data), "Recorded launches");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1]["instance"], "i-1");
  EXPECT_EQ(rows[1]["original"], "–");
  EXPECT_EQ(rows[1]["#2"], "–");
  EXPECT_EQ(rows[1]["gain"], "as i-0");
}

TEST(ReportPage, MergesLaunchesThatDifferOnlyInNameAndAddsTheirWeights) {
  ReportData data = sample();
  for (auto* id : {"i-1", "i-8"})
    data.instances.push_back({id, "<<<(8,8,1), (16,16,1)>>>", false, 0.25, 121, 0, 0, "as i-0"});
  auto rows = table_under(report_page(data), "Recorded launches");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["instance"], "i-0");
  EXPECT_EQ(rows[1]["instance"], "i-1, i-8");
  EXPECT_EQ(rows[1]["weight"], "0.500");
}

TEST(ReportPage, CountsCandidatesByProposerWithoutTheOriginal) {
  ReportData data = sample();
  data.candidates.push_back({4, "source", "unroll", "unroll by 8", "ok", "ok: 1.25x", 1.25, 1.2});
  data.candidates.push_back({5, "source", "unroll", "unroll by 9", "crashed", "crashed at verify", 0, 0});
  auto rows = table_under(report_page(data), "Candidates by proposer");
  EXPECT_THAT(
      rows,
      ElementsAre(Row{{"tier", "compiler"}, {"proposer", "passes"}, {"tried", "1"}, {"right", "0"}, {"best", "–"}},
                  Row{{"tier", "source"}, {"proposer", "unroll"}, {"tried", "3"}, {"right", "2"}, {"best", "1.400×"}}));
}

TEST(ReportPage, CountsFailuresByOutcomeWithTheFirstExample) {
  ReportData data = sample();
  data.candidates.push_back({4, "source", "unroll", "unroll by 8", "wrong", "wrong at verify: another", 0, 0});
  data.candidates.push_back({5, "source", "unroll", "unroll by 9", "crashed", "crashed at verify", 0, 0});
  EXPECT_THAT(
      table_under(report_page(data), "What failed"),
      ElementsAre(
          Row{{"outcome", "crashed"}, {"count", "1"}, {"first example", "crashed at verify"}},
          Row{{"outcome", "wrong"}, {"count", "2"}, {"first example", "wrong at verify: out[3] expected 1, got <2>"}}));
  data.candidates.resize(2);
  EXPECT_THAT(report_page(data), HasSubstr("None failed."));
}

TEST(ReportPage, ShowsGainCountsAndTuningTimeAtTheTop) {
  ReportData data = sample();
  EXPECT_THAT(cards(report_page(data)),
              ElementsAre(std::pair("1.40×", "#2 in its MEP, not confirmed yet, at least 1.35×"),
                          std::pair("2", "candidates tried"), std::pair("1", "verified right"),
                          std::pair("1m 15s", "tuning time")));
  data.fastest->confirmed = true, data.fastest->low = 1.38;
  EXPECT_EQ(cards(report_page(data))[0].second, "#2 in its MEP, confirmed in a fresh process, at least 1.38×");
}

TEST(ReportPage, DrawsEveryCandidateInOrderFasterOnesHigherAndFailuresAtTheBottom) {
  ReportData data = sample();
  data.candidates.push_back({4, "params", "block", "block 64", "ok", "ok: 0.5x", 0.5, 0.49});
  data.candidates.push_back({5, "compiler", "flags", "unroll=0", "ok", "ok: 2x", 2.0, 1.9});
  auto found = marks(report_page(data));
  ASSERT_EQ(found.size(), data.candidates.size());
  std::map<std::string, Mark> by_number;
  for (auto& mark : found) by_number[mark.title.substr(0, 2)] = mark;
  ASSERT_EQ(by_number.size(), data.candidates.size());
  EXPECT_EQ(by_number["#2"].title, "#2 unroll by 4\nok: 1.4x");
  EXPECT_EQ(by_number["#2"].tier, "source");
  EXPECT_EQ(by_number["#4"].tier, "params");
  EXPECT_FALSE(by_number["#3"].dot) << "a failed candidate";
  for (auto* number : {"#1", "#2", "#4", "#5"}) {
    EXPECT_TRUE(by_number[number].dot);
    EXPECT_LT(by_number[number].y, by_number["#3"].y) << number;
    EXPECT_EQ(by_number[number].ring, std::string(number) == "#2") << "the ring marks the candidate shown";
  }
  double same = by_number["#1"].y, twice = by_number["#5"].y, half = by_number["#4"].y;
  EXPECT_NEAR(same - twice, half - same, 0.2) << "2x faster and 2x slower are equally far from 1x";
  EXPECT_GT(same - twice, 10) << "faster is higher";
  EXPECT_LT(by_number["#2"].y, same);
  EXPECT_GT(by_number["#2"].y, twice);
  for (auto [left, right] : {std::pair{"#1", "#2"}, {"#2", "#3"}, {"#3", "#4"}, {"#4", "#5"}})
    EXPECT_LT(by_number[left].x, by_number[right].x);
}

TEST(ReportPage, QuotesTheFidelityOfEachReplay) {
  ReportData data = sample();
  EXPECT_THAT(report_page(data), Not(HasSubstr("Fidelity"))) << "a MEP that was never replayed";
  data.fidelity = {"limited on cuda: NVIDIA H200: addresses RELOCATED"};
  EXPECT_THAT(report_page(data),
              HasSubstr("Fidelity of the replay: limited on cuda: NVIDIA H200: addresses RELOCATED"));
}

TEST(ReportPage, EscapesTextFromOutside) {
  std::string page = report_page(sample());
  EXPECT_THAT(page, HasSubstr("<h1>heat::stencil&lt;float, 16&gt;</h1>"));
  EXPECT_THAT(page, HasSubstr("got &lt;2&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("a<b")));
}

TEST(ReportPage, MarksAddedAndRemovedLinesOfTheChange) {
  std::string page = report_page(sample());
  EXPECT_THAT(page, HasSubstr("<h2>The change</h2>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"at\">@@ -1 +1 @@</span><span class=\"del\">-a&lt;b</span>"
                              "<span class=\"add\">+a&lt;c</span>"));
}

TEST(ReportPage, StatesTheOutcomeInTheApplicationBeforeItsPatch) {
  ReportData data = sample();
  data.applied = ReportApplied{"rolled back",
                               "it is not faster",
                               data.fastest,
                               1.2,
                               1.003,
                               {"<b> is changed too"},
                               "--- a/k.cu\n+++ b/k.cu\n+a<c\n"};
  std::string page = report_page(data);
  EXPECT_THAT(cards(page)[0], testing::Pair("nothing kept", "rolled back: the whole application became 1.00×"));
  size_t outcome = page.find("<b>rolled back</b>: it is not faster. Predicted was 1.200×."),
         patch = page.find("--- a/k.cu");
  ASSERT_NE(outcome, std::string::npos);
  ASSERT_NE(patch, std::string::npos);
  EXPECT_LT(outcome, patch);
  EXPECT_THAT(page, HasSubstr("<p>Candidate #2 unroll by 4</p>"));
  EXPECT_THAT(page, HasSubstr("<li>&lt;b&gt; is changed too</li>"));
}

TEST(ReportPage, NamesTheKeptCandidateAndTheFasterOneThatWasNotTaken) {
  ReportData data = sample();
  data.applied = ReportApplied{
      "kept",          "it is faster",     data.fastest,          1.2, 1.25, {"a header", "a header"}, "+a<c\n",
      "kernelift/k-1", "0123456789abcdef", "2026-11-22 18:40 UTC"};
  data.fastest = ReportWinner{3, "O1", "O1 unroll=0", 2.5, 2.4, true}, data.not_taken = "it is in how it is compiled";
  std::string page = report_page(data);
  auto top = cards(page);
  EXPECT_THAT(top[0], testing::Pair("1.25×", "the whole application, when the patch was kept"));
  EXPECT_THAT(top[1], testing::Pair("1.40×", "#2 in its MEP, not confirmed yet, at least 1.35×"));
  EXPECT_THAT(page, HasSubstr("<p><b>Kept</b> on 2026-11-22 18:40 UTC as commit <code>0123456789</code> on branch "
                              "<code>kernelift/k-1</code>: #2 unroll by 4</p>"));
  EXPECT_THAT(page,
              HasSubstr("<p>Fastest in the MEP: #3 O1 · compiler recipe: <code>O1 unroll=0</code>, 2.50×, at least "
                        "2.40×. Not taken: it is in how it is compiled</p>"));
  EXPECT_TRUE(table_under(page, "Recorded launches")[0].contains("#2")) << "the figures are the kept candidate's";
  EXPECT_EQ(page.find("a header", page.find("a header") + 1), std::string::npos) << "a repeated note appears once";
  data.fastest = data.applied->tried, data.not_taken.clear();
  EXPECT_THAT(report_page(data), Not(HasSubstr("Fastest in the MEP"))) << "the fastest is the one that was kept";
}

TEST(ReportPage, StatesThatNothingWasKeptAndWhy) {
  ReportData data = sample();
  EXPECT_THAT(report_page(data), HasSubstr("<b>Not applied yet</b>"));
  data.applied = ReportApplied{"no patch", "its launch is a macro's", std::nullopt, 0, 0, {}, ""};
  std::string page = report_page(data);
  EXPECT_THAT(cards(page)[0], testing::Pair("nothing kept", "no patch"));
  EXPECT_THAT(page, HasSubstr("<p><b>Nothing was kept</b> (no patch): its launch is a macro&#39;s.</p>"));
  EXPECT_THAT(page, HasSubstr("<p>Fastest in the MEP: #2 unroll by 4</p>"));
}

TEST(ReportPage, DistinguishesNoGainFromASearchThatWasCutShort) {
  ReportData data = sample();
  data.fastest.reset(), data.without_gain = "no gain";
  EXPECT_THAT(cards(report_page(data))[0],
              testing::Pair("no gain", "no candidate was faster than the original beyond noise"));
  data.without_gain = "undecided";
  EXPECT_THAT(cards(report_page(data))[0],
              testing::Pair("undecided", "the search was cut short before it found a gain"));
}

TEST(ReportPage, ShowsHowTheCandidateCameAboutWithEachStepsOwnGain) {
  const std::string page = report_page(descent());
  const std::vector<Row> rows = table_under(page, "How #6 came about");
  std::vector<std::string> lines;
  for (auto& row : rows)
    lines.push_back(row.at("candidate") + " from " + row.at("from") + ": " + row.at("step") + " " +
                    row.at("its own gain") + " " + row.at("over the original"));
  EXPECT_THAT(lines,
              ElementsAre("#2 from the original: unroll the loop over k 1.200× 1.200×",
                          "#3 from #2: B 64 -> <32> 1.250× 1.500×", "#4 from the original: __restrict__ 0.900× 0.900×",
                          "#6 from #3, #4: both 1.200× 1.800×"));
  size_t at = page.find("How #6 came about");
  const std::string graph = between(page, "<svg", "</svg>", at);
  EXPECT_EQ(std::count(graph.begin(), graph.end(), 'C'), 5) << "a line for each parent";
  EXPECT_THAT(graph, Not(HasSubstr("#5"))) << "no ancestor";
}

TEST(ReportPage, ShowsNoLineageOfOneStep) {
  EXPECT_THAT(report_page(sample()), Not(HasSubstr("came about")));
  ReportData odd = descent();
  odd.candidates.back().parents = {6, 99, 5};  // Itself, none of the run's, and one that failed.
  EXPECT_THAT(report_page(odd), HasSubstr("the original, #5"));
}

TEST(ReportPage, OmitsTheProposersIfNothingWasTried) {
  ReportData data = sample();
  data.fastest.reset(), data.without_gain = "nothing tried", data.candidates.resize(1);
  std::string page = report_page(data);
  EXPECT_THAT(cards(page)[0], testing::Pair("nothing tried", "only the original was measured"));
  EXPECT_THAT(cards(page)[1], testing::Pair("0", "candidates tried"));
  EXPECT_THAT(page, Not(HasSubstr("Candidates by proposer")));
}

}  // namespace
}  // namespace kernelift::cli
