// Text from outside: what a terminal would obey, what the eye would not see, and what would fill a screen is shown as
// what it is; text as people write it stays as it is.
#include "core/base/shown/outside_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelift {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(OutsideText, LeavesOrdinaryTextAsItIs) {
  for (std::string text :
       {"", "plain", "naïve — 1.5× faster, ½ the time", "核 カーネル ядро", "a < b && c > d", "x ? y : z"}) {
    EXPECT_EQ(shown_line(text), text);
    EXPECT_EQ(shown_lines(text), text);
  }
  EXPECT_EQ(shown_lines("two\nlines\n"), "two\nlines\n");
  EXPECT_EQ(shown_lines("\ta\r\nb\r\n"), "\ta\nb\n");
}

TEST(OutsideText, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(shown_line("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(shown_line("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(shown_line("a\bb\x7f"), "a\\x08b\\x7f");
  EXPECT_EQ(shown_line(std::string("nul\0here", 8)), "nul\\x00here");
  EXPECT_EQ(shown_line("\xc2\x9b"
                       "31m"),
            "\\u009b31m")
      << "C1 as UTF-8";
  EXPECT_EQ(shown_line("\x9b"
                       "31m"),
            "\\x9b31m")
      << "C1 as a byte";
  EXPECT_EQ(shown_lines("safe\rFORGED"), "safe\\rFORGED");
}

TEST(OutsideText, ShowsWhatTheEyeWouldNotSee) {
  EXPECT_EQ(shown_line("if (admin\u202e\u2066) {"), "if (admin\\u202e\\u2066) {");
  EXPECT_EQ(shown_line("a\u200bb\ufeff\u00ad\u2060"), "a\\u200bb\\ufeff\\u00ad\\u2060");
  EXPECT_EQ(shown_line("\U000e0041"), "\\U000e0041") << "a tag";
  EXPECT_EQ(shown_line("one\u2028two\u2029"), "one\\u2028two\\u2029");
}

TEST(OutsideText, IsAlwaysUtf8) {
  EXPECT_EQ(shown_line("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(shown_line("\xc0\xaf"), "\\xc0\\xaf") << "too long a form";
  EXPECT_EQ(shown_line("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half a surrogate pair";
  EXPECT_EQ(shown_line("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last character";
  EXPECT_EQ(shown_line("\xe2\x82"), "\\xe2\\x82") << "cut off";
}

TEST(OutsideText, KeepsOneLineOneLine) {
  EXPECT_EQ(shown_line("first\nkernelift: kept\r\n\tthird"), "first kernelift: kept   third");
}

TEST(OutsideText, CutsALineAndSaysHowMuchItLeftOut) {
  EXPECT_EQ(shown_line("0123456789", 10), "0123456789");
  EXPECT_EQ(shown_line("0123456789ab", 10), "0123456789 … (2 more bytes)");
  EXPECT_EQ(shown_line("012345678é", 10), "012345678 … (2 more bytes)") << "no half characters";
  EXPECT_LT(shown_line(std::string(400000, '1')).size(), kLongestLine + 40);
  EXPECT_THAT(shown_line(std::string(400000, '1')), EndsWith("… (398000 more bytes)"));
  EXPECT_LT(shown_line(std::string(400000, '\x1b')).size(), kLongestLine + 40) << "escapes count as they are shown";
}

TEST(OutsideText, CutsLongOutputAndEachOfItsLines) {
  EXPECT_EQ(shown_lines("0123456789ab\nshort\n", 10), "0123456789 … (2 more bytes)\nshort\n");
  std::string flood;
  for (int i = 0; i < 400000; ++i) flood += "a warning\n";
  EXPECT_LT(shown_lines(flood).size(), kLongestMessage + 100);
  EXPECT_THAT(shown_lines(flood), HasSubstr("more bytes)"));
  EXPECT_EQ(shown_lines("a\nb\nc", 10, 2), "a\nb … (2 more bytes)");
}

TEST(OutsideText, IsNoMarkdown) {
  EXPECT_EQ(markdown_text("a *b* `c` [d](e) <f> |g| $h$ \\i"),
            "a \\*b\\* \\`c\\` \\[d\\](e) \\<f> \\|g\\| \\$h\\$ \\\\i");
  EXPECT_EQ(markdown_text("# head"), "\\# head");
  EXPECT_EQ(markdown_text("- item"), "\\- item");
  EXPECT_EQ(markdown_text("1. item"), "1\\. item");
  EXPECT_EQ(markdown_text("> quoted"), "\\> quoted");
  EXPECT_EQ(markdown_text("it is 1.5 of sm_90 - all"), "it is 1.5 of sm_90 - all");
  EXPECT_EQ(markdown_text("_x_ &amp; & b"), "\\_x\\_ \\&amp; & b");
  EXPECT_THAT(markdown_text("one\n# two"), Not(HasSubstr("\n")));
}

TEST(OutsideText, StaysInsideItsCodeInMarkdown) {
  EXPECT_EQ(markdown_code("k<float>(int*)"), "`k<float>(int*)`");
  EXPECT_EQ(markdown_code("a`b"), "``a`b``");
  EXPECT_EQ(markdown_code("`"), "`` ` ``");
  EXPECT_THAT(markdown_code("a\n\nb"), Not(HasSubstr("\n")));
  EXPECT_EQ(markdown_block("x\n```\ny"), "````\nx\n```\ny\n````\n");
}

TEST(OutsideText, DoesNotLeaveItsComment) {
  EXPECT_THAT(comment_text("a\nint evil;"), Not(HasSubstr("\n")));
  EXPECT_THAT(comment_text("a\\"), Not(EndsWith("\\")));
  EXPECT_THAT(comment_text(std::string("a?") + "?/"), Not(HasSubstr(std::string("?") + "?/")));
  EXPECT_THAT(comment_text("a\u2028int evil;"), Not(HasSubstr("\u2028")));
}

TEST(OutsideText, IsNoHtml) {
  EXPECT_EQ(html_text("<b a=\"1\" c='2'>&\n"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\n");
  EXPECT_EQ(html_text("\u202e\x1b"), "\\u202e\\x1b");
}

TEST(OutsideText, CutsBetweenCharacters) {
  EXPECT_EQ(whole_characters("abé", 3), "ab");
  EXPECT_EQ(whole_characters("abé", 4), "abé");
  EXPECT_EQ(whole_characters("é", 1), "");
}

}  // namespace
}  // namespace kernelift
