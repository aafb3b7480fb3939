// Manual pages: that they say what --help says, in a form that man shows without a complaint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "core/base/file.h"
#include "core/base/process.h"

namespace kernelift::cli {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

ProcessOutcome ran(std::vector<std::string> words) {
  words.insert(words.begin(), (executable_folder() / "kernelift").string());
  auto outcome = run_process(words, {});
  return outcome.ok() ? *outcome : ProcessOutcome{};
}

std::vector<std::string> found_in(const std::string& text, const char* pattern) {
  const std::regex expression(pattern, std::regex::multiline);
  std::vector<std::string> all;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) all.push_back((*at)[1]);
  return all;
}

/// As it is read: hyphens without their escapes.
std::string plain(std::string page) {
  for (size_t at; (at = page.find("\\-")) != page.npos;) page.erase(at, 1);
  return page;
}

TEST(Manual, HasAPageForEveryVerbWithItsOptions) {
  auto scratch = std::move(*TemporaryFolder::create("kernelift-manual"));
  ASSERT_EQ(ran({"manual", "--out", scratch.path().string()}).exit_code, 0);
  const std::string all = plain(*read_text(scratch.path() / "kernelift.1"));
  const std::string help = ran({"--help"}).out;
  const auto verbs = found_in(help.substr(help.find("ubcommands:")), "^  ([a-z]+) ");
  ASSERT_GE(verbs.size(), 16u);
  for (auto& verb : verbs) {
    EXPECT_THAT(all, HasSubstr("kernelift-" + verb));
    const std::string page = plain(*read_text(scratch.path() / ("kernelift-" + verb + ".1")));
    for (auto& line : found_in(ran({verb, "--help"}).out, "^  (-[^ ]+)"))
      for (auto& name : found_in(line + ",", "(-[^,]+),")) EXPECT_THAT(page, HasSubstr(name)) << verb;
    EXPECT_THAT(page, HasSubstr(".SH EXAMPLE")) << verb;
  }
}

TEST(Manual, IsShownByManWithoutAComplaint) {
  if (!find_program("groff")) GTEST_SKIP() << "groff is not installed";
  auto scratch = std::move(*TemporaryFolder::create("kernelift-manual"));
  ASSERT_EQ(ran({"manual", "--out", scratch.path().string()}).exit_code, 0);
  for (auto& page : fs::directory_iterator(scratch.path())) {
    auto shown = run_process({"groff", "-man", "-Tascii", "-ww", page.path().string()}, {});
    ASSERT_TRUE(shown.ok());
    EXPECT_EQ(shown->err, "") << page.path();
  }
}

TEST(Manual, OfAnUnknownVerbIsAUsageError) {
  auto outcome = ran({"manual", "tuna"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("there is no verb 'tuna'"));
}

}  // namespace
}  // namespace kernelift::cli
