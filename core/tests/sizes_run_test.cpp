// Claims about core/model/verdict/sizes_run.h, and how verdicts tell of it.
#include "core/model/verdict/sizes_run.h"

#include <gtest/gtest.h>

#include "core/model/verdict/verdict.h"

namespace kernelift {
namespace {

OtherSize n(int64_t value, const std::string& instance = "a") { return {instance, {{"n", value}}, ""}; }

TEST(SizesRun, ListsEachSizeOnceAndPointersApart) {
  EXPECT_EQ(to_text({n(4095), n(31), n(31, "b"), {"a", {{"n", 4095}}, "pointers one element further"}}),
            "n = 31, 4095; n = 4095, pointers one element further");
  EXPECT_EQ(to_text({{"a", {{"h", 7}, {"w", 1}}, ""}, {"a", {{"w", 31}}, ""}}), "h = 7, w = 1; w = 31");
  EXPECT_EQ(to_text({}), "");
}

TEST(SizesRun, SaysWhatWasRunWhatWasLeftOutAndWhy) {
  SizesRun run;
  EXPECT_EQ(run.text(), "run at recorded sizes only");
  run.right = {n(31), n(1)}, run.unshown = {n(77)};
  run.dropped = {{n(4095), "the original races there"}, {n(4089), "the original races there"}};
  run.beyond_premise = 2, run.left_out = "1 more size was left out";
  EXPECT_EQ(run.text(),
            "right at 2 other sizes (n = 1, 31) and at 1 that no proposer is shown; 2 sizes left out (n = 4089, 4095): "
            "the original races there; 2 sizes left out: its premise does not hold there; 1 more size was left out");
}

TEST(SizesRun, AVerdictNamesASizeOnlyIfItIsShown) {
  Verdict verdict;
  verdict.outcome = Outcome::Wrong, verdict.stage = Stage::Verify, verdict.instance = "a";
  verdict.buffer = "out", verdict.index = 3, verdict.expected = "1", verdict.got = "2";
  verdict.sizes_run.emplace().wrong = SizesRun::Wrong{n(31), true, "out[3] expected 1, got 2"};
  EXPECT_EQ(verdict.text(), "wrong at n = 31 on instance a: out[3] expected 1, got 2");
  verdict.sizes_run->wrong->shown = false;
  verdict.buffer = verdict.expected = verdict.got = "", verdict.index = 0;
  EXPECT_EQ(verdict.text(), "wrong at verify on instance a");
  EXPECT_EQ(verdict.sizes_run->text(), "wrong at n = 31: out[3] expected 1, got 2");
}

TEST(SizesRun, SurvivesAVerdictsJson) {
  Verdict verdict;
  SizesRun& run = verdict.sizes_run.emplace();
  run.right = {n(31)}, run.unshown = {n(77)}, run.dropped = {{n(1), "the original fails there"}};
  run.beyond_premise = 3, run.seed = 9, run.left_out = "why";
  run.wrong = SizesRun::Wrong{{"a", {{"n", 2}}, "y = x"}, false, "found"};
  auto back = verdict_from_json(to_json(verdict), "v");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(verdict));
  EXPECT_EQ(back->sizes_run->wrong->size.pointers, "y = x");
}

TEST(SizesRun, AsToldNameNoSizeThatIsNotShown) {
  Verdict verdict;
  verdict.outcome = Outcome::Wrong;
  SizesRun& run = verdict.sizes_run.emplace();
  run.seed = 4711;
  run.wrong = SizesRun::Wrong{{"a", {{"n", 1151}}, {}}, false, "out[1150] expected 2, got 1"};
  std::string told;
  for (auto& line : verdict.as_told().beyond_recorded()) told += line + "\n";
  EXPECT_EQ(told, "Run there: wrong at a size that is not shown\n");
  EXPECT_EQ(verdict.as_told().sizes_run->seed, 0u) << "the sizes follow from it";
  run.wrong->shown = true;
  EXPECT_EQ(verdict.as_told().sizes_run->text(), "wrong at n = 1151: out[1150] expected 2, got 1");
}

TEST(SizesRun, CountHiddenSizesThatAreLeftOutAndNameNone) {
  SizesRun run;
  run.dropped = {{{"a", {}, {}}, "the original races there"}, {{"a", {{"n", 31}}, {}}, "the original fails there"}};
  EXPECT_EQ(run.text(),
            "run at recorded sizes only; 1 size left out (n = 31): the original fails there; 1 size left "
            "out: the original races there");
}

TEST(SizesRun, NameNoneOfSeveralThatIsNotShown) {
  EXPECT_EQ(to_text({{"a", {}, ""}, {"a", {{"n", 25}}, ""}, {"a", {{"n", 31}}, ""}}), "n = 25, 31");
}

}  // namespace
}  // namespace kernelift
