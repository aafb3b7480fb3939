// Each test forks a child, confines it and lets it try an action that is forbidden to candidates.
#include "sandbox/jail/jail.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "core/base/process.h"
#include "sandbox/jail/channel.h"
#include "sandbox/jail/landlock.h"
#include "sandbox/jail/namespaces.h"

namespace kernelift::sandbox {
namespace {

struct Ended {
  int status = 0;
  FaultReport fault;
  bool returned(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code && fault.signal == 0; }
};

constexpr int kNotJailed = 99;

/// Runs `act` in a confined child; its return value is the exit code.
Ended in_jail(const JailSpec& spec, const std::function<int()>& act) {
  auto* fault = static_cast<FaultReport*>(shared_memory(sizeof(FaultReport)));
  pid_t child = fork();
  if (child == 0) {
    report_faults_to(fault);
    if (!enter_jail(spec).ok()) _exit(kNotJailed);
    _exit(act());
  }
  Ended ended;
  waitpid(child, &ended.status, 0);
  ended.fault = *fault;
  return ended;
}

void expect_refused(const Ended& ended, const std::string& call) {
  EXPECT_EQ(ended.fault.signal, SIGSYS);
  EXPECT_EQ(ended.fault.text(), "refused system call " + call);
}

TEST(Descriptors, AreClosedInAForkedChildExceptTheStandardOnesAndTheKeptOne) {
  std::vector<int> opened;
  for (int i = 0; i < 6; ++i) opened.push_back(dup(STDERR_FILENO));
  const int kept = opened[3];
  pid_t child = fork();
  if (child == 0) {
    close_descriptors_but({kept});
    bool right = fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDERR_FILENO, F_GETFD) >= 0;
    for (int fd : opened) right &= (fcntl(fd, F_GETFD) >= 0) == (fd == kept);
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (int fd : opened) close(fd);
}

TEST(Jail, AllowsMemoryAndThreads) {
  EXPECT_TRUE(in_jail({}, [] {
                std::vector<char> memory(32 << 20, 1);
                int sum = 0;
                std::thread worker([&] { sum = memory.back(); });
                worker.join();
                return sum == 1 ? 0 : 1;
              }).returned(0));
}

TEST(Jail, RefusesTheNetwork) {
  expect_refused(in_jail({}, [] { return socket(AF_INET, SOCK_STREAM, 0); }), "socket");
}

TEST(Jail, RefusesToStartPrograms) {
  expect_refused(in_jail({},
                         [] {
                           char* argv[] = {const_cast<char*>("/bin/true"), nullptr};
                           return execve("/bin/true", argv, nullptr);
                         }),
                 "execve");
}

TEST(Jail, RefusesFurtherProcesses) {
  expect_refused(in_jail({}, [] { return fork() < 0; }), "clone");
}

TEST(Jail, RefusesToSignalOthers) {
  expect_refused(in_jail({}, [] { return kill(getppid(), SIGKILL); }), "kill");
}

TEST(Jail, RefusesToOpenForWriting) {
  expect_refused(in_jail({}, [] { return open("/tmp/kernelift-must-not-exist", O_WRONLY | O_CREAT, 0600); }), "openat");
  EXPECT_NE(access("/tmp/kernelift-must-not-exist", F_OK), 0);
}

TEST(Jail, HidesAllFilesFromDeviceCode) {
  EXPECT_TRUE(in_jail({}, [] { return open("/etc/passwd", O_RDONLY) < 0 ? 0 : 1; }).returned(0));
}

TEST(Jail, LetsACompilerReadOnlyItsHeadersAndWriteOnlyItsFolder) {
  auto folder = TemporaryFolder::create("jail");
  ASSERT_TRUE(folder.ok());
  std::string header = folder->path() / "readable" / "header.h";
  ASSERT_TRUE(write_atomically(header, "x").ok());
  ASSERT_TRUE(write_atomically(folder->path() / "secret", "x").ok());
  std::filesystem::create_directory(folder->path() / "private");
  JailSpec spec;
  spec.kind = JailKind::Compiler;
  spec.readable = {folder->path() / "readable"};
  spec.writable = folder->path() / "private";
  std::string secret = folder->path() / "secret", out = folder->path() / "private" / "out";
  EXPECT_TRUE(in_jail(spec, [&] {
                if (open(header.c_str(), O_RDONLY) < 0) return 1;
                if (open(secret.c_str(), O_RDONLY) >= 0) return 2;
                if (open(header.c_str(), O_WRONLY) >= 0) return 3;
                return open(out.c_str(), O_WRONLY | O_CREAT, 0600) < 0 ? 4 : 0;
              }).returned(0));
}

TEST(Jail, LetsAToolchainStartProgramsButNotReachTheNetworkOrOtherFiles) {
  auto folder = TemporaryFolder::create("jail");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_atomically(folder->path() / "secret", "x").ok());
  std::filesystem::create_directory(folder->path() / "private");
  JailSpec spec;
  spec.kind = JailKind::Toolchain;
  spec.readable = {"/usr", "/bin", "/lib", "/lib64"};
  spec.writable = folder->path() / "private";
  auto shell = [&](const std::string& script) {
    ProcessOptions options;
    options.prepare = [&] { return enter_jail(spec); };
    return *run_process({"/bin/sh", "-c", script}, options);
  };
  std::string path = folder->path().string();
  EXPECT_EQ(shell("/bin/echo hello > " + path + "/private/out && /bin/cat " + path + "/private/out").out, "hello\n");
  EXPECT_EQ(shell("/bin/echo quiet > /dev/null").exit_code, 0);
  if (landlock_version() > 0) {
    EXPECT_NE(shell("/bin/cat " + path + "/secret").exit_code, 0);
    EXPECT_NE(shell("echo x > " + path + "/elsewhere").exit_code, 0);
  }
  EXPECT_TRUE(in_jail(spec, [] { return socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM ? 0 : 1; }).returned(0));
}

TEST(Jail, LetsAToolchainMakeNoNamespaceOfItsOwn) {
  JailSpec spec;
  spec.kind = JailKind::Toolchain;
  for (int space : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET})
    EXPECT_TRUE(in_jail(spec, [&] {
                  const long made = syscall(SYS_clone, space | SIGCHLD, 0, 0, 0, 0);
                  if (made == 0) _exit(0);
                  return made < 0 && errno == EPERM ? 0 : 1;
                }).returned(0));
  EXPECT_TRUE(in_jail(spec, [] { return syscall(SYS_clone3, nullptr, 0) < 0 && errno == ENOSYS ? 0 : 1; }).returned(0));
  constexpr long kOpenTree = 428, kFsopen = 430, kMountSetattr = 442, kSetxattrat = 463;
  for (long call : {kOpenTree, kFsopen, kMountSetattr, kSetxattrat})
    EXPECT_TRUE(
        in_jail(spec, [&] { return syscall(call, -1, "/", 0, nullptr, 0) < 0 && errno == EPERM ? 0 : 1; }).returned(0))
        << call;
}

TEST(Jail, LetsAToolchainChangeRightsAndTimesInItsFolderOnly) {
  auto folder = TemporaryFolder::create("jail");
  ASSERT_TRUE(folder.ok());
  const std::string beside = folder->path() / "beside", own = folder->path() / "private";
  ASSERT_TRUE(write_atomically(beside, "x").ok());
  std::filesystem::create_directory(own);
  JailSpec spec;
  spec.kind = JailKind::Toolchain, spec.readable = {"/usr", folder->path()}, spec.writable = own;
  EXPECT_TRUE(in_jail(spec, [&] {
                const std::string made = own + "/made";
                if (open(made.c_str(), O_WRONLY | O_CREAT, 0600) < 0) return 1;
                return chmod(made.c_str(), 0644) == 0 && utimensat(AT_FDCWD, made.c_str(), nullptr, 0) == 0 ? 0 : 2;
              }).returned(0));
  const Ended tried = in_jail(spec, [&] {
    if (chmod(beside.c_str(), 0777) == 0 || errno != EROFS) return 1;
    return utimensat(AT_FDCWD, beside.c_str(), nullptr, 0) < 0 && errno == EROFS ? 0 : 2;
  });
  pid_t child = fork();
  if (child == 0) _exit(enter_namespaces().mount ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  if (status != 0) GTEST_SKIP() << "no mount namespaces here";
  EXPECT_TRUE(tried.returned(0)) << tried.status;
}

TEST(Jail, LetsAToolchainStartProgramsOfAProcessWithManyOpenFiles) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  constexpr int kOpen = 400;
  if (before.rlim_cur < kOpen + 100) GTEST_SKIP() << "this machine allows " << before.rlim_cur << " open files";
  std::vector<Descriptor> open_files;
  for (int i = 0; i < kOpen; ++i) open_files.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(open_files.back());
  JailSpec spec;
  spec.kind = JailKind::Toolchain, spec.readable = {"/usr", "/bin", "/lib", "/lib64"};
  ProcessOptions options;
  options.prepare = [&] { return enter_jail(spec); };
  auto outcome = run_process({"/bin/sh", "-c", "/bin/echo hello"}, options);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->out, "hello\n") << outcome->err;
}

/// Whether a process with this in its command line runs.
bool runs(const std::string& words) {
  for (auto& entry : std::filesystem::directory_iterator("/proc")) {
    auto line = read_text(entry.path() / "cmdline");
    if (line.ok() && line->find(words) != line->npos && entry.path().filename() != std::to_string(getpid()))
      return true;
  }
  return false;
}

TEST(Jail, EndsAToolchainWithAllThatItStartedAndLetsItSignalNobodyElse) {
  auto folder = TemporaryFolder::create("jail");
  ASSERT_TRUE(folder.ok());
  JailSpec spec;
  spec.kind = JailKind::Toolchain, spec.readable = {"/usr", "/bin", "/lib", "/lib64"}, spec.writable = folder->path();
  ProcessOptions options;
  options.prepare = [&] { return enter_jail(spec); };
  options.timeout = std::chrono::milliseconds(3000);
  const std::string seconds = "1000." + std::to_string(getpid());
  auto outcome = run_process({"/bin/sh", "-c", "sleep " + seconds + " & sleep " + seconds}, options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->timed_out);
  bool left = true;
  for (int tries = 0; left && tries < 200; ++tries) usleep(10'000), left = runs(seconds);
  EXPECT_FALSE(left);
  outcome = run_process({"/bin/sh", "-c", "kill -0 " + std::to_string(getpid())}, options);
  EXPECT_EQ(outcome->exit_code, 1) << outcome->err;
  outcome = run_process({"/bin/sh", "-c", "kill -SEGV $$"}, options);
  EXPECT_EQ(outcome->signal, SIGSEGV) << outcome->describe();
  EXPECT_EQ(run_process({"/bin/sh", "-c", "exit 7"}, options)->exit_code, 7);
}

TEST(Jail, LimitsMemory) {
  JailSpec spec;
  spec.extra_memory_bytes = 64 << 20;
  EXPECT_TRUE(in_jail(spec, [] {
                void* large = mmap(nullptr, 256 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                return large == MAP_FAILED ? 0 : 1;
              }).returned(0));
}

TEST(Jail, LimitsProcessorTime) {
  JailSpec spec;
  spec.cpu_seconds = 1;
  Ended ended = in_jail(spec, [] {
    for (volatile unsigned i = 0;; i = i + 1) {}
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(ended.status));
}

TEST(Jail, ReportsTheAddressOfAWildPointer) {
  Ended ended = in_jail({}, [] {
    *reinterpret_cast<volatile int*>(0x1230) = 1;
    return 0;
  });
  EXPECT_EQ(ended.fault.signal, SIGSEGV);
  EXPECT_EQ(ended.fault.address, 0x1230u);
#if defined(__x86_64__)
  EXPECT_TRUE(ended.fault.write);
#endif
}

TEST(Jail, EndsWithItsParent) {
  int link[2];
  ASSERT_EQ(pipe(link), 0);
  pid_t parent = fork();
  if (parent == 0) {
    pid_t self = getpid();
    pid_t child = fork();
    if (child == 0) {
      if (!bind_to_parent(self)) _exit(1);
      if (write(link[1], "x", 1) != 1) _exit(1);
      pause();
    }
    pause();
  }
  close(link[1]);
  char byte;
  ASSERT_EQ(read(link[0], &byte, 1), 1);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(read(link[0], &byte, 1), 0);  // End of file: no process holds the other end any more.
  close(link[0]);
}

}  // namespace
}  // namespace kernelift::sandbox
