// kernelift build: runs the application's own build command with our compiler wrappers first on PATH. What the wrappers
// do is core/compiler/wrappers's; this verb makes their folder, sets the environment that build systems look at, and
// counts what was logged.
#include <cstdlib>

#include "cli/verbs.h"
#include "core/base/executable.h"
#include "core/base/file.h"
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

ProcessOptions build_environment(const wrappers::WrapperConfig& config) {
  ProcessOptions options;
  options.capture_output = false;
  const char* path = std::getenv("PATH");
  options.environment.emplace_back("PATH", (config.root / "bin").string() + ":" + (path ? path : "/usr/bin:/bin"));
  // What a compiler cache answers out of its store is not compiled, and so not seen.
  options.environment.emplace_back("CCACHE_DISABLE", "1");
  options.environment.emplace_back("SCCACHE_RECACHE", "1");
  if (config.device != "cpu") return options;
  // With the CPU device the folder is the toolkit, by every name that build systems know for it.
  for (const char* name :
       {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDAToolkit_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "HIP_PATH", "ROCM_PATH"})
    options.environment.emplace_back(name, config.root.string());
  // And its compilers, where they are not found by PATH: CMake's for CUDA and HIP, which wants no hipcc, and Makefiles'
  // `?=`. Makefiles quote none of them: a path with a space has to be found by name.
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

Result<Exit> run(const Context& context, const std::vector<std::string>& command) {
  if (command.empty()) return usage_error("kernelift build needs a command: kernelift build -- make");
  wrappers::WrapperConfig config;
  config.state = fs::absolute(context.state_folder());
  config.device = context.device == "cpu" ? "cpu" : "log";
  config.root = config.device == "cpu" ? wrappers::toolkit_folder(config.state) : config.state / "toolkit-log";
  KERNELIFT_TRY(create_state_folder(config.state));
  KERNELIFT_ASSIGN(fs::path kernelift, executable());
  KERNELIFT_TRY(wrappers::create_toolkit(config, kernelift));

  fs::path log = config.state / "compile_commands.json";
  Logged before = read_log(log);
  std::vector<std::string> argv = command;
  // Under --json stdout is the document's; what the build prints goes to stderr.
  if (context.json) {
    argv = {"/bin/sh", "-c", "exec \"$@\" 1>&2", "sh"};
    argv.insert(argv.end(), command.begin(), command.end());
  }
  InterruptGuard guard;
  KERNELIFT_ASSIGN(ProcessOutcome outcome, run_interruptibly(argv, build_environment(config), Ending::HandedOn));
  Logged after = read_log(log);
  bool logged = after.commands > 0 && (after.commands != before.commands || after.written != before.written);

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
  if (guard.interrupted()) return Error{"interrupted; the build command " + outcome.describe(), Exit::Interrupted};
  if (!outcome.ok()) return answer_is_no("the build command " + outcome.describe() + ": " + join_command(command));
  if (!logged)
    context.note(
        "no compile command was seen: everything was up to date, or the build was set up with another compiler's full "
        "path; "
        "clean or remove its build folder and run kernelift build again, from the configure step on");
  context.say("build finished; " + (after.commands > 0
                                        ? counted(after.commands, "compile command") + " in " + log.string()
                                        : "nothing was compiled, now or since " + config.state.string() + " was made"));
  return Exit::Done;
}

Action setup(CLI::App& app) {
  auto command = std::make_shared<std::vector<std::string>>();
  app.add_option("command", *command, "The application's own build command, after --")->required();
  app.positionals_at_end();
  return [command](const Context& context) { return run(context, *command); };
}

}  // namespace

const Verb kBuild{"build", "Run the application's build, logging its compile commands or compiling for the CPU device",
                  "kernelift build --device cpu -- make -j4", setup, true};

}  // namespace kernelift::cli
