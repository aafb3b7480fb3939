// What the library that watches a build (watch_preload.cpp) and its reader (watch.cpp) agree on. The library uses
// nothing but the C library, so there is nothing of ours in this header either.
//
// A record is a file of strings, each ended by a zero byte: the compiler's working folder, the number of its arguments,
// the arguments, and as NAME=value those of kWatchedVariables that are set and the build tool (build_tool.h). Its name
// begins with the time, so that names are in the order of the compiles. A response file may be gone when the build has
// ended: the argument names a copy of it beside the record.
#pragma once
#include <cstring>
#include <initializer_list>

namespace kernelift::wrappers {

/// The variable that names the folder for records; the library does nothing without it.
inline constexpr const char* kWatchFolder = "KERNELIFT_WATCH";
/// Is set for what a compiler starts: its command is recorded, and those of its parts say nothing new.
inline constexpr const char* kWatchInside = "KERNELIFT_WATCH_INSIDE";
/// The end of a record's name while it is being written.
inline constexpr const char* kWatchUnfinished = ".part";

/// Variables from which compilers take options and folders.
inline constexpr const char* kWatchedVariables[] = {
    "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "HIPCC_COMPILE_FLAGS_APPEND", "CPATH",
    "CPLUS_INCLUDE_PATH"};

/// Programs that start the compiler that their arguments name.
inline constexpr const char* kCompilerLaunchers[] = {"ccache", "sccache", "distcc", "icecc", "buildcache"};

inline const char* program_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/// True for nvcc, hipcc, clang++-18…: compilers that the wrappers stand in for, and nvc++.
inline bool is_gpu_compiler(const char* path) {
  const char* name = program_name(path);
  size_t length = std::strlen(name);
  while (length > 0 && std::strchr("0123456789.", name[length - 1])) --length;
  if (length < std::strlen(name) && length > 0 && name[length - 1] == '-') --length;
  else length = std::strlen(name);
  for (const char* compiler : {"nvcc", "hipcc", "amdclang++", "amdclang", "clang++", "clang", "nvc++"})
    if (std::strlen(compiler) == length && std::strncmp(compiler, name, length) == 0) return true;
  return false;
}

inline bool is_compiler_launcher(const char* path) {
  for (const char* launcher : kCompilerLaunchers)
    if (std::strcmp(launcher, program_name(path)) == 0) return true;
  return false;
}

}  // namespace kernelift::wrappers
