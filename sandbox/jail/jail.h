// Confinement of a process that is about to do untrusted work: compile a stranger's text, or run a candidate's code.
// enter_jail() is called in a forked child and cannot be undone: no new privileges, resource limits, a file view cut
// down by Landlock, and a seccomp allow-list without network, exec or further processes. It needs no root. What the
// kernel does not offer is reported by jail_abilities(), and is never silently pretended.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

enum class JailKind {
  Compiler,  ///< Reads its headers, may write in one private folder.
  Device,  ///< Runs device code: no file is opened by name where the kernel has Landlock, and none is written anywhere.
  Toolchain,  ///< Runs a compiler that starts programs of its own (nvcc): reads and runs what is readable, may write in
              ///< one private folder, has no network and cannot reach other processes' memory.
};

struct JailSpec {
  JailKind kind = JailKind::Device;
  std::vector<std::filesystem::path> readable;  ///< Folders and files that may be read (Compiler).
  std::filesystem::path writable;               ///< The private folder; empty: nothing may be written.
  uint64_t extra_memory_bytes = 4ull << 30;     ///< Address space beyond what the process has already.
  unsigned cpu_seconds = 600;                   ///< The watchdog works on wall time; this is the net under it.
};

/// Confines the calling process, for good. An Error leaves it confined in part: the caller must exit.
Status enter_jail(const JailSpec& spec);

/// For a forked child: its own process group, killed when its parent dies. False if the parent is gone already.
bool bind_to_parent(pid_t parent);

/// For a forked child: closes what it inherited but the standard streams and `kept`.
void close_descriptors_but(int kept);

/// What went wrong in a confined process, left by its signal handler in memory shared with the watcher.
struct FaultReport {
  int32_t signal = 0;
  int32_t system_call = -1;  ///< SIGSYS: the call that was refused.
  uint64_t address = 0;      ///< SIGSEGV, SIGBUS: where.
  bool known_access = false, write = false;
  /// "segmentation fault writing 0x10", "refused system call socket".
  std::string text() const;
};

/// Catches SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP and SIGSYS on the calling thread's alternate stack, writes
/// the report and ends the process. `report` must be shared memory that outlives the process.
void report_faults_to(FaultReport* report);

/// Memory shared by a process and the children that it forks from now on; nullptr when there is none to be had.
void* shared_memory(size_t size);

struct JailAbility {
  std::string name;  ///< "seccomp", "landlock", …
  bool available = false;
  std::string detail;  ///< What it means when it is missing, and what to do.
};
/// For `kernelift doctor`. Tries each mechanism in a child process.
std::vector<JailAbility> jail_abilities();

}  // namespace kernelift
