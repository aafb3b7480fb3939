// Calls on the allow-list work; calls that only an attempt to escape would make end the process with SIGSYS and are
// named in the verdict; all others return EPERM, because libraries try calls and continue without them. clone3 returns
// ENOSYS so that libc falls back to clone, whose flags a filter can read: threads are allowed, processes are not.
//
// A filter is compiled once per process and kind: a fork server does it, and its workers load what they inherited.
#include "sandbox/jail/system_calls.h"

#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/jail/channel.h"

namespace kernelift::sandbox {
namespace {

constexpr const char* kAllowed[] = {"read",
                                    "write",
                                    "readv",
                                    "writev",
                                    "pread64",
                                    "lseek",
                                    "close",
                                    "close_range",
                                    "fstat",
                                    "newfstatat",
                                    "statx",
                                    "stat",
                                    "lstat",
                                    "poll",
                                    "ppoll",
                                    "sendmsg",
                                    "recvmsg",
                                    "shutdown",
                                    "munmap",
                                    "mremap",
                                    "madvise",
                                    "brk",
                                    "futex",
                                    "set_robust_list",
                                    "get_robust_list",
                                    "rseq",
                                    "sched_yield",
                                    "sched_getaffinity",
                                    "getpid",
                                    "gettid",
                                    "getppid",
                                    "clock_gettime",
                                    "clock_getres",
                                    "clock_nanosleep",
                                    "nanosleep",
                                    "gettimeofday",
                                    "time",
                                    "getcpu",
                                    "exit",
                                    "exit_group",
                                    "rt_sigaction",
                                    "rt_sigprocmask",
                                    "rt_sigreturn",
                                    "sigaltstack",
                                    "getrandom",
                                    "uname",
                                    "sysinfo",
                                    "getrusage",
                                    "membarrier",
                                    "getuid",
                                    "geteuid",
                                    "getgid",
                                    "getegid",
                                    "restart_syscall",
                                    "readlink",
                                    "readlinkat",
                                    "getcwd",
                                    "access",
                                    "faccessat",
                                    "faccessat2",
                                    "set_tid_address"};
constexpr const char* kDeviceAllowed[] = {"memfd_create"};
constexpr const char* kCompilerAllowed[] = {"getdents64", "statfs", "fstatfs", "msync", "fadvise64",
                                            "flock",      "chdir",  "fchdir",  "dup",   "umask"};
constexpr const char* kCompilerWrites[] = {"unlink",    "unlinkat",  "rename",  "renameat", "renameat2",
                                           "mkdir",     "mkdirat",   "rmdir",   "fsync",    "fdatasync",
                                           "ftruncate", "fallocate", "pwrite64"};
// Compilers and kernels never call these by accident: such a call is an attempt to escape.
constexpr const char* kForbidden[] = {"execve",
                                      "execveat",
                                      "fork",
                                      "vfork",
                                      "socket",
                                      "socketpair",
                                      "connect",
                                      "bind",
                                      "listen",
                                      "accept",
                                      "accept4",
                                      "ptrace",
                                      "process_vm_readv",
                                      "process_vm_writev",
                                      "process_madvise",
                                      "kcmp",
                                      "kill",
                                      "tkill",
                                      "rt_sigqueueinfo",
                                      "pidfd_open",
                                      "pidfd_getfd",
                                      "pidfd_send_signal",
                                      "mount",
                                      "umount2",
                                      "pivot_root",
                                      "chroot",
                                      "unshare",
                                      "setns",
                                      "bpf",
                                      "perf_event_open",
                                      "init_module",
                                      "finit_module",
                                      "delete_module",
                                      "kexec_load",
                                      "reboot",
                                      "setuid",
                                      "setgid",
                                      "setreuid",
                                      "setregid",
                                      "setresuid",
                                      "setresgid",
                                      "setgroups",
                                      "capset",
                                      "keyctl",
                                      "add_key",
                                      "request_key",
                                      "io_uring_setup",
                                      "io_uring_enter",
                                      "io_uring_register",
                                      "userfaultfd",
                                      "symlink",
                                      "symlinkat",
                                      "link",
                                      "linkat",
                                      "mknod",
                                      "mknodat",
                                      "chown",
                                      "fchown",
                                      "lchown",
                                      "fchownat",
                                      "chmod",
                                      "fchmod",
                                      "fchmodat",
                                      "utime",
                                      "utimes",
                                      "futimesat",
                                      "utimensat",
                                      "setxattr",
                                      "lsetxattr",
                                      "fsetxattr",
                                      "swapon",
                                      "swapoff",
                                      "settimeofday",
                                      "clock_settime",
                                      "adjtimex",
                                      "sethostname",
                                      "setdomainname",
                                      "open_by_handle_at",
                                      "shmget",
                                      "shmat",
                                      "msgget",
                                      "semget",
                                      "mq_open",
                                      "setpgid",
                                      "setsid",
                                      "sched_setaffinity",
                                      "sched_setattr",
                                      "sched_setparam",
                                      "sched_setscheduler",
                                      "setpriority",
                                      "ioprio_set",
                                      "migrate_pages",
                                      "move_pages",
                                      "pkey_mprotect",
                                      "personality",
                                      "acct",
                                      "quotactl",
                                      "syslog",
                                      "vhangup",
                                      "inotify_init1",
                                      "inotify_init",
                                      "fanotify_init",
                                      "fanotify_mark",
                                      "fsopen",
                                      "fsconfig",
                                      "fsmount",
                                      "fspick",
                                      "move_mount",
                                      "open_tree",
                                      "mount_setattr",
                                      "kexec_file_load",
                                      "removexattr",
                                      "lremovexattr",
                                      "fremovexattr",
                                      "quotactl_fd",
                                      "process_mrelease",
                                      "create_module",
                                      "uselib",
                                      "iopl",
                                      "ioperm",
                                      "clock_adjtime",
                                      "stime",
                                      "memfd_secret",
                                      "name_to_handle_at",
                                      "truncate"};
// libseccomp 2.5 does not know these: fchmodat2, setxattrat, removexattrat, open_tree_attr, file_setattr. From 424 on
// calls have one number on all architectures.
constexpr int kForbiddenNumbers[] = {452, 463, 466, 467, 469};
/// What a compiler's driver and its programs need of these, and what they do to their own files.
constexpr const char* kToolchainNeeds[] = {"execve",    "fork",        "vfork",     "kill",    "tkill",     "symlink",
                                           "symlinkat", "link",        "linkat",    "setpgid", "setsid",    "chmod",
                                           "fchmod",    "fchmodat",    "utime",     "utimes",  "futimesat", "utimensat",
                                           "truncate",  "personality", "pidfd_open"};
constexpr int kSpaces[] = {CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,   CLONE_NEWIPC,
                           CLONE_NEWUTS,  CLONE_NEWNS,  CLONE_NEWCGROUP};

constexpr int kFchmodat2 = 452;
constexpr int kMseal = 462;  // libseccomp 2.5 and Debian 12's headers do not know it.

/// A number that stands for the process's own in a compiled filter: no process has it, because it exceeds the largest.
constexpr uint32_t kOwnNumber = 0x6b6c7067;

/// A condition on argument `number` of a system call. The macros of seccomp.h leave a field uninitialised.
scmp_arg_cmp argument(unsigned number, scmp_compare how, uint64_t a, uint64_t b = 0) { return {number, how, a, b}; }
scmp_arg_cmp has(unsigned number, uint64_t mask, uint64_t bits) {
  return argument(number, SCMP_CMP_MASKED_EQ, mask, bits);
}

using Program = std::vector<sock_filter>;

class Filter {
 public:
  explicit Filter(uint32_t otherwise) : context_(seccomp_init(otherwise)) {}
  Filter(const Filter&) = delete;
  ~Filter() { seccomp_release(context_); }
  void add(uint32_t action, std::string_view call, std::initializer_list<scmp_arg_cmp> conditions = {}) {
    int number = seccomp_syscall_resolve_name(std::string(call).c_str());
    if (number != __NR_SCMP_ERROR) add(action, number, conditions);
  }
  void add(uint32_t action, int number, std::initializer_list<scmp_arg_cmp> conditions = {}) {
    note(
        seccomp_rule_add_array(context_, action, number, static_cast<unsigned>(conditions.size()), conditions.begin()));
  }
  void allow(std::span<const char* const> calls) {
    for (auto call : calls) add(SCMP_ACT_ALLOW, call);
  }
  Result<Program> compile() {
    Descriptor file(memfd_create("filter", MFD_CLOEXEC));
    note(file ? seccomp_export_bpf(context_, file.get()) : -errno);
    off_t size = file ? lseek(file.get(), 0, SEEK_END) : 0;
    Program program(static_cast<size_t>(std::max<off_t>(size, 0)) / sizeof(sock_filter));
    if (worst_ == 0 && pread(file.get(), program.data(), program.size() * sizeof(sock_filter), 0) != size)
      worst_ = -EIO;
    if (worst_ == 0 && !program.empty()) return program;
    return environment_error(std::string("cannot make the system call filter: ") + std::strerror(-worst_));
  }

 private:
  // Rules for calls that this architecture lacks are not needed; libseccomp reports them as EDOM or EFAULT.
  void note(int result) {
    if (result < 0 && result != -EDOM && result != -EFAULT && result != -EEXIST && worst_ == 0) worst_ = result;
  }
  scmp_filter_ctx context_;
  int worst_ = 0;
};

Status load(Program program) {
  for (sock_filter& line : program)
    if (line.k == kOwnNumber) line.k = static_cast<uint32_t>(getpid());
  sock_fprog all{static_cast<unsigned short>(program.size()), program.data()};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all) == 0) return done();
  return environment_error(std::string("cannot install the system call filter: ") + std::strerror(errno));
}

/// Descriptors: nothing by which the kernel would signal a process that the descriptor's owner names.
void restrict_fcntl(Filter& filter) {
  for (int command : {F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC, F_DUPFD})
    filter.add(SCMP_ACT_ALLOW, "fcntl", {argument(1, SCMP_CMP_EQ, static_cast<uint64_t>(command))});
  constexpr uint64_t kAsync = O_ASYNC;
  filter.add(SCMP_ACT_ALLOW, "fcntl", {argument(1, SCMP_CMP_EQ, F_SETFL), has(2, kAsync, 0)});
  filter.add(SCMP_ACT_TRAP, "fcntl", {argument(1, SCMP_CMP_EQ, F_SETFL), has(2, kAsync, kAsync)});
  for (int command : {F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ})
    filter.add(SCMP_ACT_TRAP, "fcntl", {argument(1, SCMP_CMP_EQ, static_cast<uint64_t>(command))});
}

/// Memory: never executable and writable at once, never executable later. `maps_code`: files may be mapped to be run.
void restrict_memory(Filter& filter, bool maps_code) {
  constexpr uint64_t kRun = PROT_EXEC, kBoth = PROT_EXEC | PROT_WRITE;
  filter.add(SCMP_ACT_ALLOW, "mprotect", {has(2, kRun, 0)});
  filter.add(SCMP_ACT_TRAP, "mprotect", {has(2, kRun, kRun)});
  filter.add(SCMP_ACT_ALLOW, "mmap", {has(2, kRun, 0)});
  if (maps_code) {
    filter.add(SCMP_ACT_TRAP, "mmap", {has(2, kBoth, kBoth)});
    filter.add(SCMP_ACT_TRAP, "mmap", {has(2, kBoth, kRun), has(3, MAP_ANONYMOUS, MAP_ANONYMOUS)});
    filter.add(SCMP_ACT_ALLOW, "mmap", {has(2, kBoth, kRun), has(3, MAP_ANONYMOUS, 0)});
  } else {
    filter.add(SCMP_ACT_TRAP, "mmap", {has(2, kRun, kRun)});
  }
}

/// Files: Landlock decides which; without `writes` none may be opened for writing.
void restrict_opening(Filter& filter, bool writes) {
  for (auto call : {"open", "openat"}) {
    if (writes) {
      filter.add(SCMP_ACT_ALLOW, call);
      continue;
    }
    unsigned flags = std::string_view(call) == "open" ? 1 : 2;  // Number of the argument.
    // O_CREAT and O_TRUNC change the disk even with O_RDONLY.
    constexpr uint64_t kChanges = O_ACCMODE | O_CREAT | O_TRUNC;
    filter.add(SCMP_ACT_ALLOW, call, {has(flags, kChanges, O_RDONLY)});
    for (uint64_t bit : {O_WRONLY, O_RDWR, O_CREAT, O_TRUNC}) filter.add(SCMP_ACT_TRAP, call, {has(flags, bit, bit)});
  }
}

void restrict_processes(Filter& filter) {
  filter.add(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  uint64_t never = CLONE_PTRACE;
  for (int space : kSpaces) never |= static_cast<uint64_t>(space);
  constexpr uint64_t kThread = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND;
  filter.add(SCMP_ACT_ALLOW, "clone", {has(0, kThread | never, kThread)});
  filter.add(SCMP_ACT_TRAP, "clone", {has(0, CLONE_THREAD, 0)});
  // LLVM raises a signal that it caught again by the second: without it every crash would look like an escape.
  for (const char* call : {"tgkill", "rt_tgsigqueueinfo"}) {
    filter.add(SCMP_ACT_ALLOW, call, {argument(0, SCMP_CMP_EQ, kOwnNumber)});
    filter.add(SCMP_ACT_TRAP, call, {argument(0, SCMP_CMP_NE, kOwnNumber)});
  }
  for (auto option : {PR_SET_NAME, PR_GET_NAME, 0x53564d41 /* PR_SET_VMA: malloc names its arenas */})
    filter.add(SCMP_ACT_ALLOW, "prctl", {argument(0, SCMP_CMP_EQ, static_cast<uint64_t>(option))});
  filter.add(SCMP_ACT_ALLOW, "prlimit64", {argument(0, SCMP_CMP_EQ, 0), argument(2, SCMP_CMP_EQ, 0)});
  filter.add(SCMP_ACT_TRAP, "prlimit64", {argument(0, SCMP_CMP_NE, 0)});
  filter.add(SCMP_ACT_ALLOW, "getrlimit");
}

Result<Program> closed_filter(JailKind kind, bool writes) {
  Filter filter(SCMP_ACT_ERRNO(EPERM));
  const bool compiler = kind == JailKind::Compiler;
  filter.allow(kAllowed);
  compiler ? filter.allow(kCompilerAllowed) : filter.allow(kDeviceAllowed);
  for (auto call : kCompilerWrites) filter.add(writes ? SCMP_ACT_ALLOW : SCMP_ACT_TRAP, call);
  for (auto call : kForbidden) filter.add(SCMP_ACT_TRAP, call);
  for (int call : kForbiddenNumbers) filter.add(SCMP_ACT_TRAP, call);
  restrict_fcntl(filter);
  restrict_memory(filter, !compiler);
  restrict_opening(filter, writes);
  restrict_processes(filter);
  // Libraries ask whether a descriptor is a terminal, and do without an answer; nobody writes into its input.
  for (unsigned long request : {TIOCSTI, TIOCSETD, TIOCLINUX})
    filter.add(SCMP_ACT_TRAP, "ioctl", {argument(1, SCMP_CMP_EQ, request)});
  if (!compiler)  // For forbid_new_code().
    filter.add(SCMP_ACT_ALLOW, "seccomp",
               {argument(0, SCMP_CMP_EQ, SECCOMP_SET_MODE_FILTER), argument(1, SCMP_CMP_EQ, 0)});
  filter.add(SCMP_ACT_ALLOW, kMseal);
  return filter.compile();
}

/// A compiler's driver starts preprocessors and assemblers, whose system calls cannot be listed. All calls are allowed
/// except those for the network, other processes' memory and the machine's administration, namespaces included: in one
/// of its own a process would have rights again. Landlock restricts files.
Result<Program> toolchain_filter() {
  Filter filter(SCMP_ACT_ALLOW);
  for (std::string_view call : kForbidden)
    if (std::ranges::find(kToolchainNeeds, call) == std::end(kToolchainNeeds)) filter.add(SCMP_ACT_ERRNO(EPERM), call);
  for (int call : kForbiddenNumbers)
    if (call != kFchmodat2) filter.add(SCMP_ACT_ERRNO(EPERM), call);
  filter.add(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  for (int space : kSpaces)
    filter.add(SCMP_ACT_ERRNO(EPERM), "clone", {has(0, static_cast<uint64_t>(space), static_cast<uint64_t>(space))});
  for (int command : {F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY})
    filter.add(SCMP_ACT_ERRNO(EPERM), "fcntl", {argument(1, SCMP_CMP_EQ, static_cast<uint64_t>(command))});
  for (unsigned long request : {TIOCSTI, TIOCSETD, TIOCLINUX})
    filter.add(SCMP_ACT_ERRNO(EPERM), "ioctl", {argument(1, SCMP_CMP_EQ, request)});
  return filter.compile();
}

Result<Program> sealing_filter() {
  Filter filter(SCMP_ACT_ALLOW);
  // libc looks for /sys when it counts processors, and does without. The others tell what files there are, how large
  // and how old, which Landlock does not hold back: no path is of use any more. AT_EMPTY_PATH would not make it none.
  for (auto call : {"open", "openat", "openat2", "stat", "lstat", "newfstatat", "statx", "access", "faccessat",
                    "faccessat2", "readlink", "readlinkat", "getcwd"})
    filter.add(SCMP_ACT_ERRNO(EPERM), call);
  for (auto call : {"memfd_create", "memfd_secret", "seccomp"}) filter.add(SCMP_ACT_TRAP, call);
  filter.add(SCMP_ACT_TRAP, "mmap", {has(2, PROT_EXEC, PROT_EXEC)});
  // A handler of its own would try out calls without anybody hearing of it.
  filter.add(SCMP_ACT_TRAP, "rt_sigaction", {argument(0, SCMP_CMP_EQ, SIGSYS), argument(1, SCMP_CMP_NE, 0)});
  // Who stopped it decides when it goes on.
  filter.add(SCMP_ACT_TRAP, "tgkill", {argument(2, SCMP_CMP_EQ, SIGCONT)});
  filter.add(SCMP_ACT_TRAP, "rt_tgsigqueueinfo", {argument(2, SCMP_CMP_EQ, SIGCONT)});
  return filter.compile();
}

/// A filter, compiled at the first use.
class Kept {
 public:
  explicit Kept(Result<Program> (*compile)()) : compile_(compile) {}
  Status prepare() {
    if (!program_) {
      KERNELIFT_ASSIGN(program_, compile_());
    }
    return done();
  }
  Status install() {
    KERNELIFT_TRY(prepare());
    return load(*program_);
  }

 private:
  Result<Program> (*compile_)();
  std::optional<Program> program_;
};

Kept device([] { return closed_filter(JailKind::Device, false); });
Kept reading_compiler([] { return closed_filter(JailKind::Compiler, false); });
Kept writing_compiler([] { return closed_filter(JailKind::Compiler, true); });
Kept toolchain(toolchain_filter), sealing(sealing_filter);

}  // namespace

Status filter_system_calls(JailKind kind, bool writes) {
  if (kind == JailKind::Toolchain) return toolchain.install();
  if (kind == JailKind::Device) return device.install();
  return (writes ? writing_compiler : reading_compiler).install();
}

void prepare_filters() {
  // What cannot be compiled is told by those who install it.
  for (Kept* filter : {&device, &sealing, &reading_compiler, &writing_compiler}) (void)filter->prepare().ok();
}

Status forbid_new_code() { return sealing.install(); }

void seal_code() {
#if defined(__x86_64__)
  auto seal = [](dl_phdr_info* library, size_t, void*) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    for (int i = 0; i < library->dlpi_phnum; ++i) {
      auto& segment = library->dlpi_phdr[i];
      const bool code = segment.p_type == PT_LOAD && segment.p_flags & PF_X, fixed = segment.p_type == PT_GNU_RELRO;
      if (!code && !fixed) continue;
      const uintptr_t from = library->dlpi_addr + segment.p_vaddr, to = from + segment.p_memsz;
      // Whole pages: what shares a page with code is code, what shares one with data is data.
      const uintptr_t begin = from / page * page, end = (code ? to + page - 1 : to) / page * page;
      if (begin < end) syscall(kMseal, begin, end - begin, 0);
    }
    return 0;
  };
  dl_iterate_phdr(seal, nullptr);
#endif
}

bool can_seal_code() {
#if defined(__x86_64__)
  return syscall(kMseal, 0, 0, 0) == 0;  // Of no bytes: only tells whether there is the call.
#else
  return false;
#endif
}

}  // namespace kernelift::sandbox
