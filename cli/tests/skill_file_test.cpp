// Where the text for agents is put, and that no text of the user's is lost by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/skill_file.h"
#include "core/base/file.h"
#include "core/tests/slot_folder.h"

namespace kernelift::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kSkill = "---\nname: kernelift\ndescription: Make kernels fast.\n---\n\n# How\n\nAsk.\n";
constexpr const char* kNewer = "---\nname: kernelift\ndescription: Make kernels fast.\n---\n\n# How\n\nAsk twice.\n";

std::string text_at(const SlotFolder& folder, const char* name) { return *read_text(folder.path() / name); }

TEST(SkillFile, IsWhereEachAgentLooksWithTheHeadThatItReads) {
  SlotFolder folder;
  for (const char* agent : {"claude", "codex", "cursor"}) {
    auto put = install_skill(agent, kSkill, folder.path(), false);
    ASSERT_TRUE(put.ok()) << put.error().message;
    EXPECT_EQ(install_skill(agent, kSkill, folder.path(), false)->done, SkillFile::Done::Kept);
  }
  EXPECT_THAT(text_at(folder, ".claude/skills/kernelift/SKILL.md"),
              AllOf(StartsWith("---\nname: kernelift\n"), HasSubstr("# How\n\nAsk.\n")));
  EXPECT_THAT(text_at(folder, ".cursor/rules/kernelift.mdc"),
              AllOf(StartsWith("---\ndescription: Make kernels fast.\nalwaysApply: false\n---\n"), HasSubstr("Ask.")));
  EXPECT_THAT(text_at(folder, "AGENTS.md"), StartsWith("<!-- kernelift:begin "));
  EXPECT_FALSE(install_skill("emacs", kSkill, folder.path(), false).ok());
  EXPECT_FALSE(install_skill("claude", kSkill, folder.path() / "none", false).ok());
}

TEST(SkillFile, ReplacesItsOwnSectionAndNothingElse) {
  SlotFolder folder;
  ASSERT_TRUE(write_atomically(folder.path() / "AGENTS.md", std::string_view("# Ours\n\nUse tabs.")).ok());
  auto put = install_skill("codex", kSkill, folder.path(), false);
  ASSERT_TRUE(put.ok()) << put.error().message;
  EXPECT_EQ(put->done, SkillFile::Done::Added);
  ASSERT_TRUE(
      write_atomically(folder.path() / "AGENTS.md", std::string_view(text_at(folder, "AGENTS.md") + "Behind.\n")).ok());
  EXPECT_EQ(install_skill("codex", kNewer, folder.path(), false)->done, SkillFile::Done::Replaced);
  EXPECT_THAT(text_at(folder, "AGENTS.md"),
              AllOf(StartsWith("# Ours\n\nUse tabs.\n\n<!-- kernelift:begin "), HasSubstr("Ask twice."),
                    ::testing::Not(HasSubstr("Ask.")), ::testing::EndsWith("<!-- kernelift:end -->\nBehind.\n")));
}

TEST(SkillFile, RefusesToWriteOverWhatAUserWroteUnlessAsked) {
  SlotFolder folder;
  const auto file = folder.path() / ".cursor/rules/kernelift.mdc";
  ASSERT_TRUE(write_atomically(file, std::string_view("my rules\n")).ok());
  auto put = install_skill("cursor", kSkill, folder.path(), false);
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().exit, Exit::Refused);
  EXPECT_THAT(put.error().message, HasSubstr("--replace"));
  EXPECT_EQ(text_at(folder, ".cursor/rules/kernelift.mdc"), "my rules\n");
  EXPECT_TRUE(install_skill("cursor", kSkill, folder.path(), true).ok());
  std::string text = text_at(folder, ".cursor/rules/kernelift.mdc");
  text.replace(text.find("Ask."), 4, "Ask me.");
  ASSERT_TRUE(write_atomically(file, std::string_view(text)).ok());
  EXPECT_FALSE(install_skill("cursor", kNewer, folder.path(), false).ok()) << "the section was changed by hand";
  EXPECT_EQ(text_at(folder, ".cursor/rules/kernelift.mdc"), text);
}

}  // namespace
}  // namespace kernelift::cli
