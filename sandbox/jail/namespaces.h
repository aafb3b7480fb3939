// Linux namespaces: a view of the machine without other processes, networks and mounts. What a kernel or container
// refuses is left out; jail_layers() tells which. A fork server enters them once, for all of its workers.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>

namespace kernelift::sandbox {

inline constexpr unsigned kNobody = 65534;  ///< User and group without rights.

/// The namespaces that a process has entered.
struct Namespaces {
  bool user = false, process = false, network = false, ipc = false, host_name = false, mount = false;
};

/// For a process with one thread. Root enters the others without a user namespace, since in one it could not read other
/// users' files; anybody else is "nobody" inside. Children forked from then on are in the new process namespace; when
/// the first of them ends, so do all others.
Namespaces enter_namespaces();

/// In a new process namespace: shows only its processes under /proc. EXPECTS: a mount namespace. False: not permitted.
bool show_own_processes_only();

/// In a mount namespace: puts an empty folder in memory in place of `folder`, which takes `bytes` in all. 0 bytes: it
/// cannot be written. False: not permitted.
bool mount_memory(const std::filesystem::path& folder, uint64_t bytes);

/// In a mount namespace: nothing in any folder can be changed, but in `folder` (none if it is empty). False: not
/// permitted, or the kernel is older than 5.12.
bool mount_read_only_but(const std::filesystem::path& folder);

/// fork(), with the child in a process namespace of its own where this process may make one: it is number 1 there and
/// can name no other process.
pid_t fork_apart();

/// The number, in this process's namespace, of the process that a pidfd refers to; -1 if it is not known.
pid_t process_of(int pidfd);

}  // namespace kernelift::sandbox
