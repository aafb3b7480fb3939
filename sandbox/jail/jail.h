// Confinement of a process that does untrusted work: compiling a candidate's source, or running its code. enter_jail()
// is called in a forked child and cannot be undone: no privileges, resource limits, files restricted by Landlock, and a
// seccomp allow-list without network, exec or further processes. It needs no root. The layers, and what is left where a
// kernel lacks one: layers.h.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::sandbox {

enum class JailKind {
  Compiler,   ///< May read `readable` and write in one private folder; runs no code but its own.
  Device,     ///< Runs device code: may open no file if the kernel has Landlock, and may write no file in any case.
  Toolchain,  ///< Runs a compiler that starts programs of its own (nvcc): may read and execute `readable`, may write in
              ///< one private folder, has no network and no access to other processes.
};

struct JailSpec {
  JailKind kind = JailKind::Device;
  std::vector<std::filesystem::path> readable;  ///< Folders and files that may be read (Compiler, Toolchain).
  std::filesystem::path writable;               ///< The private folder; empty: nothing may be written.
  std::vector<std::filesystem::path> hidden;    ///< Folders inside readable ones that must not be read (Toolchain).
  uint64_t extra_memory_bytes = 4ull << 30;     ///< Limit of address space beyond what the process uses already.
  unsigned cpu_seconds = 600;                   ///< CPU time limit, in case the watcher's own time limit fails.
};

/// Confines the calling process permanently. After an Error it is confined in part: the caller must exit. A Toolchain's
/// process continues as the child of the caller's, which then only waits for it.
Status enter_jail(const JailSpec& spec);

/// In a Device jail, once its images are loaded: from now on no memory becomes executable, the code that is there
/// cannot be replaced, nothing can be opened, and nothing be asked about files.
Status seal_jail();

/// For a forked child: puts it into its own process group and has it killed when its parent dies. False if the parent
/// has ended already. A child in a process namespace of its own cannot tell, and ends when its channel closes.
bool bind_to_parent(pid_t parent);

/// For a forked child: closes the descriptors that it inherited except the standard streams and `kept`.
void close_descriptors_but(std::set<int> kept);

/// A fault in a confined process, written by its signal handler to memory shared with the watcher.
struct FaultReport {
  int32_t signal = 0;                        ///< 0: no fault.
  int32_t system_call = -1;                  ///< SIGSYS: the call that was refused.
  uint64_t address = 0;                      ///< SIGSEGV, SIGBUS: the address that was accessed.
  bool known_access = false, write = false;  ///< The access is known to be a write or a read.
  uint64_t code = 0;                         ///< The instruction, as an offset in this program; 0: not of this program.
  /// "segmentation fault writing 0x10", "refused system call socket".
  std::string text() const;
};

/// Installs a handler for SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP and SIGSYS, on an alternate stack of the
/// calling thread, which writes the report and ends the process. `report` must be shared memory that outlives the
/// process.
void report_faults_to(FaultReport* report);

/// Memory that this process shares with the children that it forks from now on; nullptr if there is not enough memory.
void* shared_memory(size_t size);

}  // namespace kernelift::sandbox
