// The progress line of `tune`: what it contains, and how it is shortened.
#include "cli/progress_line.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kernelift::cli {
namespace {

tuner::Progress under_way() {
  tuner::Progress progress;
  progress.tried = 12, progress.failed = 3, progress.best = 1.25, progress.tier = "compiler",
  progress.seconds_left = 90;
  progress.best_note = "source: " + std::string(200, 'n');
  return progress;
}

/// Characters, of which each begins with a byte that continues none.
size_t characters(const std::string& line) {
  return static_cast<size_t>(std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }));
}

TEST(ProgressLine, ShortensTheNoteToFitTheTerminal) {
  for (size_t columns = 70; columns < 140; ++columns) {
    std::string line = progress_line(under_way(), columns);
    EXPECT_LT(characters(line), columns);
    EXPECT_TRUE(line.starts_with("tried 12 (3 failed)  best at least 1.250x")) << line;
    EXPECT_TRUE(line.ends_with("  now compiler  1m 30s left")) << line;
  }
  EXPECT_EQ(progress_line(under_way(), 80),
            "tried 12 (3 failed)  best at least 1.250x source …  now compiler  1m 30s left");
  tuner::Progress words = under_way();
  words.best_note = "source: unroll the loop over k (by 4), and much more";
  EXPECT_EQ(progress_line(words, 100),
            "tried 12 (3 failed)  best at least 1.250x source: unroll the loop …  now compiler  1m 30s left");
}

TEST(ProgressLine, IsCutOffIfItDoesNotFitWithoutTheNote) {
  const std::string without_note = "tried 12 (3 failed)  best at least 1.250x  now compiler  1m 30s left";
  for (size_t columns = 1; columns <= without_note.size() + 1; ++columns)
    EXPECT_EQ(progress_line(under_way(), columns), without_note.substr(0, columns - 1)) << columns;
}

TEST(ProgressLine, DoesNotClaimABestCandidateBeforeThereIsOne) {
  tuner::Progress progress;
  progress.tier = "source", progress.evaluations_left = 7;
  EXPECT_EQ(progress_line(progress, 200), "tried 0 (0 failed)  best 1.000x  now source  7 left");
}

}  // namespace
}  // namespace kernelift::cli
