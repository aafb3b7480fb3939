// kernelift VERB …: finds the verb, parses its options, runs it, and prints its error, if any, exactly once. If the
// binary is called through a link with a compiler's name (nvcc, hipcc, clang++ …), it is that compiler's wrapper.
#include <algorithm>
#include <csignal>
#include <memory>
#include <span>
#include <sstream>

#include "cli/help/wrapped_help.h"
#include "cli/verbs.h"
#include "core/base/descriptor.h"
#include "core/base/shown/near_names.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"
#include "reintegrate/tree/patch_journal.h"
#include "sandbox/compile/cpu_image.h"

namespace {

using kernelift::Exit;
using kernelift::cli::Action;
using kernelift::cli::Context;
using kernelift::cli::settled;
using kernelift::cli::Verb;

const Verb* const kVerbs[] = {
    &kernelift::cli::kDoctor,   &kernelift::cli::kBuild,      &kernelift::cli::kScan,     &kernelift::cli::kRecord,
    &kernelift::cli::kExtract,  &kernelift::cli::kModel,      &kernelift::cli::kReplay,   &kernelift::cli::kEvaluate,
    &kernelift::cli::kTune,     &kernelift::cli::kApply,      &kernelift::cli::kOptimize, &kernelift::cli::kReport,
    &kernelift::cli::kSimulate, &kernelift::cli::kExport,     &kernelift::cli::kSelftest, &kernelift::cli::kMcp,
    &kernelift::cli::kSkill,    &kernelift::cli::kCompletion, &kernelift::cli::kManual,
};

/// The options of every verb, accepted before or after its own options.
void add_common_options(CLI::App& app, Context& context) {
  constexpr const char* kGroup = "Options of every verb";
  app.add_flag("--json", context.json, "Print one JSON document on stdout, all other output on stderr")->group(kGroup);
  app.add_option("--device", context.device, "auto (default: a GPU if there is one) | cpu | cuda[:N]")
      ->group(kGroup)
      ->check(CLI::Validator(
          [](std::string& text) {
            std::string kind = text.substr(0, text.find(':'));
            bool known = kind == "auto" || kind == "cpu" || kind == "cuda" || kind == "hip";
            return known ? std::string() : "a device is auto, cpu or cuda[:N], not '" + text + "'";
          },
          "DEVICE"));
  app.add_option("--state", context.state,
                 "State folder (default: .kernelift in this folder or the nearest one above; else a new one here)")
      ->group(kGroup);
  app.add_flag("-v,--verbose", context.verbosity, "Print more details on stderr")->group(kGroup);
}

/// Runs the verb. Errors are values in this project; exceptions from libraries are turned into an Error, after
/// destructors have restored open files.
kernelift::Result<Exit> guarded(const Verb& verb, const Action& action, Context& context) {
  try {
    if (verb.reads_sources && kernelift::reintegrate::PatchJournal::interrupted(context.state_folder()))
      return kernelift::refused(
          "an earlier `kernelift apply` was interrupted and its patch may still be in the sources or in the programs: "
          "restore them with `kernelift apply --rollback`");
    return action(context);
  } catch (const std::exception& error) {
    return kernelift::environment_error(std::string("internal error, please report it: ") + error.what());
  }
}

/// The first word of a verb's command line that looks like an option and is none; empty: there is none. What an option
/// should have been explains also why a required one is missing.
std::string unknown_option(const CLI::App& verb) {
  for (auto& word : verb.remaining())
    if (word.starts_with("--") && word.size() > 2) return word.substr(0, word.find('='));
  return "";
}

/// The message for a wrong command line, in the form of all other errors.
std::string usage_sentence(const CLI::App& app, const CLI::Error& error) {
  std::string verb = "kernelift", sentence = error.what();
  for (auto* sub : app.get_subcommands()) {
    verb += " " + sub->get_name();
    if (const std::string word = unknown_option(*sub); !word.empty()) {
      std::vector<std::string> names;
      for (const CLI::Option* option : sub->get_options({}))
        for (auto& name : option->get_lnames()) names.push_back("--" + name);
      const std::string near = kernelift::did_you_mean(word, names);
      sentence = "there is no option " + kernelift::shown_line(word) + (near.empty() ? "; " : near + " ");
      return verb + ": " + sentence + verb + " --help lists all";
    }
  }
  return verb + ": " + sentence + "; see " + verb + " --help";
}

/// Reports a wrong command line. Its options were not parsed, so --json is searched for by hand, in the words before
/// "--".
Exit wrong_usage(const std::string& sentence, std::span<char*> words) {
  auto own = words.first(static_cast<size_t>(std::ranges::find(words, std::string_view("--")) - words.begin()));
  Context context;
  context.json = std::ranges::find(own, std::string_view("--json")) != own.end();
  context.note_lines(sentence);
  context.emit_error(sentence.substr(sentence.find(": ") + 2), Exit::Usage);
  return Exit::Usage;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Kernelift extracts a hot GPU kernel from an application, tunes it in isolation on its recorded inputs, and "
      "patches the application with the result if that makes it faster."};
  app.name("kernelift");
  constexpr size_t kWidest = 100;
  app.formatter(std::make_shared<kernelift::cli::WrappedHelp>(std::min(kWidest, Context::columns())));
  app.require_subcommand(1);
  app.set_version_flag("--version", KERNELIFT_VERSION);
  app.footer("Start with: kernelift doctor, then kernelift optimize --help");

  Context context;
  context.arguments = argv;
  struct Choice {
    const Verb& verb;
    CLI::App* options;
    Action action;
  };
  std::vector<Choice> choices;
  for (const Verb* verb : kVerbs) {
    CLI::App* sub = app.add_subcommand(verb->name, verb->summary);
    sub->footer(std::string("Example:\n  ") + verb->example);
    add_common_options(*sub, context);
    choices.push_back({*verb, sub, verb->setup(*sub)});
  }
  if (argc == 1) {
    kernelift::cli::print_own(app.help());
    return static_cast<int>(settled(Exit::Usage));
  }
  // `kernelift help tune` is `kernelift tune --help`.
  static char help[] = "--help";
  if (std::string_view(argv[1]) == "help" && argc <= 3) {
    if (argc == 3) argv[1] = argv[2];
    argv[argc - 1] = help;
  }
  std::string word = argv[1];
  bool known = std::ranges::any_of(kVerbs, [&](const Verb* verb) { return verb->name == word; });
  const std::span words(argv, static_cast<size_t>(argc));
  if (!known && !word.starts_with('-')) {
    std::vector<std::string> verbs;
    for (const Verb* verb : kVerbs) verbs.emplace_back(verb->name);
    const std::string near = kernelift::did_you_mean(word, verbs);
    return static_cast<int>(wrong_usage("kernelift: there is no verb '" + kernelift::shown_line(word) + "'" +
                                            (near.empty() ? ";" : near) + " kernelift --help lists all verbs",
                                        words));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help or --version.
      std::ostringstream text;
      app.exit(error, text, text);
      kernelift::cli::print_own(text.str());
      return static_cast<int>(settled(Exit::Done));
    }
    return static_cast<int>(wrong_usage(usage_sentence(app, error), words));
  }
  for (auto& [verb, options, action] : choices) {
    if (!options->parsed()) continue;
    context.verb = verb.name;
    auto outcome = guarded(verb, action, context);
    if (outcome.ok()) return static_cast<int>(settled(*outcome));
    const kernelift::Error& error = outcome.error();
    context.note_lines(std::string("kernelift ") + verb.name + ": " + error.message);
    context.emit_error(error.message, error.exit);
    return static_cast<int>(settled(error.exit));
  }
  return static_cast<int>(Exit::Usage);
}

}  // namespace

int main(int argc, char** argv) {
  kernelift::hold_standard_streams();
  std::signal(SIGCHLD, SIG_DFL);  // An ignored one is inherited, and waitpid() could not say how a child ended.
  std::signal(SIGPIPE, SIG_IGN);  // A closed pipe must be a failed write, not the end of a six-hour run.
  if (kernelift::is_wrapper_name(argv[0]))
    return kernelift::wrapper_main(argc, argv, kernelift::sandbox::make_cpu_image);
  kernelift::keep_secrets_of_environment();
  kernelift::raise_descriptor_limit();
  return run(argc, argv);
}
