// The order matters: limits and Landlock need calls that the filter then forbids. Calls on the allow-list work; calls
// that only an attempt to escape would make end the process with SIGSYS and are named in the verdict; all others return
// EPERM, because libraries try calls and continue without them. clone3 returns ENOSYS so that libc falls back to clone,
// whose flags a filter can read: threads are allowed, processes are not.
#include "sandbox/jail/jail.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>

#include "sandbox/jail/landlock.h"

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
                                    "poll",
                                    "ppoll",
                                    "sendmsg",
                                    "recvmsg",
                                    "sendto",
                                    "recvfrom",
                                    "shutdown",
                                    "mmap",
                                    "munmap",
                                    "mprotect",
                                    "mremap",
                                    "madvise",
                                    "brk",
                                    "memfd_create",
                                    "ftruncate",
                                    "fcntl",
                                    "futex",
                                    "set_robust_list",
                                    "get_robust_list",
                                    "rseq",
                                    "sched_yield",
                                    "sched_getaffinity",
                                    "sched_setaffinity",
                                    "sched_getparam",
                                    "sched_getscheduler",
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
                                    "dup",
                                    "readlink",
                                    "readlinkat",
                                    "getcwd",
                                    "access",
                                    "faccessat",
                                    "faccessat2",
                                    "stat",
                                    "lstat",
                                    "pipe2",
                                    "umask",
                                    "arch_prctl",
                                    "set_tid_address",
                                    "getrlimit"};
constexpr const char* kCompilerAllowed[] = {"getdents64", "ioctl", "statfs", "fstatfs", "msync",
                                            "fadvise64",  "flock", "chdir",  "fchdir"};
constexpr const char* kCompilerWrites[] = {"unlink",   "unlinkat", "rename",    "renameat", "renameat2", "mkdir",
                                           "mkdirat",  "rmdir",    "fchmod",    "fsync",    "fdatasync", "fallocate",
                                           "pwrite64", "truncate", "utimensat", "link",     "chmod"};
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
                                      "kill",
                                      "tkill",
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
                                      "userfaultfd",
                                      "symlink",
                                      "symlinkat",
                                      "mknod",
                                      "mknodat",
                                      "chown",
                                      "fchown",
                                      "lchown",
                                      "fchownat",
                                      "swapon",
                                      "swapoff",
                                      "settimeofday",
                                      "clock_settime",
                                      "sethostname",
                                      "open_by_handle_at",
                                      "shmget",
                                      "shmat",
                                      "msgget",
                                      "semget",
                                      "setpgid",
                                      "setsid"};

/// A condition on argument `number` of a system call. The macros of seccomp.h leave a field uninitialised.
scmp_arg_cmp argument(unsigned number, scmp_compare how, uint64_t a, uint64_t b = 0) { return {number, how, a, b}; }

class Filter {
 public:
  explicit Filter(uint32_t otherwise = SCMP_ACT_ERRNO(EPERM)) : context_(seccomp_init(otherwise)) {}
  ~Filter() { seccomp_release(context_); }
  void add(uint32_t action, const char* call) {
    int number = seccomp_syscall_resolve_name(call);
    if (number != __NR_SCMP_ERROR) note(seccomp_rule_add(context_, action, number, 0));
  }
  void add(uint32_t action, const char* call, scmp_arg_cmp condition) {
    note(seccomp_rule_add_array(context_, action, seccomp_syscall_resolve_name(call), 1, &condition));
  }
  Status load() {
    note(seccomp_load(context_));
    if (worst_ == 0) return done();
    return environment_error(std::string("cannot install the system call filter: ") + std::strerror(-worst_));
  }

 private:
  // Rules for calls that this architecture lacks are not needed; libseccomp reports them as EDOM or EFAULT.
  void note(int result) {
    if (result < 0 && result != -EDOM && result != -EFAULT && result != -EEXIST && worst_ == 0) worst_ = result;
  }
  scmp_filter_ctx context_;
  int worst_ = 0;
};

Status filter_system_calls(const JailSpec& spec) {
  Filter filter;
  for (auto call : kAllowed) filter.add(SCMP_ACT_ALLOW, call);
  bool writes = spec.kind == JailKind::Compiler && !spec.writable.empty();
  for (auto call : kForbidden) filter.add(SCMP_ACT_TRAP, call);
  if (spec.kind == JailKind::Compiler)
    for (auto call : kCompilerAllowed) filter.add(SCMP_ACT_ALLOW, call);
  for (auto call : kCompilerWrites) filter.add(writes ? SCMP_ACT_ALLOW : SCMP_ACT_TRAP, call);

  filter.add(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  filter.add(SCMP_ACT_ALLOW, "clone", argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  filter.add(SCMP_ACT_TRAP, "clone", argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  auto self = static_cast<uint64_t>(getpid());
  filter.add(SCMP_ACT_ALLOW, "tgkill", argument(0, SCMP_CMP_EQ, self));
  filter.add(SCMP_ACT_TRAP, "tgkill", argument(0, SCMP_CMP_NE, self));
  for (auto option : {PR_SET_NAME, PR_GET_NAME, 0x53564d41 /* PR_SET_VMA: malloc names its arenas */})
    filter.add(SCMP_ACT_ALLOW, "prctl", argument(0, SCMP_CMP_EQ, static_cast<uint64_t>(option)));
  filter.add(SCMP_ACT_ALLOW, "prlimit64", argument(2, SCMP_CMP_EQ, 0));

  // Landlock decides which files may be opened; the filter allows reading and forbids writing.
  for (auto call : {"open", "openat"}) {
    if (writes) {
      filter.add(SCMP_ACT_ALLOW, call);
      continue;
    }
    unsigned flags = std::string_view(call) == "open" ? 1 : 2;  // Number of the argument.
    // O_CREAT and O_TRUNC change the disk even with O_RDONLY.
    constexpr uint64_t kChanges = O_ACCMODE | O_CREAT | O_TRUNC;
    filter.add(SCMP_ACT_ALLOW, call, argument(flags, SCMP_CMP_MASKED_EQ, kChanges, O_RDONLY));
    for (uint64_t bit : {O_WRONLY, O_RDWR, O_CREAT, O_TRUNC})
      filter.add(SCMP_ACT_TRAP, call, argument(flags, SCMP_CMP_MASKED_EQ, bit, bit));
  }
  return filter.load();
}

/// A compiler's driver starts preprocessors and assemblers, whose system calls cannot be listed. All calls are allowed
/// except those for the network, other processes' memory and the machine's administration. Landlock restricts files.
Status filter_toolchain() {
  constexpr const char* kNeeded[] = {"execve", "fork", "vfork", "kill", "tkill", "symlink", "setpgid"};
  Filter filter(SCMP_ACT_ALLOW);
  for (std::string_view call : kForbidden)
    if (std::find(std::begin(kNeeded), std::end(kNeeded), call) == std::end(kNeeded))
      filter.add(SCMP_ACT_ERRNO(EPERM), call.data());
  return filter.load();
}

uint64_t address_space_in_use() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

Status limit(__rlimit_resource which, uint64_t value, const char* what) {
  rlimit now{};
  getrlimit(which, &now);
  rlim_t wanted = std::min<rlim_t>(value, now.rlim_max);
  rlimit set{wanted, wanted};
  if (setrlimit(which, &set) == 0) return done();
  return environment_error(std::string("cannot limit ") + what + " in the jail: " + std::strerror(errno));
}

FaultReport* fault_report = nullptr;

extern "C" void write_fault(int signal, siginfo_t* info, void* context) {
  if (fault_report && fault_report->signal == 0) {
    fault_report->address = reinterpret_cast<uint64_t>(info->si_addr);
    if (signal == SIGSYS) fault_report->system_call = info->si_syscall;
#if defined(__x86_64__)
    if (signal == SIGSEGV) {
      constexpr greg_t kWriteBit = 2;  // Of the page fault's error code.
      fault_report->known_access = true;
      fault_report->write = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWriteBit;
    }
#endif
    fault_report->signal = signal;
  }
  constexpr int kFaultExit = 70;
  _exit(kFaultExit);
}

/// Runs `attempt` in a child; true if it exits with 0.
bool child_manages(const std::function<bool()>& attempt) {
  pid_t child = fork();
  if (child == 0) _exit(attempt() ? 0 : 1);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

Status enter_jail(const JailSpec& spec) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return environment_error(std::string("cannot give up privileges: ") + std::strerror(errno));
  constexpr uint64_t kLargestFile = 1ull << 30, kMostDescriptors = 256;
  KERNELIFT_TRY(limit(RLIMIT_CORE, 0, "core dumps"));
  KERNELIFT_TRY(limit(RLIMIT_CPU, spec.cpu_seconds, "processor time"));
  KERNELIFT_TRY(limit(RLIMIT_FSIZE, kLargestFile, "file sizes"));
  KERNELIFT_TRY(limit(RLIMIT_NOFILE, kMostDescriptors, "open files"));
  KERNELIFT_TRY(limit(RLIMIT_AS, address_space_in_use() + spec.extra_memory_bytes, "memory"));
  if (landlock_version() > 0) {
    std::vector<std::filesystem::path> readable;
    bool toolchain = spec.kind == JailKind::Toolchain;
    if (spec.kind == JailKind::Compiler || toolchain) readable = spec.readable;
    KERNELIFT_TRY(restrict_files(readable, spec.writable, toolchain));
  }
  return spec.kind == JailKind::Toolchain ? filter_toolchain() : filter_system_calls(spec);
}

bool bind_to_parent(pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == parent;
}

void close_descriptors_but(int kept) {
  constexpr int kFirst = STDERR_FILENO + 1;
  if (kept > kFirst) syscall(SYS_close_range, static_cast<unsigned>(kFirst), static_cast<unsigned>(kept) - 1, 0);
  syscall(SYS_close_range, static_cast<unsigned>(kept) + 1, ~0u, 0);
}

std::string FaultReport::text() const {
  char line[96];
  if (signal == SIGSYS) {
    char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, system_call);
    std::string text = std::string("refused system call ") + (name ? name : std::to_string(system_call).c_str());
    std::free(name);
    return text;
  }
  if (signal == SIGSEGV || signal == SIGBUS) {
    std::snprintf(line, sizeof line, "%s%s 0x%llx", strsignal(signal),
                  known_access ? (write ? " writing" : " reading") : " at", static_cast<unsigned long long>(address));
    return line;
  }
  return strsignal(signal);
}

void report_faults_to(FaultReport* report) {
  fault_report = report;
  constexpr size_t kStack = 64 << 10;
  static char* stack =
      static_cast<char*>(mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  stack_t alternate{};
  alternate.ss_sp = stack, alternate.ss_size = kStack;
  if (stack != MAP_FAILED) sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_sigaction = write_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) sigaction(signal, &action, nullptr);
}

void* shared_memory(size_t size) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

std::vector<JailAbility> jail_abilities() {
  std::vector<JailAbility> abilities;
  auto add = [&](const char* name, bool available, const char* missing) {
    abilities.push_back({name, available, available ? "" : missing});
  };
  add("seccomp", child_manages([] {
        JailSpec spec;
        return enter_jail(spec).ok() && memfd_create("x", 0) >= 0;
      }),
      "candidates cannot be run: the kernel needs CONFIG_SECCOMP_FILTER (in a container: a profile that allows "
      "seccomp)");
  add("landlock", landlock_version() > 0 && child_manages([] {
                    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && restrict_files({}, {}).ok() &&
                           open("/etc/passwd", O_RDONLY) < 0;
                  }),
      "candidates and their compilers can read every file that you can: use a kernel of 5.13 or later and add landlock "
      "to its lsm= list");
  add("parent-death signal", child_manages([] { return bind_to_parent(getppid()); }),
      "workers could outlive a killed kernelift");
  return abilities;
}

}  // namespace kernelift::sandbox
