// kernelift completion SHELL: prints the script by which a shell completes kernelift's command lines.
#include "cli/help/completion_script.h"
#include "cli/verbs.h"

namespace kernelift::cli {
namespace {

Action setup(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required();
  // When the verb runs, all verbs have added their options.
  const CLI::App* program = app.get_parent();
  return [shell, program](const Context& context) -> Result<Exit> {
    KERNELIFT_ASSIGN(std::string script, completion_script(*program, *shell));
    if (!context.json) print_own(script);
    context.emit({{"shell", *shell}, {"script", script}});
    return Exit::Done;
  };
}

}  // namespace

const Verb kCompletion = {"completion", "Print a script by which bash, zsh or fish completes command lines",
                          "source <(kernelift completion bash)    # in ~/.bashrc", setup};

}  // namespace kernelift::cli
