// Dispatches by the wrapper's name and device.
#include <llvm/Support/Signals.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/compiler/wrappers/build_tool.h"
#include "core/compiler/wrappers/compile_log.h"
#include "core/compiler/wrappers/cpu_compiler.h"
#include "core/compiler/wrappers/unsupported.h"
#include "core/compiler/wrappers/watch_format.h"
#include "core/compiler/wrappers/wrapper.h"

namespace kernelift::wrappers {
namespace fs = std::filesystem;

namespace {

/// The compiler on PATH without the wrappers.
Result<std::string> real_compiler(const std::string& name, const WrapperConfig& config) {
  const char* path = std::getenv("PATH");
  std::string folders = path ? path : "";
  std::error_code ignored;
  std::vector<std::string> candidates;
  for (size_t begin = 0; begin <= folders.size();) {
    size_t end = std::min(folders.find(':', begin), folders.size());
    if (end > begin) candidates.push_back(folders.substr(begin, end - begin));
    begin = end + 1;
  }
  if (name == "nvcc") candidates.insert(candidates.end(), {"/usr/local/cuda/bin"});
  if (name == "hipcc") candidates.insert(candidates.end(), {"/opt/rocm/bin"});
  if (name == "clang" || name == "clang++") candidates.insert(candidates.end(), {"/usr/lib/llvm-22/bin"});
  for (const std::string& folder : candidates) {
    fs::path program = fs::path(folder) / name;
    if (access(program.c_str(), X_OK) != 0) continue;
    // Skips the wrappers of look-alikes, this one and those of other builds.
    if (fs::exists(fs::path(folder).parent_path() / kMarker, ignored)) continue;
    return program.string();
  }
  return environment_error("the real " + name + " is not on PATH; install it, or build with --device cpu");
}

int become(const std::string& program, int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  std::string name = program;
  arguments[0] = name.data();
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  std::perror(program.c_str());
  return 127;
}

/// clang and clang++ are also used for other code: the wrappers compile only CUDA and HIP sources, and link their
/// objects.
bool is_for_wrapper(const CompilerCommand& command) {
  if (command.dialect != Dialect::Clang || !command.architectures.empty()) return true;
  for (const SourceInput& input : command.inputs)
    if (input.language == SourceInput::Language::Cuda || input.language == SourceInput::Language::Hip) return true;
  if (command.action != Action::Link) return false;
  auto names_runtime = [](const std::string& word) {
    for (const char* start : {"-lcudart", "-lamdhip64", "libcudart", "libamdhip64"})
      if (word.starts_with(start)) return true;
    return false;
  };
  return std::any_of(command.link_flags.begin(), command.link_flags.end(), names_runtime) ||
         std::any_of(command.inputs.begin(), command.inputs.end(),
                     [&](const SourceInput& input) { return names_runtime(fs::path(input.file).filename().string()); });
}

std::map<std::string, std::string> variables_that_are_set() {
  std::map<std::string, std::string> variables;
  for (const char* name : kWatchedVariables)
    if (const char* value = std::getenv(name)) variables[name] = value;
  return variables;
}

int fail(const std::string& name, const Error& error) {
  if (!error.message.empty()) {
    // The compiler's own messages need no prefix.
    bool has_prefix = error.message.find(": error: ") != std::string::npos ||
                      error.message.find(": fatal error: ") != std::string::npos;
    std::fprintf(stderr, "%s%s%s", has_prefix ? "" : (name + ": error: ").c_str(), error.message.c_str(),
                 error.message.ends_with('\n') ? "" : "\n");
    std::fputs(name_unsupported(error.message).c_str(), stderr);
  }
  return 1;
}

/// After a crash in clang or LLVM the build would only report a signal; this adds the program and the source.
void report_crashes(const std::string& name, const CompilerCommand& command) {
  static std::string text;
  text = name + ": error: Kernelift's compiler wrapper crashed while it compiled for the CPU device:";
  for (const SourceInput& input : command.inputs) text += " " + input.file;
  text += "; please report it with this source\n";
  llvm::sys::AddSignalHandler([](void*) { (void)!write(STDERR_FILENO, text.data(), text.size()); }, nullptr);
}

}  // namespace

}  // namespace kernelift::wrappers

int kernelift::wrapper_main(int argc, char** argv, wrappers::MakeCpuImage make_image) {
  using namespace kernelift::wrappers;
  std::string name = fs::path(argv[0]).filename().string();
  auto config = find_config(argv[0]);
  if (!config.ok()) return fail(name, config.error());
  config->make_image = make_image;
  auto words = with_variables(std::vector<std::string>(argv, argv + argc), variables_that_are_set());
  words[0] = name;
  std::error_code ignored;
  fs::path folder = fs::current_path(ignored);
  auto command = parse_compiler_command(words, folder);
  if (!command.ok() && config->device == "cpu") return fail(name, command.error());

  bool ours = command.ok() && is_for_wrapper(*command);
  if (command.ok()) {
    StartedCompiler started{folder, words, *command};
    if (const char* tool = build_tool_above()) started.built_by = tool;
    if (Status logged = log_commands(config->state, {started}); !logged.ok())
      std::fprintf(stderr, "kernelift: this compile was not logged: %s\n", logged.error().message.c_str());
  }
  if (config->device != "cpu" || !ours) {
    auto real = real_compiler(name, *config);
    if (real.ok()) return become(*real, argc, argv);
    // For the CPU device, and if there is no other clang, the wrapper compiles all sources.
    if (config->device != "cpu") return fail(name, real.error());
  }
  if (answer_query(*command, *config)) return 0;
  if (command->verbose) print_dry_run(*command, *config);
  if (command->dry_run) return 0;
  // `nvcc -v __cmake_determine_cuda`: CMake reads the dry run's output, for a file that does not exist.
  if (command->inputs.size() == 1 && command->inputs[0].file == "__cmake_determine_cuda") return 1;
  report_crashes(name, *command);
  Status status = run_for_cpu(*command, *config);
  return status.ok() ? 0 : fail(name, status.error());
}
