// kernelift skill: the text from which a coding agent learns to use Kernelift, printed or put where the agent looks.
#include "cli/skill_file.h"
#include "cli/verbs.h"
#include "core/base/file.h"

namespace kernelift::cli {
namespace {

struct Options {
  std::string agent, into = ".";
  bool replace = false;
};

Result<Exit> skill(const Options& options, const Context& context) {
  KERNELIFT_ASSIGN(std::string text, read_text(executable_folder().parent_path() / "lib" / "kernelift" / "skills" /
                                               "kernelift" / "SKILL.md"));
  if (options.agent.empty()) {
    if (context.json) context.emit({{"skill", text}});
    else KERNELIFT_TRY(context.deliver("-", text));
    return Exit::Done;
  }
  KERNELIFT_ASSIGN(SkillFile file, install_skill(options.agent, text, options.into, options.replace));
  context.say(file.text());
  context.emit({{"file", file.path.string()}, {"changed", file.done != SkillFile::Done::Kept}});
  return Exit::Done;
}

}  // namespace

const Verb kSkill = {
    "skill", "Print or install the text that teaches a coding agent to use Kernelift",
    "kernelift skill --install claude --into my-application", [](CLI::App& app) -> Action {
      auto options = std::make_shared<Options>();
      app.add_option("--install", options->agent, "Put it where this agent looks: claude, codex or cursor")
          ->check(CLI::IsMember({"claude", "codex", "cursor"}));
      app.add_option("--into", options->into, "The project's folder")->capture_default_str();
      app.add_flag("--replace", options->replace, "Write over text in the way that is not Kernelift's");
      return [options](const Context& context) { return skill(*options, context); };
    }};

}  // namespace kernelift::cli
