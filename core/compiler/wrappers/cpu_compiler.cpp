// Compilation for the CPU device follows nvcc's order: device pass, then host pass with the device code embedded. Both
// run in this process, so that no clang needs to be installed; the system's C++ compiler is used for plain C++ sources
// and for linking, as nvcc uses its host compiler.
#include "core/compiler/wrappers/cpu_compiler.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/compiler/clang_job.h"
#include "core/compiler/frontend.h"
#include "core/compiler/paths.h"
#include "core/compiler/wrappers/device_code.h"
#include "core/compiler/wrappers/link_stub.h"
#include "core/compiler/wrappers/unsupported.h"
#include "core/toolchain/architecture.h"
#include "core/toolchain/fat_blob.h"

namespace kernelift::wrappers {
namespace fs = std::filesystem;

namespace {

using Language = SourceInput::Language;

bool is_device_source(const SourceInput& input) {
  return input.language == Language::Cuda || input.language == Language::Hip;
}

/// The compiler for plain sources and for linking: the command's own choice, else the system's.
Result<std::string> host_compiler(const CompilerCommand& command, const WrapperConfig& config, bool cxx) {
  if (!command.host_compiler.empty()) {
    fs::path given = command.host_compiler;
    std::error_code ignored;
    if (fs::is_directory(given, ignored)) given /= cxx ? "g++" : "gcc";
    if (auto found = find_program(given.string())) return found->string();
    if (fs::exists(given, ignored)) return given.string();
    return usage_error("the host compiler " + command.host_compiler + " (-ccbin) does not exist");
  }
  for (const char* name : {cxx ? "g++" : "gcc", cxx ? "c++" : "cc", cxx ? "clang++-22" : "clang-22"})
    if (auto found = find_program(name); found && found->parent_path() != config.root / "bin") return found->string();
  return environment_error("no host C++ compiler on PATH; install one: apt-get install g++");
}

Status spawn(const std::vector<std::string>& argv) {
  ProcessOptions options;
  options.capture_output = false;
  options.own_group = false;  // A terminal's Ctrl-C must end the compiler too.
  std::fflush(nullptr);
  KERNELIFT_ASSIGN(ProcessOutcome outcome, run_process(argv, options));
  if (!outcome.ok()) return answer_is_no("");  // The compiler has printed the reason.
  return done();
}

std::string object_of(const CompilerCommand& command, const SourceInput& input, const char* extension) {
  if (!command.output.empty()) return command.output;
  fs::path name = fs::path(input.file).stem().string() + extension;
  return command.output_folder.empty() ? name.string() : (fs::path(command.output_folder) / name).string();
}

/// The application's host flags, which may be meant for another compiler, in a form that clang accepts.
std::vector<std::string> host_flags(const CompilerCommand& command) {
  std::vector<std::string> flags{"-Wno-unknown-warning-option", "-Wno-unknown-cuda-version",
                                 "-Wno-ignored-optimization-argument"};
  for (size_t i = 0; i < command.host_flags.size(); ++i) {
    const std::string& flag = command.host_flags[i];
    // omp.h is GCC's, and the program is linked with libgomp: the host pass must generate code for libgomp.
    if (flag == "-fopenmp") flags.push_back("-fopenmp=libgomp");
    else flags.push_back(flag);
  }
  return flags;
}

/// The command line of clang's driver for the host pass, without input and output.
std::vector<std::string> host_pass(const CompilerCommand& command, const SourceInput& input) {
  FrontendOptions options;
  options.language = input.language == Language::Hip ? "hip" : "cuda";
  if (options.language != "hip") options.arch = newest_architecture(command);
  std::vector<std::string> flags = frontend_arguments(options);
  std::replace(flags.begin(), flags.end(), std::string("--cuda-device-only"), std::string("--cuda-host-only"));
  for (const std::string& flag : command.frontend_flags()) flags.push_back(flag);
  for (const std::string& flag : host_flags(command)) flags.push_back(flag);
  flags.push_back(command.optimization);
  flags.push_back("-cuid=" + compilation_unit_id(command, input));
  // CMake reads the implicit include folders from clang's -v and does not name them again, because an explicit
  // /usr/include would hide C++'s own headers.
  if (command.verbose && command.dialect != Dialect::Nvcc) flags.push_back("-v");
  flags.insert(flags.end(), command.dependency_flags.begin(), command.dependency_flags.end());
  return flags;
}

Status run_host_jobs(const std::vector<std::string>& driver) {
  KERNELIFT_ASSIGN(auto jobs, clang_jobs(driver));
  for (const auto& job : jobs) {
    KERNELIFT_ASSIGN(std::string warnings, run_clang_job(job));
    std::fputs(warnings.c_str(), stderr);
  }
  return done();
}

Status compile_device_source(const CompilerCommand& command, const WrapperConfig& config, const SourceInput& input,
                             const std::string& output) {
  DeviceCode code{write_fat_blob({}), {}};
  if (!command.host_only) {
    KERNELIFT_ASSIGN(code, compile_device_code(command, input, config.make_image));
    std::fputs(code.warnings.c_str(), stderr);
  }
  KERNELIFT_ASSIGN(TemporaryFolder scratch, TemporaryFolder::create("kernelift-cc"));
  fs::path blob = scratch.path() / "device.blob";
  KERNELIFT_TRY(write_atomically(blob, std::string_view(code.blob.data(), code.blob.size())));
  std::vector<std::string> driver = host_pass(command, input);
  driver.insert(driver.end(), {"-Xclang", command.relocatable ? "-fembed-offload-object=" + blob.string()
                                                              : "-fcuda-include-gpubinary"});
  if (!command.relocatable) driver.insert(driver.end(), {"-Xclang", blob.string()});
  driver.insert(driver.end(), {"-c", "-o", output, input.file});
  return run_host_jobs(driver);
}

/// Compiles a plain C or C++ source by the host compiler, with the macros that nvcc would define.
Status compile_host_source(const CompilerCommand& command, const WrapperConfig& config, const SourceInput& input,
                           const std::string& output, const std::vector<std::string>& mode) {
  KERNELIFT_ASSIGN(std::string compiler, host_compiler(command, config, input.language != Language::C));
  std::vector<std::string> argv{compiler};
  argv.insert(argv.end(), mode.begin(), mode.end());
  if (command.dialect == Dialect::Nvcc)
    argv.insert(argv.end(), {"-D__NVCC__", "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0"});
  if (!command.standard.empty() && (input.language != Language::C || command.standard.find("++") == std::string::npos))
    argv.push_back("-std=" + command.standard);
  argv.push_back(command.optimization);
  argv.insert(argv.end(), command.host_flags.begin(), command.host_flags.end());
  argv.insert(argv.end(), command.preprocessor.begin(), command.preprocessor.end());
  argv.insert(argv.end(), {"-isystem", lean_headers().string()});
  if (auto libraries = cuda_cxx_libraries())
    argv.insert(argv.end(), {"-idirafter", libraries->string(), "-DCCCL_DISABLE_NVTX"});
  argv.insert(argv.end(), command.dependency_flags.begin(), command.dependency_flags.end());
  if (!output.empty()) argv.insert(argv.end(), {"-o", output});
  argv.insert(argv.end(), {"-x", input.language == Language::C ? "c" : "c++", input.file});
  return spawn(argv);
}

Status compile_one(const CompilerCommand& command, const WrapperConfig& config, const SourceInput& input,
                   const std::string& output) {
  return is_device_source(input) ? compile_device_source(command, config, input, output)
                                 : compile_host_source(command, config, input, output, {"-c"});
}

Status preprocess(const CompilerCommand& command, const WrapperConfig& config) {
  for (const SourceInput& input : command.inputs) {
    if (input.language == Language::Object) continue;
    bool only_dependencies = std::any_of(command.dependency_flags.begin(), command.dependency_flags.end(),
                                         [](const std::string& flag) { return flag == "-M" || flag == "-MM"; });
    if (!is_device_source(input)) {
      KERNELIFT_TRY(compile_host_source(command, config, input, command.output, {only_dependencies ? "-M" : "-E"}));
      continue;
    }
    std::vector<std::string> driver = host_pass(command, input);
    if (!only_dependencies) driver.push_back("-E");
    driver.insert(driver.end(), {"-o", command.output.empty() ? "-" : command.output, input.file});
    std::fflush(nullptr);
    KERNELIFT_TRY(run_host_jobs(driver));
  }
  return done();
}

/// Makes the object of a device link. If no file has relocatable device code, makes none and returns false, unless
/// `always`.
Result<bool> device_link(const CompilerCommand& command, const WrapperConfig& config,
                         const std::vector<std::string>& files, const std::string& output, bool always) {
  KERNELIFT_ASSIGN(DeviceCode code, link_device_code(files, config.make_image));
  if (code.blob.empty() && !always) return false;
  std::fputs(code.warnings.c_str(), stderr);
  KERNELIFT_ASSIGN(TemporaryFolder scratch, TemporaryFolder::create("kernelift-dlink"));
  fs::path blob = scratch.path() / "linked.blob", source = scratch.path() / "device_link.c";
  KERNELIFT_TRY(write_atomically(blob, std::string_view(code.blob.data(), code.blob.size())));
  // An empty link (a library without kernels yet) is an object with nothing in it.
  KERNELIFT_TRY(write_atomically(
      source, std::string_view(code.blob.empty() ? "typedef int kernelift_nothing_linked;\n" : kLinkStub)));
  KERNELIFT_TRY(run_host_jobs({"-x", "c", "-O1", "-fPIC", "-w", "-DKERNELIFT_BLOB=\"" + blob.string() + "\"", "-c",
                               "-o", output, source.string()}));
  return true;
}

/// The files that a link reads: the objects, and the archives of -lNAME that lie in folders which the command names.
std::vector<std::string> link_inputs(const CompilerCommand& command) {
  std::vector<std::string> files;
  for (const SourceInput& input : command.inputs)
    if (input.language == Language::Object) files.push_back(input.file);
  for (const std::string& flag : command.link_flags) {
    static const std::set<std::string> kToolkits = {"-lcuda", "-lcudart", "-lcudart_static", "-lcudadevrt"};
    if (!flag.starts_with("-l") || kToolkits.contains(flag)) continue;
    const bool whole_name = flag.starts_with("-l:");  // -l:libkernels.a
    const std::string name = whole_name ? flag.substr(3) : "lib" + flag.substr(2) + ".a";
    if (!name.ends_with(".a")) continue;
    for (const std::string& folder : command.link_flags) {
      if (!folder.starts_with("-L")) continue;
      fs::path archive = fs::path(folder.substr(2)) / name;
      if (fs::exists(archive)) {
        files.push_back(archive.string());
        break;
      }
    }
  }
  return files;
}

/// The command's objects; its sources are compiled into `scratch`, where sources with the same name in several folders
/// have different objects.
Result<std::vector<std::string>> objects_of(const CompilerCommand& command, const WrapperConfig& config,
                                            const TemporaryFolder& scratch) {
  std::vector<std::string> objects;
  for (const SourceInput& input : command.inputs) {
    objects.push_back(input.file);
    if (input.language == Language::Object) continue;
    const std::string name = std::to_string(objects.size()) + "-" + fs::path(input.file).stem().string() + ".o";
    objects.back() = (scratch.path() / name).string();
    KERNELIFT_TRY(compile_one(command, config, input, objects.back()));
  }
  return objects;
}

Status link(const CompilerCommand& command, const WrapperConfig& config, const TemporaryFolder& scratch) {
  KERNELIFT_ASSIGN(std::string compiler, host_compiler(command, config, true));
  KERNELIFT_ASSIGN(std::vector<std::string> objects, objects_of(command, config, scratch));
  std::vector<std::string> all = link_inputs(command);
  for (const std::string& object : objects)
    if (std::find(all.begin(), all.end(), object) == all.end()) all.push_back(object);
  fs::path linked = scratch.path() / "device_link.o";
  KERNELIFT_ASSIGN(bool has_device_link, device_link(command, config, all, linked.string(), false));

  std::vector<std::string> argv{compiler};
  if (!command.output.empty()) argv.insert(argv.end(), {"-o", command.output});
  for (const std::string& flag : command.host_flags)
    if (flag.starts_with("-f") || flag.starts_with("-m") || flag.starts_with("-g") || flag == "-pthread" ||
        flag == "-pg")
      argv.push_back(flag);
  argv.insert(argv.end(), objects.begin(), objects.end());
  if (has_device_link) argv.push_back(linked.string());
  argv.insert(argv.end(), command.link_flags.begin(), command.link_flags.end());
  argv.insert(argv.end(), {"-L" + (config.root / "lib64").string(), "-lcudart", "-lpthread", "-ldl", "-lm"});
  Status status = spawn(argv);
  if (!status.ok()) std::fputs(name_unsupported_libraries(command.link_flags).c_str(), stderr);
  return status;
}

}  // namespace

Status run_for_cpu(const CompilerCommand& command, const WrapperConfig& config) {
  if (std::vector<std::string> argv = host_queries(command); !argv.empty()) {
    KERNELIFT_ASSIGN(std::string compiler, host_compiler(command, config, true));
    argv.insert(argv.begin(), compiler);
    return spawn(argv);
  }
  if (!command.unknown.empty())
    return usage_error("Kernelift does not understand the compiler option " + command.unknown.front() +
                       " for the CPU device");
  if (command.inputs.empty()) return usage_error("no input files");
  switch (command.action) {
    case Action::Preprocess: return preprocess(command, config);
    case Action::Ptx:
    case Action::Cubin:
    case Action::Fatbin:
      return refused(
          "GPU code (-ptx, -cubin, -fatbin) cannot be made for the CPU device; programs that load it at run time are "
          "not supported");
    case Action::Compile:
      for (const SourceInput& input : command.inputs)
        if (input.language != Language::Object)
          KERNELIFT_TRY(compile_one(command, config, input, object_of(command, input, ".o")));
      return done();
    case Action::DeviceLink: {
      auto made = device_link(command, config, link_inputs(command),
                              command.output.empty() ? "a_dlink.o" : command.output, true);
      if (!made.ok()) return std::move(made).error();
      return done();
    }
    case Action::Library: {
      KERNELIFT_ASSIGN(TemporaryFolder scratch, TemporaryFolder::create("kernelift-lib"));
      std::vector<std::string> argv{"ar", "rcs", command.output.empty() ? "a.a" : command.output};
      KERNELIFT_ASSIGN(std::vector<std::string> objects, objects_of(command, config, scratch));
      argv.insert(argv.end(), objects.begin(), objects.end());
      return spawn(argv);
    }
    case Action::Link: {
      KERNELIFT_ASSIGN(TemporaryFolder scratch, TemporaryFolder::create("kernelift-ld"));
      return link(command, config, scratch);
    }
    case Action::Query: return done();
  }
  return done();
}

}  // namespace kernelift::wrappers
