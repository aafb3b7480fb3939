// Output that build systems read from a compiler: --version, and the dry run from which CMake's
// CMakeDetermineCUDACompiler takes the toolkit's root (#$ TOP=), libraries, include folders and link line.
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "core/base/process.h"
#include "core/compiler/paths.h"
#include "core/compiler/wrappers/cpu_compiler.h"
#include "core/toolchain/architecture.h"

namespace kernelift::wrappers {

namespace {

/// In the formats that version checks parse: "release 13.0, V13.0.88".
std::string version_text(Dialect dialect, const WrapperConfig& config) {
  if (dialect == Dialect::Nvcc)
    return "nvcc: NVIDIA (R) Cuda compiler driver\n"
           "Kernelift compiler wrapper in place of nvcc, for the CPU device\n"
           "Cuda compilation tools, release 13.0, V13.0.88\n"
           "Build cuda_13.0.r13.0/kernelift\n";
  return std::string(dialect == Dialect::Hipcc ? "HIP version: 6.4.0-kernelift\n" : "") +
         "clang version 22.1.8 (Kernelift compiler wrapper, CPU device)\nTarget: x86_64-pc-linux-gnu\nThread model: "
         "posix\nInstalledDir: " +
         (config.root / "bin").string() + "\n";
}

}  // namespace

bool answer_query(const CompilerCommand& command, const WrapperConfig& config) {
  if (command.action != Action::Query) return false;
  const std::string& query = command.query;
  if (query.find("list-gpu") != std::string::npos || query.ends_with("-ls")) {
    for (int number : {75, 80, 86, 87, 88, 89, 90})
      std::printf("%s_%d\n", query.find("code") != std::string::npos ? "sm" : "compute", number);
  } else if (query.find('h') != std::string::npos && query.find("help") != std::string::npos) {
    std::printf("Kernelift's compiler wrapper: accepts %s's command lines and compiles for the CPU device.\n",
                command.dialect == Dialect::Nvcc    ? "nvcc"
                : command.dialect == Dialect::Hipcc ? "hipcc"
                                                    : "clang");
  } else {
    std::fputs(version_text(command.dialect, config).c_str(), stdout);
  }
  return true;
}

std::vector<std::string> host_queries(const CompilerCommand& command) {
  std::vector<std::string> found;
  for (const std::string& flags : command.host_flags) {
    std::istringstream words(flags);  // nvcc passes a quoted "-dumpfullversion -dumpversion" on as it is.
    for (std::string word; words >> word;)
      if (word == "--version" || word.starts_with("-dump") || word.starts_with("-print-")) found.push_back(word);
  }
  return found;
}

void print_dry_run(const CompilerCommand& command, const WrapperConfig& config) {
  if (command.dialect != Dialect::Nvcc) {
    std::fputs(version_text(command.dialect, config).c_str(), stderr);
    return;
  }
  std::string root = config.root.string(), output = command.output.empty() ? "a.out" : command.output;
  std::fprintf(
      stderr,
      "#$ _NVVM_BRANCH_=nvvm\n#$ _SPACE_= \n#$ _CUDART_=cudart\n#$ _HERE_=%s/bin\n#$ _THERE_=%s/bin\n#$ "
      "_TARGET_SIZE_=\n"
      "#$ _TARGET_DIR_=\n#$ _TARGET_DIR_=targets/x86_64-linux\n#$ TOP=%s\n#$ NVVMIR_LIBRARY_DIR=%s/nvvm/libdevice\n"
      "#$ LD_LIBRARY_PATH=%s/lib64\n#$ PATH=%s/bin\n#$ INCLUDES=\"-I%s/include\"\n#$ LIBRARIES=  \"-L%s/lib64\"\n"
      "#$ CUDAFE_FLAGS=\n#$ PTXAS_FLAGS=\n",
      root.c_str(), root.c_str(), root.c_str(), root.c_str(), root.c_str(), root.c_str(), root.c_str(), root.c_str());
  // CMake reads the default architectures from the device compiler's command lines.
  std::vector<std::string> architectures = command.architectures;
  if (architectures.empty()) architectures = {newest_architecture(command)};
  for (const std::string& name : architectures)
    if (name.starts_with("sm_")) std::fprintf(stderr, "#$ cicc -arch compute_%s -m64\n", name.c_str() + 3);
  if (command.action != Action::Link) return;
  std::string objects;
  for (const SourceInput& input : command.inputs)
    objects += " \"" + std::filesystem::path(input.file).stem().string() + ".o\"";
  std::fprintf(stderr,
               "#$ \"g++\" -o \"%s\" -Wl,--start-group%s \"-L%s/lib64\" -lcudadevrt -lcudart_static -lrt -lpthread "
               "-ldl -Wl,--end-group\n",
               output.c_str(), objects.c_str(), root.c_str());
}

}  // namespace kernelift::wrappers
