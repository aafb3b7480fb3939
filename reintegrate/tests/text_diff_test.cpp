// Line differences: fewest lines, exact reconstruction, and the unified form.
#include "reintegrate/patch/text_diff.h"

#include <gtest/gtest.h>

#include <random>

namespace kernelift::reintegrate {
namespace {

std::string rebuild(std::string_view from, std::string_view to) {
  auto a = split_lines(from), b = split_lines(to);
  std::string text;
  size_t at = 0;
  for (auto& hunk : diff_lines(a, b)) {
    for (; at < hunk.old_begin; ++at) text += std::string(a[at].text) + "\n";
    for (size_t n = hunk.new_begin; n < hunk.new_end; ++n) text += std::string(b[n].text) + "\n";
    at = hunk.old_end;
  }
  for (; at < a.size(); ++at) text += std::string(a[at].text) + "\n";
  return text;
}

TEST(TextDiff, FindsOneChangedLine) {
  auto hunks = diff_lines(split_lines("a\nb\nc\n"), split_lines("a\nB\nc\n"));
  ASSERT_EQ(hunks.size(), 1u);
  EXPECT_EQ(hunks[0].old_begin, 1u);
  EXPECT_EQ(hunks[0].old_end, 2u);
  EXPECT_EQ(hunks[0].new_end, 2u);
}

TEST(TextDiff, IgnoresLineEnds) { EXPECT_TRUE(diff_lines(split_lines("a\r\nb\r\n"), split_lines("a\nb")).empty()); }

TEST(TextDiff, SplitsLinesWithTheirExactEnds) {
  auto lines = split_lines("a\r\n\nb");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].end, "\r\n");
  EXPECT_EQ(lines[1].text, "");
  EXPECT_EQ(lines[2].end, "");
}

TEST(TextDiff, RebuildsRandomEditsExactly) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string from, to;
    for (int i = 0, n = random() % 30; i < n; ++i) {
      std::string line = std::string(1, static_cast<char>('a' + random() % 4)) + "\n";
      if (random() % 4) from += line;
      if (random() % 4) to += line;
    }
    EXPECT_EQ(rebuild(from, to), to) << "from\n" << from;
  }
}

TEST(TextDiff, FindsTheFewestChangedLines) {
  auto hunks = diff_lines(split_lines("a\nb\nc\na\nb\nb\na\n"), split_lines("c\nb\na\nb\na\nc\n"));
  size_t edits = 0;
  for (auto& hunk : hunks) edits += hunk.old_end - hunk.old_begin + hunk.new_end - hunk.new_begin;
  EXPECT_EQ(edits, 5u);  // Myers' own example.
}

TEST(TextDiff, PrintsTheUnifiedForm) {
  EXPECT_EQ(unified_diff("k.cu", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            "--- a/k.cu\n+++ b/k.cu\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(TextDiff, MarksALastLineWithoutALineEnd) {
  EXPECT_EQ(unified_diff("k", "a", "b"),
            "--- a/k\n+++ b/k\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n");
}

}  // namespace
}  // namespace kernelift::reintegrate
