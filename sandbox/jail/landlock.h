// The part of the jail that restricts a process by path, and by whom it may signal and reach: Linux Landlock (5.13 or
// later, unprivileged). A seccomp filter cannot, because it sees only numbers. libc has no wrappers, so the three
// system calls are made directly.
#pragma once
#include <filesystem>
#include <vector>

#include "core/base/result.h"

namespace kernelift::sandbox {

/// The kernel's version of Landlock's interface; 0 if it has none. Each version holds back what the one before does:
///   1 reading, writing, executing files   2 moving between folders   3 shortening files   4 TCP: bind and connect
///   5 ioctl on devices                     6 signals to, and abstract Unix sockets of, processes outside the jail
inline constexpr int kLandlockFiles = 1, kLandlockNetwork = 4, kLandlockDevices = 5, kLandlockScopes = 6;
int landlock_version();

/// From now on this process can read only `readable` and change only `writable` (none if that is empty), and, as far as
/// the kernel's version goes, use no TCP, signal no process outside, and reach no abstract Unix socket outside. `run`:
/// it may also start programs in `readable` and use /dev/null. EXPECTS: no_new_privs is set.
Status restrict_files(const std::vector<std::filesystem::path>& readable, const std::filesystem::path& writable,
                      bool run = false);

/// The same rights without `hidden`: each of `folders` that contains one of them, or is it, is replaced by what else
/// lies in it. Landlock can only grant.
std::vector<std::filesystem::path> without(const std::vector<std::filesystem::path>& folders,
                                           const std::vector<std::filesystem::path>& hidden);

}  // namespace kernelift::sandbox
