// The compiler shims: `kernelift` called through a link named nvcc, hipcc, clang++ or clang in a folder that looks like
// a CUDA toolkit. With the CPU device they compile; else they log the command and run the real compiler.
#pragma once
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace kernelift::shim {

/// What a look-alike folder's shims do; kept in its marker file, so that they work outside `kernelift build` too (CMake
/// remembers the compiler's path).
struct ShimConfig {
  std::filesystem::path root;   ///< The look-alike: bin/nvcc, include/, lib64/…
  std::filesystem::path state;  ///< The state folder; the log is compile_commands.json in it.
  std::string device = "cpu";   ///< cpu: compile here. Else: log and pass through.
};

/// The marker file that tells a look-alike from a toolkit.
inline constexpr const char* kMarker = "kernelift-toolkit";

/// Where the host's compilers find linkers that take our runtime whatever their -L says: for COMPILER_PATH, which GCC
/// and clang read.
std::filesystem::path linker_folder(const ShimConfig& config);
/// Where the look-alike for the CPU device belongs: in the state folder; where that has a blank in its path or the
/// like, which neither CMake nor Makefiles quote in a toolkit's, in the user's cache (XDG_CACHE_HOME, else ~/.cache).
std::filesystem::path toolkit_folder(const std::filesystem::path& state);
/// Makes or refreshes the look-alike at `config.root` with shims that are links to `kernelift`.
Status create_toolkit(const ShimConfig& config, const std::filesystem::path& kernelift);
/// The configuration of the look-alike that `argv0` is part of.
Result<ShimConfig> find_config(const std::string& argv0);

}  // namespace kernelift::shim

namespace kernelift {

/// True if a program called by this argv[0] is a compiler shim.
bool is_shim_name(const std::string& argv0);

/// A compiler's main: returns its exit code.
int shim_main(int argc, char** argv);

}  // namespace kernelift
