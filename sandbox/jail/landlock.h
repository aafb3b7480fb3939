// The part of the jail that restricts files by path: Linux Landlock (5.13 or later, unprivileged). A seccomp filter
// cannot, because it sees only numbers. libc has no wrappers, so the three system calls are made directly.
#pragma once
#include <filesystem>
#include <vector>

#include "core/base/result.h"

namespace kernelift::sandbox {

/// The kernel's version of Landlock's interface; 0 if it has none.
int landlock_version();

/// From now on this process can read only `readable` and change only `writable` (none if that is empty). `run`: it may
/// also start programs in `readable` and use /dev/null. EXPECTS: no_new_privs is set.
Status restrict_files(const std::vector<std::filesystem::path>& readable, const std::filesystem::path& writable,
                      bool run = false);

}  // namespace kernelift::sandbox
