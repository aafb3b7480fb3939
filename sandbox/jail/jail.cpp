// The order matters: namespaces, limits and Landlock need calls that the filter then forbids.
#include "sandbox/jail/jail.h"

#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "sandbox/jail/environment.h"
#include "sandbox/jail/landlock.h"
#include "sandbox/jail/namespaces.h"
#include "sandbox/jail/system_calls.h"

namespace kernelift::sandbox {
namespace {

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

extern "C" const char __ehdr_start, _end;  // By the linker: where this program lies in memory.

/// The offset of an instruction within this program; 0: it is a library's, or made at run time.
uint64_t code_offset(uint64_t instruction) {
  const auto begin = reinterpret_cast<uint64_t>(&__ehdr_start), end = reinterpret_cast<uint64_t>(&_end);
  return instruction >= begin && instruction < end ? instruction - begin : 0;
}

extern "C" void write_fault(int signal, siginfo_t* info, void* context) {
  if (fault_report && fault_report->signal == 0) {
    fault_report->address = reinterpret_cast<uint64_t>(info->si_addr);
    if (signal == SIGSYS) fault_report->system_call = info->si_syscall;
#if defined(__x86_64__)
    fault_report->code =
        code_offset(static_cast<uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]));
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

/// Gives up what root may do and others may not, except to read other users' headers; where Landlock is, it decides
/// about files.
Status drop_privileges(JailKind kind) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return environment_error(std::string("cannot give up privileges: ") + std::strerror(errno));
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct now[2]{};
  if (syscall(SYS_capget, &head, now) != 0) return done();
  // Code that opens no file needs nobody's files. A process that may not signal others could not end it then.
  const bool becomes_nobody = kind == JailKind::Device && geteuid() == 0 && now[0].effective & 1u << CAP_KILL;
  if (becomes_nobody && setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
      setresuid(kNobody, kNobody, kNobody) == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // Another user's process has none.
    if (syscall(SYS_capget, &head, now) != 0) return done();
  }
  uint32_t kept = kind == JailKind::Device ? 0 : 1u << CAP_DAC_READ_SEARCH;
  __user_cap_data_struct wanted[2]{};
  wanted[0].permitted = wanted[0].effective = now[0].permitted & kept;
  if (syscall(SYS_capset, &head, wanted) == 0) return done();
  return environment_error(std::string("cannot give up privileges: ") + std::strerror(errno));
}

Status limit_resources(const JailSpec& spec) {
  constexpr uint64_t kLargestFile = 1ull << 30, kMostDescriptors = 256;
  // Of all confined processes of this machine together: several searches, several processes of each.
  const uint64_t most_threads = 1024 + 64ull * std::thread::hardware_concurrency();
  KERNELIFT_TRY(limit(RLIMIT_CORE, 0, "core dumps"));
  KERNELIFT_TRY(limit(RLIMIT_CPU, spec.cpu_seconds, "processor time"));
  KERNELIFT_TRY(limit(RLIMIT_FSIZE, kLargestFile, "file sizes"));
  // A process that will start a program still holds its parent's descriptors, and opens what the rules for files name.
  if (spec.kind != JailKind::Toolchain) KERNELIFT_TRY(limit(RLIMIT_NOFILE, kMostDescriptors, "open files"));
  KERNELIFT_TRY(limit(RLIMIT_MSGQUEUE, 0, "message queues"));
  // Elsewhere the user's other processes would count too.
  if (geteuid() == kNobody) KERNELIFT_TRY(limit(RLIMIT_NPROC, most_threads, "processes"));
  return limit(RLIMIT_AS, address_space_in_use() + spec.extra_memory_bytes, "memory");
}

constexpr int kShellsSignal = 128;  ///< Exit codes above are signals: the first process of a namespace ignores them.

/// Waits for a child, and for what it leaves behind, and ends as the child did.
[[noreturn]] void wait_for(pid_t child) {
  syscall(SYS_close_range, 0u, ~0u, 0u);  // The reader of the child's output sees its end.
  int status = 0;
  for (pid_t ended = 0; ended != child;) {
    ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) _exit(1);
  }
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - kShellsSignal;
  if (signal > 0 && signal < NSIG) std::signal(signal, SIG_DFL), raise(signal), _exit(kShellsSignal + signal);
  _exit(WEXITSTATUS(status));
}

/// Continues in a child that sees and can signal no process but its own: the second of its namespace, whose first one
/// only waits for it, as does the caller's process.
void continue_apart() {
  for (int process : {1, 2}) {
    const pid_t waiting = getpid();
    const pid_t child = fork();
    if (child < 0) return;  // Then without: the other layers hold.
    if (child > 0) wait_for(child);
    if (process == 1) setsid();  // No terminal.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != waiting && getppid() != 0) _exit(1);
  }
}

void separate_toolchain(const std::vector<std::filesystem::path>& hidden, const std::filesystem::path& writable) {
  // Where modules and package managers of clusters put what a compiler needs.
  constexpr const char* kOwnVariables[] = {"CCACHE_DISABLE",
                                           "LANG",
                                           "LC_ALL",
                                           "LIBRARY_PATH",
                                           "COMPILER_PATH",
                                           "GCC_EXEC_PREFIX",
                                           "NVCC_APPEND_FLAGS",
                                           "NVCC_PREPEND_FLAGS",
                                           "NVCC_CCBIN"};
  narrow_environment(kOwnVariables);
  (void)limit(RLIMIT_CORE, 0, "core dumps").ok();  // Of the waiting process: its memory is the user's.
  const Namespaces entered = enter_namespaces();
  if (entered.mount) {
    for (auto& folder : hidden) (void)mount_memory(folder, 0);
    // Landlock holds back writing, but no change of a file's rights and times.
    (void)mount_read_only_but(writable);
  }
  continue_apart();
  if (entered.mount && entered.process) (void)show_own_processes_only();
}

}  // namespace

Status enter_jail(const JailSpec& spec) {
  const bool toolchain = spec.kind == JailKind::Toolchain, device = spec.kind == JailKind::Device;
  if (toolchain) separate_toolchain(spec.hidden, spec.writable);
  KERNELIFT_TRY(drop_privileges(spec.kind));
  KERNELIFT_TRY(limit_resources(spec));
  if (landlock_version() > 0) {
    std::vector<std::filesystem::path> readable;
    if (!device) readable = spec.hidden.empty() ? spec.readable : without(spec.readable, spec.hidden);
    KERNELIFT_TRY(restrict_files(readable, spec.writable, toolchain));
  }
  if (!toolchain && !device) seal_code();
  return filter_system_calls(spec.kind, !device && !spec.writable.empty());
}

Status seal_jail() {
  seal_code();
  return forbid_new_code();
}

bool bind_to_parent(pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const pid_t now = getppid();
  return now == parent || now == 0;
}

void close_descriptors_but(std::set<int> kept) {
  unsigned first = STDERR_FILENO + 1;
  for (int next : kept) {
    const auto number = static_cast<unsigned>(next);
    if (number > first) syscall(SYS_close_range, first, number - 1, 0);
    first = std::max(first, number + 1);
  }
  syscall(SYS_close_range, first, ~0u, 0);
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

}  // namespace kernelift::sandbox
