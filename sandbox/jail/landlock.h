// The part of the jail that knows paths: Linux Landlock (5.13+, unprivileged). seccomp sees only numbers, so "may read
// the headers, nothing else" can be said here alone. libc has no wrappers: the three system calls are made directly.
#pragma once
#include <filesystem>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

/// 0 where the kernel has none.
int landlock_version();

/// From now on only `readable` can be read and only `writable` (may be empty) be changed; `run`: programs among
/// `readable` may be started, and /dev/null is there. Needs no_new_privs.
Status restrict_files(const std::vector<std::filesystem::path>& readable, const std::filesystem::path& writable,
                      bool run = false);

}  // namespace kernelift
