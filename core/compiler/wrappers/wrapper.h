// The compiler wrappers: `kernelift` started through a link named nvcc, hipcc, clang++ or clang in a folder that looks
// like a CUDA toolkit. For the CPU device they compile; for other devices they log the command and run the real
// compiler.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace llvm {
class Module;
}

namespace kernelift::wrappers {

/// A device program that the CPU device can run.
struct CpuImage {
  struct Refused {
    std::string kernel, why;  ///< Mangled name; the construct that the CPU device lacks, with its source line.
  };
  std::vector<char> elf;         ///< The image: core/toolchain/image_abi.h.
  std::vector<Refused> refused;  ///< Kernels that are not in the image.
};
/// Makes an image of a complete device program. The program that links the CPU device passes it
/// (sandbox/compile/cpu_image.h), so that the wrappers do not depend on the CPU device.
using MakeCpuImage = Result<CpuImage> (*)(std::unique_ptr<llvm::Module>);

/// Configuration of a look-alike folder's wrappers; stored in its marker file, so that they work outside `kernelift
/// build` too (CMake remembers the compiler's path).
struct WrapperConfig {
  std::filesystem::path root;         ///< The look-alike: bin/nvcc, include/, lib64/…
  std::filesystem::path state;        ///< The state folder; the log is compile_commands.json in it.
  std::string device = "cpu";         ///< cpu: compile here. Else: log and run the real compiler.
  MakeCpuImage make_image = nullptr;  ///< Set by the program, not stored in the marker file.
};

/// The marker file that distinguishes a look-alike from a toolkit.
inline constexpr const char* kMarker = "kernelift-toolkit";

/// The folder of linker wrappers that link our runtime whatever -L names. For COMPILER_PATH, which GCC and clang read.
std::filesystem::path linker_folder(const WrapperConfig& config);
/// The folder for the CPU device's look-alike: in the state folder; but if that path holds a blank or another character
/// that CMake and Makefiles do not quote, in the user's cache (XDG_CACHE_HOME, else ~/.cache).
std::filesystem::path toolkit_folder(const std::filesystem::path& state);
/// Creates or updates the look-alike at `config.root` with wrappers that are links to `kernelift`.
Status create_toolkit(const WrapperConfig& config, const std::filesystem::path& kernelift);
/// The configuration of the look-alike to which `argv0` belongs.
Result<WrapperConfig> find_config(const std::string& argv0);

}  // namespace kernelift::wrappers

namespace kernelift {

/// True if a program called by this argv[0] is a compiler wrapper.
bool is_wrapper_name(const std::string& argv0);

/// The main function of a wrapper; returns the compiler's exit code.
int wrapper_main(int argc, char** argv, wrappers::MakeCpuImage make_image);

}  // namespace kernelift
