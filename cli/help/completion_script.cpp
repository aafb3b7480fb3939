// Each script is one table of verbs and options in the shell's own words. What is no option is completed as a file.
#include "cli/help/completion_script.h"

#include <algorithm>

namespace kernelift::cli {
namespace {

struct Completed {
  std::vector<std::string> names;  ///< With their dashes.
  std::string about;
  bool takes_value = false;
};

std::vector<Completed> options_of(const CLI::App& app) {
  std::vector<Completed> all;
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return !o->get_group().empty(); })) {
    Completed one{{}, option->get_description(), option->get_type_size_max() > 0};
    for (auto& name : option->get_snames()) one.names.push_back("-" + name);
    for (auto& name : option->get_lnames()) one.names.push_back("--" + name);
    if (!one.names.empty()) all.push_back(std::move(one));
  }
  return all;
}

std::vector<const CLI::App*> verbs_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

/// `text` with a backslash before each of `marks`.
std::string escaped(const std::string& text, const std::string& marks) {
  std::string out;
  for (char c : text) {
    if (marks.find(c) != marks.npos) out += '\\';
    out += c;
  }
  return out;
}

/// One word of a shell that knows no escapes within single quotes (bash, zsh).
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string words_of(const std::vector<Completed>& options) {
  std::string words;
  for (auto& option : options)
    for (auto& name : option.names) words += (words.empty() ? "" : " ") + name;
  return words;
}

std::string bash(const CLI::App& program) {
  std::string verbs, cases;
  for (const CLI::App* verb : verbs_of(program)) {
    verbs += verb->get_name() + " ";
    cases += "    " + verb->get_name() + ") words=" + quoted(words_of(options_of(*verb))) + " ;;\n";
  }
  return "# kernelift in bash: source <(kernelift completion bash)\n"
         "_kernelift() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} words= at\n"
         "  COMPREPLY=()\n"
         "  # What follows -- is a command of the application.\n"
         "  for ((at = 1; at < COMP_CWORD; at++)); do [[ ${COMP_WORDS[at]} == -- ]] && return; done\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W " +
         quoted(verbs + words_of(options_of(program))) +
         " -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  [[ $word == -* ]] && COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  return 0\n"
         "}\n"
         "complete -o bashdefault -o default -F _kernelift kernelift\n";
}

std::string zsh(const CLI::App& program) {
  auto specs = [](const CLI::App& app) {
    std::string text;
    for (auto& option : options_of(app))
      for (auto& name : option.names)
        text += " \\\n        " +
                quoted(name + "[" + escaped(option.about, "[]:\\") + "]" + (option.takes_value ? ":value:_files" : ""));
    return text;
  };
  std::string verbs, cases;
  for (const CLI::App* verb : verbs_of(program)) {
    verbs += "    " + quoted(escaped(verb->get_name(), ":") + ":" + escaped(verb->get_description(), "\\")) + "\n";
    cases += "    " + verb->get_name() + ")\n      _arguments" + specs(*verb) + " \\\n        '*:file:_files' ;;\n";
  }
  return "#compdef kernelift\n"
         "# kernelift in zsh: source <(kernelift completion zsh), after compinit; or as _kernelift in a folder of "
         "fpath\n"
         "_kernelift() {\n"
         "  local -a verbs=(\n" +
         verbs +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe -t verbs verb verbs\n"
         "    _arguments" +
         specs(program) +
         "\n    return\n"
         "  fi\n"
         "  local verb=$words[2]\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $verb in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [[ ${funcstack[1]} == _kernelift ]]; then _kernelift \"$@\"; else compdef _kernelift kernelift; fi\n";
}

std::string fish(const CLI::App& program) {
  auto word = [](const std::string& text) { return "'" + escaped(text, "'\\") + "'"; };
  auto options = [&](const CLI::App& app, const std::string& when) {
    std::string lines;
    for (auto& option : options_of(app)) {
      lines += "complete -c kernelift -n " + word(when);
      for (auto& name : option.names)
        lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      lines += std::string(option.takes_value ? " -r" : "") + " -d " + word(option.about) + "\n";
    }
    return lines;
  };
  std::string text =
      "# kernelift in fish: kernelift completion fish | source\n" + options(program, "__fish_use_subcommand");
  for (const CLI::App* verb : verbs_of(program))
    text += "complete -c kernelift -f -n __fish_use_subcommand -a " + verb->get_name() + " -d " +
            word(verb->get_description()) + "\n" + options(*verb, "__fish_seen_subcommand_from " + verb->get_name());
  return text;
}

}  // namespace

Result<std::string> completion_script(const CLI::App& program, const std::string& shell) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return zsh(program);
  if (shell == "fish") return fish(program);
  return usage_error("there are completions for bash, zsh and fish, not for '" + shell + "'");
}

}  // namespace kernelift::cli
