// Which build tool started a compiler: the log keeps it, because a patch may change a makefile or a CMakeLists.txt only
// where the build goes by it. Read in other people's processes (watch_preload.cpp), so there is nothing here but the C
// library.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace kernelift::wrappers {

/// The name of this in a record (watch_format.h).
inline constexpr const char* kBuiltBy = "KERNELIFT_BUILT_BY";

/// "make" or "ninja" for the program of that name, by all the names that systems give to it; nullptr for any other.
inline const char* build_tool_called(const char* name) {
  for (const char* make : {"make", "gmake", "gnumake"})
    if (std::strcmp(name, make) == 0) return "make";
  for (const char* ninja : {"ninja", "ninja-build", "samu"})
    if (std::strcmp(name, ninja) == 0) return "ninja";
  return nullptr;
}

/// The nearest of them above this process; "" where none is, up to the Kernelift that runs the build; nullptr where
/// that is not known: no Kernelift is above, or /proc cannot be read.
inline const char* build_tool_above() {
  constexpr const char* kOurs = "kernelift";
  constexpr int kMost = 1000;
  int process = getppid();
  for (int at = 0; at < kMost && process > 0; ++at) {
    char path[64], text[512];
    std::snprintf(path, sizeof path, "/proc/%d/stat", process);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return nullptr;
    const ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0) return nullptr;
    text[size] = '\0';
    // "1234 (name) S 1233 …": a name may hold blanks and brackets.
    char *begin = std::strchr(text, '('), *end = std::strrchr(text, ')');
    if (!begin || !end || std::sscanf(end + 1, " %*c %d", &process) != 1) return nullptr;
    *end = '\0';
    if (const char* tool = build_tool_called(begin + 1)) return tool;
    if (std::strncmp(begin + 1, kOurs, std::strlen(kOurs)) == 0) return "";
  }
  return nullptr;
}

}  // namespace kernelift::wrappers
