// The compiler wrappers: `kernelift` called through a link named nvcc, hipcc, clang++ or clang in a folder that looks
// like a CUDA toolkit. With the CPU device they compile; else they log the command and run the real compiler.
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

/// A device program as the CPU device runs it.
struct CpuImage {
  struct Refused {
    std::string kernel, why;  ///< Mangled name; the construct that the CPU device does not have, with its place.
  };
  std::vector<char> elf;
  std::vector<Refused> refused;  ///< Not in the image.
};
/// Makes an image of a complete device program. Given by whoever links the CPU device (sandbox/compile/cpu_image.h), so
/// that the wrappers need not know it.
using MakeCpuImage = Result<CpuImage> (*)(std::unique_ptr<llvm::Module>);

/// What a look-alike folder's wrappers do; kept in its marker file, so that they work outside `kernelift build` too
/// (CMake remembers the compiler's path).
struct WrapperConfig {
  std::filesystem::path root;         ///< The look-alike: bin/nvcc, include/, lib64/…
  std::filesystem::path state;        ///< The state folder; the log is compile_commands.json in it.
  std::string device = "cpu";         ///< cpu: compile here. Else: log and pass through.
  MakeCpuImage make_image = nullptr;  ///< Of this program, not of the marker file.
};

/// The marker file that tells a look-alike from a toolkit.
inline constexpr const char* kMarker = "kernelift-toolkit";

/// Where the host's compilers find linkers that take our runtime whatever their -L says: for COMPILER_PATH, which GCC
/// and clang read.
std::filesystem::path linker_folder(const WrapperConfig& config);
/// Where the look-alike for the CPU device belongs: in the state folder; where that has a blank in its path or the
/// like, which neither CMake nor Makefiles quote in a toolkit's, in the user's cache (XDG_CACHE_HOME, else ~/.cache).
std::filesystem::path toolkit_folder(const std::filesystem::path& state);
/// Makes or refreshes the look-alike at `config.root` with wrappers that are links to `kernelift`.
Status create_toolkit(const WrapperConfig& config, const std::filesystem::path& kernelift);
/// The configuration of the look-alike that `argv0` is part of.
Result<WrapperConfig> find_config(const std::string& argv0);

}  // namespace kernelift::wrappers

namespace kernelift {

/// True if a program called by this argv[0] is a compiler wrapper.
bool is_wrapper_name(const std::string& argv0);

/// A compiler's main: returns its exit code.
int wrapper_main(int argc, char** argv, wrappers::MakeCpuImage make_image);

}  // namespace kernelift
