// kernelift build: runs the application's own build command. For the CPU device, Kernelift's compiler wrappers are
// first on PATH. For other devices the build is its own, and only watched: core/compiler/wrappers has both. This verb
// makes the build's environment and counts the logged compile commands.
#include <cstdlib>
#include <optional>

#include "cli/verbs.h"
#include "core/base/executable.h"
#include "core/base/file.h"
#include "core/compiler/wrappers/build_folder.h"
#include "core/compiler/wrappers/watch.h"
#include "core/compiler/wrappers/wrapper.h"
#include "reintegrate/interruption.h"

namespace kernelift::cli {
namespace fs = std::filesystem;

namespace {

struct Logged {
  size_t commands = 0;
  fs::file_time_type written{};
};

Logged read_log(const fs::path& path) {
  Logged logged;
  std::error_code missing;
  if (!fs::exists(path, missing)) return logged;
  if (auto all = read_json(path); all.ok() && all->is_array()) logged.commands = all->size();
  logged.written = fs::last_write_time(path, missing);
  return logged;
}

struct Options {
  std::vector<std::string> command;
  bool wrap = false;
};

/// The environment of a build through the wrappers.
ProcessOptions wrapped_environment(const wrappers::WrapperConfig& config) {
  ProcessOptions options;
  const char* path = std::getenv("PATH");
  options.environment.emplace_back("PATH", (config.root / "bin").string() + ":" + (path ? path : "/usr/bin:/bin"));
  // A result that a compiler cache takes from its store is not compiled, and so its command would not be logged.
  options.environment.emplace_back("CCACHE_DISABLE", "1");
  options.environment.emplace_back("SCCACHE_RECACHE", "1");
  if (config.device != "cpu") return options;
  // For the CPU device the folder stands in for the toolkit, under every name that build systems know for it.
  for (const char* name :
       {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDAToolkit_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "HIP_PATH", "ROCM_PATH"})
    options.environment.emplace_back(name, config.root.string());
  // Build systems that do not search PATH take the compilers from these variables: CMake for CUDA and HIP (for which it
  // does not accept hipcc), and Makefiles with `?=`. Makefiles do not quote them, so a path that contains a space is
  // passed as a bare name.
  const fs::path folder = config.root.string().find(' ') == std::string::npos ? config.root / "bin" : fs::path();
  for (const auto& [name, compiler] :
       {std::pair{"CUDACXX", "nvcc"}, {"NVCC", "nvcc"}, {"HIPCXX", "amdclang++"}, {"HIPCC", "hipcc"}})
    options.environment.emplace_back(name, (folder / compiler).string());
  options.environment.emplace_back("HIP_PLATFORM", "amd");
  const char* compilers = std::getenv("COMPILER_PATH");
  options.environment.emplace_back(
      "COMPILER_PATH", wrappers::linker_folder(config).string() + (compilers ? ":" + std::string(compilers) : ""));
  const char* prefixes = std::getenv("CMAKE_PREFIX_PATH");
  options.environment.emplace_back("CMAKE_PREFIX_PATH",
                                   config.root.string() + (prefixes ? ":" + std::string(prefixes) : ""));
  return options;
}

Result<Exit> run(const Context& context, const Options& request) {
  const std::vector<std::string>& command = request.command;
  if (command.empty()) return usage_error("kernelift build needs a command: kernelift build -- make");
  wrappers::WrapperConfig config;
  config.state = fs::absolute(context.state_folder());
  config.device = context.device == "cpu" ? "cpu" : "log";
  config.root = config.device == "cpu" ? wrappers::toolkit_folder(config.state) : config.state / "toolkit-log";
  KERNELIFT_TRY(create_state_folder(config.state));
  std::optional<wrappers::BuildWatch> watch;
  if (config.device != "cpu" && !request.wrap) {
    if (auto begun = wrappers::BuildWatch::begin(config.state); begun.ok()) watch = *std::move(begun);
    else context.note("kernelift build: compiler wrappers are put on PATH instead: " + begun.error().message);
  }
  KERNELIFT_TRY(wrappers::check_build_folders(command, fs::current_path(),
                                              config.device == "cpu" ? wrappers::Compilers::CpuWrappers
                                              : watch                ? wrappers::Compilers::Own
                                                                     : wrappers::Compilers::LoggingWrappers));
  ProcessOptions options;
  if (watch) {
    options.environment = watch->environment();
  } else {
    KERNELIFT_ASSIGN(fs::path kernelift, executable());
    KERNELIFT_TRY(wrappers::create_toolkit(config, kernelift));
    options = wrapped_environment(config);
  }
  options.capture_output = false;

  fs::path log = config.state / "compile_commands.json";
  Logged before = read_log(log);
  std::vector<std::string> argv = command;
  // With --json stdout is reserved for the document, so the build's output goes to stderr.
  if (context.json) {
    argv = {"/bin/sh", "-c", "exec \"$@\" 1>&2", "sh"};
    argv.insert(argv.end(), command.begin(), command.end());
  }
  reintegrate::InterruptGuard guard;
  KERNELIFT_ASSIGN(ProcessOutcome outcome, run_interruptibly(argv, options, reintegrate::Ending::HandedOn));
  if (watch) {
    KERNELIFT_ASSIGN(auto problems, watch->log());
    for (auto& problem : problems) context.note(problem);
  }
  Logged after = read_log(log);
  bool logged = after.commands > 0 && (after.commands != before.commands || after.written != before.written);

  if (guard.interrupted()) return Error{"interrupted; the build command " + outcome.describe(), Exit::Interrupted};
  if (!outcome.ok()) return answer_is_no("the build command " + outcome.describe() + ": " + join_command(command));
  // make knows nothing of devices: what was built for another one is up to date for it.
  const fs::path built_for = config.state / "built_for";
  const std::string device = config.device == "cpu" ? "the CPU device" : "a GPU";
  if (logged) {
    KERNELIFT_TRY(write_atomically(built_for, device));
  } else if (auto known = read_text(built_for); known.ok() && *known != device) {
    return answer_is_no("nothing was compiled, and what lies here was built for " + *known +
                        ": clean (make clean, or remove the build folder), and run this again, from the configure "
                        "step on");
  }
  if (context.json) {
    Json document = artefact("kernelift-build", 1, 1);
    document["command"] = command;
    document["device"] = config.device == "cpu" ? "cpu" : context.device;
    document["exit_code"] = outcome.exit_code;
    document["seconds"] = outcome.seconds;
    document["compile_commands"] = log.string();
    document["commands_logged"] = after.commands;
    context.emit(document);
  }
  if (!logged)
    context.note(
        watch
            ? "no compile command was seen: everything was up to date, or compilers run where they cannot be watched "
              "(containers, sudo, a build server); clean, and run kernelift build again, with --wrap in the second case"
            : "no compile command was seen: everything was up to date, or the build was configured with the full path "
              "of another compiler; clean or remove its build folder and run kernelift build again, from the configure "
              "step on");
  context.say("build finished; " + (logged ? counted(after.commands, "compile command") + " in " + log.string()
                                    : after.commands > 0
                                        ? "nothing was compiled; " + counted(after.commands, "compile command") +
                                              " of earlier builds in " + log.string()
                                        : "nothing has been compiled since " + config.state.string() + " was created"));
  return Exit::Done;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_flag("--wrap", options->wrap,
               "Put compiler wrappers first on PATH instead of watching the build (always so for --device cpu)");
  app.add_option("command", options->command, "The application's own build command, after --")->required();
  app.positionals_at_end();
  return [options](const Context& context) { return run(context, *options); };
}

}  // namespace

const Verb kBuild{"build", "Run the application's build and log its compile commands; or compile it for the CPU device",
                  "kernelift build --device cpu -- make -j4", setup, true};

}  // namespace kernelift::cli
