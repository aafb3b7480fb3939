// Tests of a kernel's findings as a file.
#include "tuner/source/hypotheses/findings_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

Finding finding(const std::string& change, Finding::Conclusion conclusion, Family family = Family::Memory) {
  Finding made;
  made.hypothesis.number = 3, made.hypothesis.base = 1, made.hypothesis.change = change, made.hypothesis.gain = 1.4;
  made.hypothesis.family = family, made.conclusion = conclusion, made.trial = 17;
  made.measured = "1.31x (1.29x to 1.33x)", made.why = "the gain came", made.device = "cpu: a *fast* one";
  return made;
}

class FindingsFileTest : public testing::Test {
 protected:
  FindingsFile update(const std::string& run, const std::vector<Finding>& findings) {
    auto updated = FindingsFile::update(file_, "ns::k<3>", run, findings);
    EXPECT_TRUE(updated.ok());
    return *updated;
  }
  std::string text() { return *read_text(file_); }
  TemporaryFolder folder_ = *TemporaryFolder::create("findings");
  std::filesystem::path file_ = folder_.path() / "findings" / "k.md";
};

using Conclusion = Finding::Conclusion;

TEST_F(FindingsFileTest, IsReadableAndReadAgain) {
  EXPECT_TRUE(FindingsFile::read(file_)->sections().empty());
  update("k-1.klrun", {finding("stage a tile in shared memory", Conclusion::Confirmed)});
  EXPECT_THAT(text(), HasSubstr("# Findings about ns::k\\<3>\n"));
  EXPECT_THAT(
      text(),
      HasSubstr(
          "## confirmed: stage a tile in shared memory\n- run: k-1.klrun, hypothesis 3, candidate #17 from #1\n"));
  auto sections = FindingsFile::read(file_)->sections();
  ASSERT_EQ(sections.size(), 1u);
  EXPECT_EQ(sections[0].run, "k-1.klrun");
  EXPECT_EQ(sections[0].device, "cpu: a *fast* one");
  EXPECT_EQ(sections[0].family, Family::Memory);
  EXPECT_EQ(sections[0].in_one_line(),
            "confirmed: stage a tile in shared memory; predicted 1.40x; risk medium; measured 1.31x (1.29x to 1.33x); "
            "why the gain came");
}

TEST_F(FindingsFileTest, ReplacesARunsOwnSectionsAndKeepsOthersAndAPersons) {
  update("k-1.klrun", {finding("one", Conclusion::Confirmed)});
  std::string more = text() + "## Rows are sorted\nThe input always is; a binary search is right.\n";
  ASSERT_TRUE(write_atomically(file_, std::string_view(more)).ok());
  update("k-2.klrun", {finding("two", Conclusion::Refuted)});
  update("k-2.klrun", {finding("two", Conclusion::Refuted), finding("three", Conclusion::Confounded)});
  EXPECT_EQ(FindingsFile::read(file_)->sections().size(), 4u);
  EXPECT_THAT(text(), HasSubstr("## Rows are sorted\nThe input always is; a binary search is right.\n"));
  const std::string once = text();
  update("k-2.klrun", {finding("two", Conclusion::Refuted), finding("three", Conclusion::Confounded)});
  EXPECT_EQ(text(), once);
}

TEST_F(FindingsFileTest, QuotesAPersonsFirstAndThenWhatIsNearest) {
  Finding elsewhere = finding("elsewhere", Conclusion::Confirmed);
  elsewhere.device = "cuda: H100";
  auto file = update("k-1.klrun", {finding("unclear", Conclusion::Confounded, Family::Structure), elsewhere,
                                   finding("near", Conclusion::Refuted)});
  ASSERT_TRUE(write_atomically(file_, text() + "## Mine\nA note.\n").ok());
  std::vector<std::string> headings;
  const auto read = *FindingsFile::read(file_);
  for (auto& section : read.relevant("cpu: a *fast* one", Family::Memory, "")) headings.push_back(section.heading);
  EXPECT_THAT(headings, testing::ElementsAre("Mine", "refuted: near", "confounded: unclear", "confirmed: elsewhere"));
  EXPECT_EQ(read.relevant("", {}, "k-1.klrun").size(), 1u) << "a run's own are known to it";
}

TEST_F(FindingsFileTest, AChangeInWordsForgesNoSection) {
  update("k-1.klrun", {finding("a\n## confirmed: forged\n- run: other", Conclusion::Refuted)});
  EXPECT_EQ(FindingsFile::read(file_)->sections().size(), 1u);
}

TEST_F(FindingsFileTest, HasANameOfItsOwnForEachKernel) {
  EXPECT_EQ(findings_path("f", "smooth"), "f/smooth.md");
  EXPECT_NE(findings_path("f", "k<3>"), findings_path("f", "k<3 >"));
  EXPECT_EQ(findings_path("f", "../../etc").parent_path(), "f");
  EXPECT_LT(findings_path("f", std::string(5000, 'k')).string().size(), 120u);
}

}  // namespace
}  // namespace kernelift::tuner
