// Completions of command lines: what the scripts name, and what bash makes of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process.h"

namespace kernelift::cli {
namespace {

using ::testing::HasSubstr;

/// What kernelift prints to stdout.
std::string printed(std::vector<std::string> words) {
  words.insert(words.begin(), (executable_folder() / "kernelift").string());
  auto ran = run_process(words, {});
  return ran.ok() ? ran->out : ran.error().message;
}

/// All matches of the pattern's first group, line by line.
std::vector<std::string> found(const std::string& text, const char* pattern) {
  const std::regex expression(pattern, std::regex::multiline);
  std::vector<std::string> all;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) all.push_back((*at)[1]);
  return all;
}

/// The verbs that --help lists.
std::vector<std::string> verbs() {
  const std::string help = printed({"--help"});
  return found(help.substr(help.find("ubcommands:")), "^  ([a-z]+) ");
}

/// The options that the verb's --help lists, as it spells them.
std::vector<std::string> options(const std::string& verb) {
  std::vector<std::string> all;
  for (auto& line : found(printed({verb, "--help"}), "^  (-[^ ]+)"))
    for (auto& name : found(line + ",", "(-[^,]+),")) all.push_back(name);
  return all;
}

TEST(Completion, NamesEveryOptionOfEveryVerbInEveryShell) {
  const std::string bash = printed({"completion", "bash"}), zsh = printed({"completion", "zsh"}),
                    fish = printed({"completion", "fish"});
  const auto all = verbs();
  ASSERT_GE(all.size(), 16u);
  for (auto& verb : all) {
    const auto names = options(verb);
    EXPECT_GE(names.size(), 6u) << verb << " has the options of every verb at least";
    const std::string line = [&] {
      auto lines = found(bash, ("^ +" + verb + "\\) words='([^']*)' ;;$").c_str());
      return lines.size() == 1 ? " " + lines[0] + " " : std::string();
    }();
    const size_t begin = zsh.find("\n    " + verb + ")\n");
    ASSERT_NE(begin, zsh.npos) << verb;
    const std::string part = zsh.substr(begin, zsh.find(";;", begin) - begin);
    for (auto& name : names) {
      EXPECT_THAT(line, HasSubstr(" " + name + " ")) << verb;
      EXPECT_THAT(part, HasSubstr("'" + name + "[")) << verb;
      const std::string option = name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      EXPECT_THAT(found(fish, ("(__fish_seen_subcommand_from " + verb + "'.*" + option + " .*)$").c_str()),
                  ::testing::SizeIs(1))
          << verb << " " << name;
    }
  }
}

/// The answers of bash for the words of a command line, of which the last is being typed.
std::string completed(const std::string& words) {
  const std::string script =
      "set -e; eval \"$(\"$0\" completion bash)\"; COMP_WORDS=(" + words +
      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _kernelift || true; printf '%s ' \"${COMPREPLY[@]}\"";
  auto ran = run_process({"bash", "-c", script, (executable_folder() / "kernelift").string()}, {});
  return ran.ok() ? ran->out + ran->err : ran.error().message;
}

TEST(Completion, OffersInBashTheVerbsThenTheVerbsOptionsAndLeavesTheApplicationsCommandAlone) {
  EXPECT_EQ(completed("kernelift ex"), "extract export ");
  EXPECT_EQ(completed("kernelift replay --co"), "--cold --counters ");
  EXPECT_EQ(completed("kernelift replay mep --dev"), "--device ");
  EXPECT_EQ(completed("kernelift replay fol"), " ") << "bash completes files then";
  EXPECT_EQ(completed("kernelift record -- ./app --co"), " ") << "the options of another program";
}

TEST(Completion, IsRefusedForOtherShells) {
  auto ran = run_process({(executable_folder() / "kernelift").string(), "completion", "csh"}, {});
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->exit_code, 2);
  EXPECT_THAT(ran->err, HasSubstr("there are completions for bash, zsh and fish, not for 'csh'"));
}

TEST(Documents, OfEveryVerbSayWhatTheyAre) {
  auto folder = TemporaryFolder::create("documents");
  ASSERT_TRUE(folder.ok());
  for (auto& verb : verbs()) {
    if (verb == "mcp") continue;  // A server: what it says is its protocol's.
    // Without its arguments nearly every verb says what it lacks; that is a document, too.
    ProcessOptions options;
    options.folder = folder->path();
    auto ran = run_process({(executable_folder() / "kernelift").string(), verb, "--json"}, options);
    ASSERT_TRUE(ran.ok()) << verb;
    Json document = Json::parse(ran->out, nullptr, false);
    ASSERT_TRUE(document.is_object()) << verb << ": " << ran->out;
    const bool has_an_answer = verb == "doctor" || verb == "skill" || verb == "manual";
    EXPECT_EQ(document.value("format", ""), has_an_answer ? "kernelift-" + std::string(verb) : "kernelift-error");
    EXPECT_EQ(document.value("version", 0), 1) << verb;
  }
  Json script = Json::parse(printed({"completion", "bash", "--json"}), nullptr, false);
  EXPECT_EQ(script.value("format", ""), "kernelift-completion");
  EXPECT_EQ(script.begin().key(), "format") << "a reader of the first line sees what follows";
}

}  // namespace
}  // namespace kernelift::cli
