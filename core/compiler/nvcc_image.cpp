// See nvcc_image.h. All options of the application's command are used except those for files, linking and architectures
// (core/toolchain/device_arguments.h). Relocatable code is linked by nvlink, as the application's build does.
#include "core/compiler/nvcc_image.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/compiler/paths.h"
#include "core/model/kernel_key.h"
#include "core/toolchain/cubin.h"
#include "core/toolchain/device_arguments.h"
#include "core/toolchain/nvcc_command.h"
#include "core/toolchain/nvcc_words.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

bool is_wrapper(const fs::path& program) {
  std::error_code code;
  fs::path real = fs::canonical(program, code);
  return code || real.filename().string().starts_with("kernelift");
}

/// The command's own nvcc, if it exists and is not a wrapper of ours; else the toolkit's; else the one on PATH.
std::optional<fs::path> find_nvcc(const std::vector<std::string>& command) {
  for (auto& word : command) {
    if (word.starts_with("-")) break;
    fs::path program = word;
    std::error_code code;
    if (program.filename() == "nvcc" && program.is_absolute() && fs::exists(program, code) && !is_wrapper(program))
      return program;
  }
  std::error_code code;
  if (auto toolkit = cuda_toolkit(); toolkit && fs::exists(*toolkit / "bin" / "nvcc", code))
    return *toolkit / "bin" / "nvcc";
  if (auto found = find_program("nvcc"); found && !is_wrapper(*found)) return found;
  return std::nullopt;
}

/// Translates device flags from clang's spelling to nvcc's.
std::vector<std::string> from_clang(const std::vector<std::string>& flags) {
  std::vector<std::string> words;
  for (size_t i = 0; i < flags.size(); ++i) {
    const std::string& flag = flags[i];
    bool pair = i + 1 < flags.size() && (flag == "-D" || flag == "-U" || flag == "-I" || flag == "-isystem" ||
                                         flag == "-include" || flag == "-iquote" || flag == "-idirafter");
    if (flag == "-ffast-math") words.push_back("-use_fast_math");
    else if (flag == "-ffp-contract=off") words.push_back("-fmad=false");
    else if (flag == "-fcuda-flush-denormals-to-zero" || flag == "-fgpu-flush-denormals-to-zero")
      words.push_back("-ftz=true");
    else if (flag == "-fno-cuda-prec-sqrt") words.push_back("-prec-sqrt=false");
    else if (pair) {
      words.push_back(flag == "-iquote" || flag == "-idirafter" ? "-I" : flag);
      words.push_back(flags[++i]);
    } else if (flag.starts_with("-D") || flag.starts_with("-U") || flag.starts_with("-I") ||
               flag.starts_with("-std=")) {
      words.push_back(flag);
    }
  }
  return words;
}

void add_folder(std::vector<fs::path>& folders, const fs::path& folder) {
  std::error_code code;
  folders.push_back(folder);
  if (auto real = fs::canonical(folder, code); !code && real != folder) folders.push_back(real);
}

/// Adds the folders that the arguments name, and the host compiler's.
void add_named_folders(std::vector<fs::path>& folders, const std::vector<std::string>& arguments,
                       const fs::path& working) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    std::string value;
    for (std::string_view option : {"-I", "--include-path", "-isystem", "--system-include", "-include", "--pre-include",
                                    "-ccbin", "--compiler-bindir"}) {
      if (word == option && i + 1 < arguments.size()) value = arguments[i + 1];
      else if (word.starts_with(option) && word.size() > option.size())
        value = word.substr(option.size() + (word[option.size()] == '=' ? 1 : 0));
      if (value.empty()) continue;
      for (const std::string& one : split_nvcc_paths(value)) {
        fs::path named = fs::path(one).is_relative() ? working / one : fs::path(one);
        add_folder(folders, named);
        // A host compiler reads its own lib/gcc and include beside bin.
        if (option.find("bin") != option.npos) add_folder(folders, named.parent_path().parent_path());
      }
      break;
    }
  }
}

/// Removes the private folder's path from the compilers' messages: the user knows the source as kernel.cu.
std::string without_folder(std::string text, const fs::path& folder) {
  std::string prefix = folder.string() + "/";
  for (size_t at = 0; (at = text.find(prefix, at)) != text.npos;) text.erase(at, prefix.size());
  constexpr size_t kMostDiagnostics = 64 << 10;
  if (text.size() > kMostDiagnostics) text.resize(kMostDiagnostics), text += "\n(more was cut off)";
  return text;
}

}  // namespace

NvccOptions nvcc_options(const Mep& mep, const std::string& machine) {
  NvccOptions options;
  options.command = mep.compile_command, options.flags = mep.compile_flags;
  std::error_code code;
  if (fs::is_directory(mep.compile_folder, code)) options.folder = mep.compile_folder;
  else if (fs::path unit = fs::path(mep.unit).parent_path(); fs::is_directory(unit, code)) options.folder = unit;
  options.target = TargetArchitecture::of(mep.architecture, machine);
  return options;
}

Result<NvccCompiler> NvccCompiler::find(NvccOptions options) {
  NvccCompiler compiler;
  if (!options.command.empty()) {
    KERNELIFT_ASSIGN(options.command, expand_response_files(options.command, options.folder));
    KERNELIFT_ASSIGN(CompilerCommand parsed, parse_compiler_command(options.command, options.folder));
    if (parsed.dialect != Dialect::Nvcc)
      return refused("the application was compiled by " + fs::path(options.command[0]).filename().string() +
                     ", not by nvcc, so nvcc cannot confirm its builds");
  }
  auto program = find_nvcc(options.command);
  if (!program)
    return environment_error(
        "nvcc was not found, so no build can be confirmed with the application's compiler; install the CUDA toolkit or "
        "set CUDA_HOME to its folder");
  compiler.program_ = *program;
  compiler.arguments_ =
      options.command.empty() ? from_clang(options.flags) : device_arguments(options.command, compiler.left_out_);
  for (const char* folder : {"/usr", "/bin", "/lib", "/lib64", "/etc", "/opt", "/proc/self", "/dev/urandom"})
    add_folder(compiler.readable_, folder);
  std::error_code code;
  if (auto real = fs::canonical(*program, code); !code) compiler.readable_.push_back(real.parent_path().parent_path());
  if (auto toolkit = cuda_toolkit()) add_folder(compiler.readable_, *toolkit);
  if (!options.folder.empty()) add_folder(compiler.readable_, options.folder);
  add_named_folders(compiler.readable_, compiler.arguments_, options.folder);
  compiler.options_ = std::move(options);
  return compiler;
}

std::string NvccCompiler::command_text() const {
  std::vector<std::string> words = {program_.string()};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  for (const auto& word : {options_.target.nvcc_flag(), std::string("-cubin"), std::string("-o"),
                           std::string("kernel.cubin"), std::string("kernel.cu")})
    words.push_back(word);
  return join_command(words);
}

CompileReply NvccCompiler::compile(const std::string& source, const std::vector<std::string>& kernels,
                                   const std::vector<std::string>& further) const {
  CompileReply reply;
  auto fail = [&](Outcome outcome, std::string detail) {
    reply.outcome = outcome, reply.detail = std::move(detail);
    return false;
  };
  auto folder = TemporaryFolder::create("kernelift-nvcc");
  if (!folder.ok()) {
    fail(Outcome::CompileFailed, folder.error().message);
    return reply;
  }
  std::string text = source, from = folder->path() / "kernel.cu", image = folder->path() / "kernel.cubin";
  // A template has device code only for instances that are used, so each wanted instance's address is taken. A plain
  // kernel always has code.
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].find('<') == kernels[i].npos) continue;
    std::string name = "const void* const kernelift_kept_" + std::to_string(i);
    text += "\nextern " + name + ";\n" + name + " = reinterpret_cast<const void*>(&" + kernels[i] + ");\n";
  }
  if (Status written = write_atomically(from, text); !written.ok()) {
    fail(Outcome::CompileFailed, written.error().message);
    return reply;
  }

  ProcessOptions process;
  process.folder = options_.folder.empty() ? folder->path() : options_.folder;
  process.timeout = options_.time_limit;
  process.environment = {{"TMPDIR", folder->path().string()}, {"CCACHE_DISABLE", "1"}};
  process.prepare = [&] {
    // Behind our own compile workers: the search goes on meanwhile.
    constexpr int kPolite = 10;
    (void)!::nice(kPolite);
    return options_.confine ? options_.confine(readable_, folder->path()) : done();
  };
  /// True on success; else `reply` says what happened.
  auto run = [&](const std::vector<std::string>& command) {
    auto outcome = run_process(command, process);
    if (!outcome.ok()) return fail(Outcome::CompileFailed, outcome.error().message);
    reply.backend_seconds += outcome->seconds;
    std::string said = without_folder(outcome->out + outcome->err, folder->path());
    if (outcome->timed_out)
      return fail(Outcome::TimedOut, fs::path(command[0]).filename().string() + " " + outcome->describe());
    if (outcome->signal || said.find("died due to signal") != said.npos)
      return fail(Outcome::CompileCrashed, said.empty() ? outcome->describe() : said);
    if (outcome->exit_code != 0) return fail(Outcome::CompileFailed, said.empty() ? outcome->describe() : said);
    reply.detail += said;
    return true;
  };
  std::vector<std::string> command = {program_.string()};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  command.insert(command.end(), further.begin(), further.end());
  for (const auto& word : {options_.target.nvcc_flag(), std::string("-cubin"), std::string("-o"), image, from})
    command.push_back(word);
  if (!run(command)) return reply;
  if (auto parsed = parse_compiler_command(command, options_.folder); parsed.ok() && parsed->relocatable) {
    fs::path real = program_;
    std::error_code code;
    if (auto canonical = fs::canonical(program_, code); !code) real = canonical;
    fs::path toolkit = real.parent_path().parent_path();
    std::string linked = folder->path() / "linked.cubin";
    if (!run({(real.parent_path() / "nvlink").string(), "-arch=" + options_.target.machine,
              "-L" + (toolkit / "lib64").string(), "-L" + (toolkit / "targets/x86_64-linux/lib").string(), image,
              "-lcudadevrt", "-o", linked}))
      return reply;
    image = linked;
  }
  auto bytes = read_text(image);
  if (bytes.ok()) reply.image = std::move(*bytes);
  else fail(Outcome::CompileFailed, bytes.error().message);
  for (auto& name : cubin_kernels(reply.image)) reply.kernels.push_back({name, "", "", 0});
  return reply;
}

}  // namespace kernelift
