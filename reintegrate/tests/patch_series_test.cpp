// Several kernels' patches as one.
#include "reintegrate/patch/patch_series.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/base/file.h"

namespace kernelift::reintegrate {
namespace {

TEST(CarryOver, KeepsBothSidesChanges) {
  auto text = carry_over("k.cu", "a\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nnew\nb\nc\nd\n");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "A\nnew\nb\nc\nD\n");
}

TEST(CarryOver, RefusesALineThatBothChange) {
  auto text = carry_over("k.cu", "a\nb\nc\n", "a\nB\nc\n", "a\nBB\nc\n");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().exit, Exit::Refused);
  EXPECT_NE(text.error().message.find("line 2 of k.cu"), std::string::npos) << text.error().message;
}

TEST(CarryOver, MakesAChangeOnceThatBothMake) {
  auto text = carry_over("k.cu", "a\nb\nc\n", "a\nB\nc\n#undef X\n", "a\nB\nc\n");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "a\nB\nc\n#undef X\n");
}

TEST(CarryOver, InsertionsGoBeforeAndBehindALineThatTheOtherSideReplaces) {
  const std::string base = "a\nb\nc\n";
  EXPECT_EQ(*carry_over("k.cu", base, "a\nB\nc\n", "a\nx\nb\ny\nc\n"), "a\nx\nB\ny\nc\n");
  EXPECT_EQ(*carry_over("k.cu", base, "a\nx\nb\ny\nc\n", "a\nB\nc\n"), "a\nx\nB\ny\nc\n");
  EXPECT_EQ(*carry_over("k.cu", base, "#1\na\nb\nc\n", "#2\na\nb\nc\n"), "#2\n#1\na\nb\nc\n");
}

TEST(CarryOver, ALastLineWithoutAnEndGetsOneWhereTextFollows) {
  EXPECT_EQ(*carry_over("k.cu", "a\nb", "a\nb\nc", "A\nb"), "A\nb\nc");
}

class Series : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::create("kernelift-series");
    ASSERT_TRUE(made.ok());
    folder_.emplace(std::move(*made));
    file = folder_->path() / "k.cu";
    std::ofstream(file) << text;
  }
  /// A patch that replaces `from` by `to`; its knobs' text has `knob` in that place.
  SourcePatch patch(const std::string& from, const std::string& to, const std::string& knob) {
    auto with = [&](const std::string& by) { return std::string(text).replace(text.find(from), from.size(), by); };
    SourcePatch made;
    made.changes = {{file, "k.cu", text, with(to), false, with(knob), with(knob)}};
    made.notes = {"about " + from};
    return made;
  }
  std::optional<TemporaryFolder> folder_;
  std::filesystem::path file;
  const std::string text = "one\ntwo\nthree\nfour\n";
};

TEST_F(Series, EachStepBeginsWhereTheOneBeforeEnded) {
  PatchSeries series;
  ASSERT_TRUE(series.add(patch("one", "1", "one")).ok());
  ASSERT_TRUE(series.add(patch("three", "3", "knob")).ok());
  const SourcePatch& second = series.steps()[1];
  EXPECT_EQ(second.changes[0].before, "1\ntwo\nthree\nfour\n");
  EXPECT_EQ(second.changes[0].knobs, "1\ntwo\nknob\nfour\n");
  EXPECT_EQ(second.changes[0].after, "1\ntwo\n3\nfour\n");
  const SourcePatch whole = series.whole();
  ASSERT_EQ(whole.changes.size(), 1u);
  EXPECT_EQ(whole.changes[0].before, text);
  EXPECT_EQ(whole.changes[0].after, "1\ntwo\n3\nfour\n");
  EXPECT_EQ(whole.notes, (std::vector<std::string>{"about one", "about three"}));
}

TEST_F(Series, AStepHasTheFilesThatOnlyEarlierOnesChange) {
  const auto header = folder_->path() / "k.h";
  SourcePatch first;
  first.changes = {{header, "k.h", "", "new\n", true, "", ""}};
  PatchSeries series;
  ASSERT_TRUE(series.add(first).ok());
  ASSERT_TRUE(series.add(patch("one", "1", "one")).ok());
  const auto& changes = series.steps()[1].changes;
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[1].before, "new\n");
  EXPECT_EQ(changes[1].after, "new\n");
  EXPECT_FALSE(changes[1].created) << "it is there when the second patch comes";
  EXPECT_TRUE(series.whole().changes[1].created);
  EXPECT_FALSE(series.add(first).ok()) << "it cannot be created twice";
}

TEST_F(Series, AConstantKeepsTheValueWithWhichAnotherStepsCodeWasCompiled) {
  SourcePatch embeds, changes;
  embeds.launcher = "tuned_k1", embeds.kernel_id = "k1";
  changes.kernel_id = "k2", changes.users_of_new_values = {"k1"};
  PatchSeries first, second;
  ASSERT_TRUE(first.add(embeds).ok());
  EXPECT_FALSE(first.add(changes).ok());
  ASSERT_TRUE(second.add(changes).ok());
  EXPECT_FALSE(second.add(embeds).ok()) << "in whatever order";
  changes.users_of_new_values = {"k3"};
  EXPECT_TRUE(first.add(changes).ok());
}

TEST_F(Series, APatchThatClashesAddsNothing) {
  PatchSeries series;
  ASSERT_TRUE(series.add(patch("one", "1", "one")).ok());
  EXPECT_FALSE(series.add(patch("one", "uno", "one")).ok());
  EXPECT_EQ(series.steps().size(), 1u);
  EXPECT_EQ(series.whole().changes[0].after, "1\ntwo\nthree\nfour\n");
}

TEST_F(Series, APatchIsCarriedOverToWhatACommitHasChangedSince) {
  const SourcePatch planned = patch("four", "4", "four");
  std::ofstream(file) << "zero\none\ntwo\nthree\nfour\n";
  PatchSeries series;
  ASSERT_TRUE(series.add(planned).ok());
  EXPECT_EQ(series.whole().changes[0].before, "zero\none\ntwo\nthree\nfour\n");
  EXPECT_EQ(series.whole().changes[0].after, "zero\none\ntwo\nthree\n4\n");
}

}  // namespace
}  // namespace kernelift::reintegrate
