// The final table of `optimize`: what it reads from the report of apply, and what it prints.
#include "cli/loop/loop_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelift::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Json applied(const char* outcome, const char* way_back) {
  return {{"outcome", outcome},
          {"why", "so it is"},
          {"candidate", 16},
          {"branch", *way_back ? "kernelift/k-1" : ""},
          {"way_back", way_back},
          {"predicted", {{"kernel_gain", 1.5}, {"whole", 1.2}}},
          {"measured", {{"speedup", 1.25}}}};
}

LoopRow row_of(const Json& document, int exit_code, bool interrupted = false) {
  LoopRow row;
  row.kernel = "k(float*)", row.share = 0.5;
  read_applied(document, exit_code, interrupted, row);
  return row;
}

TEST(LoopTable, PrintsTheFiguresAndReasonFromTheReportOfApply) {
  LoopRow row = row_of(applied("kept", "git switch main"), 0);
  EXPECT_THAT(
      table_text({row}, true),
      AllOf(HasSubstr("50.0%        1.500x      1.200x      1.250x   kept         k\n          #16: so it is\n"),
            HasSubstr("step by step on the CPU device, not on a GPU: 1.250x\nThe patched application is on branch "
                      "kernelift/k-1; go back to the original with: git switch main")));
  Json json = to_json(row);
  EXPECT_EQ(json["candidate"], 16);
  EXPECT_EQ(json["kernel_gain"], 1.5);
  EXPECT_EQ(json["measured"], 1.25);
  EXPECT_EQ(json["way_back"], "git switch main");
}

TEST(LoopTable, CountsAKeptPatchEvenIfAnInterruptionFollowed) {
  LoopRow row = row_of(applied("kept", "git switch main"), 0, true);
  EXPECT_EQ(row.outcome, "kept");
  EXPECT_THAT(table_text({row}, false), AllOf(HasSubstr("go back to the original with: git switch main"),
                                              Not(HasSubstr("The application is unchanged"))));
  EXPECT_EQ(row_of(applied("interrupted", ""), 130, true).outcome, "interrupted");
}

TEST(LoopTable, DistinguishesKernelsOfTheSameName) {
  LoopRow plain = row_of(applied("not_faster", ""), 1), other = plain, here = plain, there = plain;
  other.kernel = "k(int)", here.kernel = there.kernel = "step(int)";
  here.id = "12ab", here.file = "src/one.cu", there.id = "34cd", there.file = "src/two.cu";
  EXPECT_THAT(table_text({plain, other, here, there}, false),
              AllOf(HasSubstr(" k(float*)\n"), HasSubstr(" k(int)\n"),
                    HasSubstr(" step of src/one.cu (the share is that of all"), HasSubstr(" step of src/two.cu (")));
}

TEST(LoopTable, DetectsALaunchThatIsTooLongToTuneFromItsRecordedDuration) {
  LoopRow row;
  EXPECT_EQ(too_long_to_tune(row, 5), "") << "the duration is not known";
  row.launch_seconds = 7;
  EXPECT_THAT(
      too_long_to_tune(row, 20),
      HasSubstr(
          "took 7 s, and tuning runs it a dozen times before a first candidate is judged: that is more than the 20 s"));
  EXPECT_EQ(too_long_to_tune(row, 60), "") << "in the MEP it may take half the time";
}

TEST(LoopTable, MultipliesTheSpeedupsOfKeptPatchesOnly) {
  LoopRow kept = row_of(applied("kept", "git switch main"), 0), back = row_of(applied("not_faster", ""), 1);
  EXPECT_EQ(back.outcome, "rolled back");
  EXPECT_EQ(row_of(applied("too_small", ""), 1).outcome, "too small");
  EXPECT_DOUBLE_EQ(whole_gain({kept, back, kept}), 1.25 * 1.25);
  EXPECT_EQ(whole_gain({back}), 1);
  EXPECT_THAT(table_text({back}, false), HasSubstr("The application is unchanged."));
}

TEST(LoopTable, TheWayBackLeavesEachRepositoryByItsFirstPatch) {
  auto kept = [](const std::string& repository, const std::string& back) {
    Json report = applied("kept", back.c_str());
    report["commits"] = {{{"repository", repository}, {"way_back", back}}};
    return row_of(report, 0);
  };
  const LoopRow one = kept("/library", "git -C /library switch main"), next = kept("", "git switch dev"),
                last = kept("/library", "git -C /library switch kernelift/k-1");
  EXPECT_EQ(way_back({one, row_of(applied("not_faster", ""), 1), next, last}),
            "git -C /library switch main && git switch dev");
  EXPECT_THAT(table_text({one, next, last}, false),
              HasSubstr("go back to the original with: git -C /library switch main && git switch dev"));
}

TEST(LoopTable, ReadsWhatBecameOfKernelsThatWereAppliedTogether) {
  LoopRow a = row_of(applied("too_small", ""), 1), b = a, c = a, d = a;
  EXPECT_TRUE(a.hidden);
  a.run = ".kernelift/runs/a-1.klrun", b.run = "b-1.klrun", c.run = "c-1.klrun", d.run = "d-1.klrun";
  std::vector<LoopRow> rows{a, b, c, d};
  const Json trial = {
      {"measured", {{"speedup", 1.05}}}, {"branch", "kernelift/together-1"}, {"way_back", "git switch x"}};
  const Json document = {
      {"kernels",
       {{{"run", "a-1.klrun"}, {"kept", true}, {"trial", 1}, {"candidate", 7}, {"why", "kept together with b"}},
        {{"run", "b-1.klrun"}, {"kept", true}, {"trial", 1}, {"candidate", 3}, {"why", "kept together with a"}},
        {{"run", "c-1.klrun"}, {"kept", false}, {"trial", 0}, {"why", "dropped: the check fails with it"}}}},
      {"left_out", {{{"run", "d-1.klrun"}, {"why", "nothing to apply"}}}},
      {"trials", {Json::object(), trial}}};
  read_together(document, rows);
  EXPECT_TRUE(rows[0].kept() && rows[1].kept() && !rows[2].kept());
  EXPECT_EQ(rows[0].candidate, 7);
  EXPECT_EQ(rows[2].outcome, "too small");
  EXPECT_EQ(rows[2].why, "so it is; with others: dropped: the check fails with it");
  EXPECT_EQ(rows[3].why, "so it is; not tried with others: nothing to apply");
  EXPECT_DOUBLE_EQ(whole_gain(rows), 1.05) << "one patch counts once";
  EXPECT_THAT(table_text(rows, false), HasSubstr("on branch kernelift/together-1"));
}

TEST(LoopTable, AGainIsHiddenUnlessTheApplicationIsSlowerForCertain) {
  Json slower = applied("not_faster", ""), perhaps = slower;
  slower["measured"]["speedup_high"] = 0.98, perhaps["measured"]["speedup_high"] = 1.005;
  EXPECT_FALSE(row_of(slower, 1).hidden);
  EXPECT_TRUE(row_of(perhaps, 1).hidden);
  EXPECT_FALSE(row_of(applied("check_failed", ""), 1).hidden);
}

TEST(LoopTable, TakesTheReasonFromTheErrorIfApplyHasNoReport) {
  LoopRow refused = row_of({{"error", "it cannot be patched"}}, 4), none = row_of({{"error", "nothing is faster"}}, 1);
  EXPECT_EQ(refused.outcome, "refused");
  EXPECT_EQ(refused.why, "it cannot be patched");
  EXPECT_EQ(none.outcome, "no gain");
  EXPECT_EQ(to_json(none)["candidate"], nullptr);
  EXPECT_EQ(row_of(nullptr, 3).why, "it exited with 3");
}

TEST(LoopTable, CallsAKernelUndecidedIfTheTimeEndedTheSearch) {
  LoopRow none = row_of({{"error", "no gain held up (5 candidates)"}}, 1),
          refused = row_of({{"error", "it cannot be patched"}}, 4);
  for (auto* row : {&none, &refused}) {
    row->stopped_by = "time", row->tried = 83, row->seconds = 52;
    mark_undecided(*row, "kernelift tune k --resume");
  }
  EXPECT_EQ(none.outcome, "undecided");
  EXPECT_EQ(none.why,
            "no gain held up (5 candidates); the time was over after 83 candidates (52 s), to search on: kernelift "
            "tune k --resume");
  EXPECT_EQ(refused.outcome, "refused");
  EXPECT_EQ(refused.why, "it cannot be patched");
}

TEST(LoopTable, SumsUpKernelsWithTooSmallAShareInOneLine) {
  LoopRow small;
  small.kernel = "tiny()", small.share = 0.01;
  EXPECT_THAT(
      table_text({small, small}, false),
      AllOf(HasSubstr("2.0%"), HasSubstr("2 kernels with too small a share to matter"), Not(HasSubstr("tiny"))));
  EXPECT_THAT(table_text({small}, false), HasSubstr("most of the run time is not spent in kernels: give --run a case"))
      << "no kernel is worth tuning";
  LoopRow other = small;
  other.share = 0.5;
  EXPECT_THAT(table_text({small, other}, false), Not(HasSubstr("not spent in kernels")));
}

}  // namespace
}  // namespace kernelift::cli
