// What a candidate that runs machine code of its own must not be able to do, tried from where it would: in the child of
// a worker, confined as a candidate's process is. What holds back is refused by the filter of system calls first, so
// the layers behind it are tried once more without it.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>

#include "core/base/file.h"
#include "sandbox/jail/fork_server.h"
#include "sandbox/jail/landlock.h"
#include "sandbox/jail/namespaces.h"
#include "sandbox/jail/system_calls.h"

namespace kernelift::sandbox {
namespace {

constexpr auto kLong = std::chrono::seconds(60);

/// What `attempt` returns in a worker of a fork server with this plan; how the worker ended if it does not return.
std::string in_worker(const std::function<std::string()>& attempt, ForkServer::Plan plan = {}) {
  plan.name = "kl-test";
  plan.work = [&](Channel& channel, WorkerCell& cell) {
    report_faults_to(&cell.fault);
    channel.send(1, attempt());
  };
  auto fork_server = ForkServer::start(std::move(plan));
  if (!fork_server.ok()) return fork_server.error().message;
  auto worker = (*fork_server)->spawn();
  if (!worker.ok()) return worker.error().message;
  Frame frame = worker->channel().receive(after(kLong));
  return frame ? frame.body : worker->end();
}

/// The same in a jail.
std::string in_jail(const std::function<std::string()>& attempt, JailKind kind = JailKind::Device) {
  return in_worker([&] {
    JailSpec spec;
    spec.kind = kind;
    if (Status confined = enter_jail(spec); !confined.ok()) return confined.error().message;
    return attempt();
  });
}

/// The same behind Landlock alone, outside of namespaces.
std::string behind_landlock(const std::function<std::string()>& attempt) {
  ForkServer::Plan plan;
  plan.apart = false;
  return in_worker(
      [&] {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (Status confined = restrict_files({}, {}); !confined.ok()) return confined.error().message;
        return attempt();
      },
      std::move(plan));
}

std::string outcome(long result) { return result >= 0 ? "done" : std::strerror(errno); }

std::string refused_call(const char* name) { return std::string("refused system call ") + name; }

bool has_namespaces() {
  static const bool found = in_worker([] { return std::to_string(getpid()); }).size() <= 2;
  return found;
}

TEST(Escape, HasNoDescriptorSignalAnotherProcess) {
  for (auto& attempt : std::initializer_list<std::function<long()>>{
           [] { return fcntl(STDERR_FILENO, F_SETOWN, 1); }, [] { return fcntl(STDERR_FILENO, F_SETSIG, SIGKILL); },
           [] { return fcntl(STDERR_FILENO, F_SETFL, O_ASYNC); }, [] { return fcntl(STDERR_FILENO, F_NOTIFY, 1); },
           [] {
             f_owner_ex owner{F_OWNER_PID, 1};
             return fcntl(STDERR_FILENO, F_SETOWN_EX, &owner);
           }})
    for (JailKind kind : {JailKind::Device, JailKind::Compiler})
      EXPECT_EQ(in_jail([&] { return outcome(attempt()); }, kind), refused_call("fcntl"));
}

TEST(Escape, SignalsNoOtherProcess) {
  EXPECT_EQ(in_jail([] { return outcome(kill(getppid(), SIGKILL)); }), refused_call("kill"));
  EXPECT_EQ(in_jail([] { return outcome(kill(-1, SIGKILL)); }), refused_call("kill"));
  EXPECT_EQ(in_jail([] { return outcome(syscall(SYS_tgkill, getppid(), getppid(), SIGKILL)); }),
            refused_call("tgkill"));
  EXPECT_EQ(in_jail([] {
              siginfo_t info{};
              info.si_code = SI_QUEUE;
              return outcome(syscall(SYS_rt_sigqueueinfo, getppid(), SIGKILL, &info));
            }),
            refused_call("rt_sigqueueinfo"));
  EXPECT_EQ(in_jail([] {
              siginfo_t info{};
              info.si_code = SI_QUEUE;
              return outcome(syscall(SYS_rt_tgsigqueueinfo, getppid(), getppid(), SIGKILL, &info));
            }),
            refused_call("rt_tgsigqueueinfo"));
}

TEST(Escape, EndsItselfAsAbortDoes) {
  EXPECT_EQ(in_jail([] {
              abort();
              return std::string();
            }),
            strsignal(SIGABRT));
}

TEST(Escape, SignalsNoOtherProcessByItsNamespaceAlone) {
  if (!has_namespaces()) GTEST_SKIP() << "no process namespaces here";
  const pid_t self = getpid();
  EXPECT_EQ(in_worker([&] { return outcome(kill(self, 0)); }), std::strerror(ESRCH));
}

TEST(Escape, SignalsNoOtherProcessByLandlockAlone) {
  if (landlock_version() < kLandlockScopes) GTEST_SKIP() << "no Landlock scopes here";
  const pid_t self = getpid();
  EXPECT_EQ(behind_landlock([&] { return outcome(kill(self, 0)); }), std::strerror(EPERM));
  // The way around kill(): let the kernel signal the owner of a descriptor.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t victim = fork();
  if (victim == 0) {
    for (;;) pause();
  }
  behind_landlock([&] {
    int own[2];
    if (pipe(own) != 0) return std::string("no pipe");
    fcntl(own[0], F_SETOWN, victim), fcntl(own[0], F_SETSIG, SIGKILL), fcntl(own[0], F_SETFL, O_ASYNC);
    return outcome(write(own[1], "x", 1));
  });
  usleep(50'000);
  EXPECT_EQ(waitpid(victim, nullptr, WNOHANG), 0) << "it has been killed";
  kill(victim, SIGKILL), waitpid(victim, nullptr, 0);
  close(ends[0]), close(ends[1]);
}

TEST(Escape, ChangesNoOtherProcess) {
  const auto move_parent = [] {
    cpu_set_t cores{};
    reinterpret_cast<unsigned char*>(&cores)[0] = 1;
    return outcome(sched_setaffinity(getppid(), sizeof cores, &cores));
  };
  EXPECT_EQ(in_jail(move_parent), refused_call("sched_setaffinity"));
  EXPECT_EQ(in_jail([] {
              rlimit limit{1, 1};
              return outcome(prlimit(getppid(), RLIMIT_NOFILE, &limit, nullptr));
            }),
            refused_call("prlimit64"));
  EXPECT_EQ(in_jail([] { return outcome(setpriority(PRIO_PROCESS, static_cast<id_t>(getppid()), 19)); }),
            refused_call("setpriority"));
  EXPECT_EQ(in_jail([] {
              char byte = 0;
              iovec here{&byte, 1}, there{&byte, 1};
              return outcome(process_vm_readv(getppid(), &here, 1, &there, 1, 0));
            }),
            refused_call("process_vm_readv"));
  EXPECT_EQ(in_jail([] { return outcome(syscall(SYS_pidfd_open, getppid(), 0)); }), refused_call("pidfd_open"));
}

TEST(Escape, SeesNoOtherProcess) {
  if (!has_namespaces()) GTEST_SKIP() << "no process namespaces here";
  const std::string path = "/proc/" + std::to_string(getpid()) + "/status";
  EXPECT_EQ(in_worker([&] { return outcome(open(path.c_str(), O_RDONLY)); }), std::strerror(ENOENT));
  // A candidate's process does not even see its runner.
  EXPECT_EQ(in_worker([] {
              pid_t child = fork_apart();
              if (child == 0) _exit(getpid() == 1 && getppid() == 0 ? 7 : 1);
              int status = 0;
              waitpid(child, &status, 0);
              pid_t second = fork_apart();
              if (second == 0) _exit(getpid() == 1 ? 7 : 1);
              int again = 0;
              waitpid(second, &again, 0);
              return std::to_string(WEXITSTATUS(status)) + std::to_string(WEXITSTATUS(again));
            }),
            "77");
}

TEST(Escape, WritesNothingToTheUsersTerminal) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(master, 0);
  ASSERT_EQ(grantpt(master), 0);
  ASSERT_EQ(unlockpt(master), 0);
  const std::string name = ptsname(master);
  // A user's session on that terminal.
  pid_t user = fork();
  if (user == 0) {
    setsid();
    const int terminal = open(name.c_str(), O_RDWR);
    for (int standard : {0, 1, 2}) dup2(terminal, standard);
    ioctl(terminal, TIOCSCTTY, 0);
    const std::string found = in_worker([] {
      std::string text;
      for (int standard : {0, 1, 2}) {
        (void)!write(standard, "text of a candidate\n", 20);
        text += isatty(standard) ? "terminal " : "";
      }
      text += open("/dev/tty", O_RDWR) >= 0 ? "opened" : std::strerror(errno);
      return text;
    });
    const std::string stuffed = in_jail([] {
      char letter = 'x';
      return outcome(ioctl(0, TIOCSTI, &letter));
    });
    _exit(found == std::strerror(ENXIO) && stuffed == refused_call("ioctl") ? 0 : 1);
  }
  int status = 1;
  waitpid(user, &status, 0);
  EXPECT_EQ(status, 0);
  fcntl(master, F_SETFL, O_NONBLOCK);
  char arrived[64];
  EXPECT_LE(read(master, arrived, sizeof arrived), 0);
  close(master);
}

TEST(Escape, FloodsNoOutput) {
  ForkServer::Plan plan;
  plan.name = "kl-test";
  plan.work = [](Channel& channel, WorkerCell&) {
    const std::string line(1 << 20, '\x1b');
    (void)!write(STDOUT_FILENO, "\x1b]0;title\a first\nwords ", 23);
    for (int i = 0; i < 4; ++i) (void)!write(STDERR_FILENO, line.data(), line.size());
    channel.send(1, "written");
    channel.receive();
    _exit(3);
  };
  auto fork_server = ForkServer::start(std::move(plan));
  auto worker = (*fork_server)->spawn();
  ASSERT_EQ(worker->channel().receive(after(kLong)).body, "written");
  worker->channel().close();
  for (int tries = 0; worker->alive() && tries < 2000; ++tries) usleep(1000);
  EXPECT_EQ(worker->end(), "exit code 3, having printed: ]0;title first words ");
  EXPECT_LT(worker->cell().read_output().size(), sizeof WorkerCell::output);
}

/// A listener on this machine's own address, and one of an abstract name.
struct Listeners {
  Descriptor tcp{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}, local{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in internet{};
  sockaddr_un abstract{};
  socklen_t abstract_size = 0;
  Listeners() {
    internet.sin_family = AF_INET, internet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof internet;
    EXPECT_EQ(bind(tcp.get(), reinterpret_cast<sockaddr*>(&internet), size), 0);
    EXPECT_EQ(listen(tcp.get(), 8), 0);
    EXPECT_EQ(getsockname(tcp.get(), reinterpret_cast<sockaddr*>(&internet), &size), 0);
    abstract.sun_family = AF_UNIX;
    const std::string name = "kernelift-test-" + std::to_string(getpid());
    name.copy(abstract.sun_path + 1, sizeof abstract.sun_path - 1);
    abstract_size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(bind(local.get(), reinterpret_cast<sockaddr*>(&abstract), abstract_size), 0);
    EXPECT_EQ(listen(local.get(), 8), 0);
  }
  std::string reach_tcp() const {
    Descriptor own(socket(AF_INET, SOCK_STREAM, 0));
    return outcome(connect(own.get(), reinterpret_cast<const sockaddr*>(&internet), sizeof internet));
  }
  std::string reach_abstract() const {
    Descriptor own(socket(AF_UNIX, SOCK_STREAM, 0));
    return outcome(connect(own.get(), reinterpret_cast<const sockaddr*>(&abstract), abstract_size));
  }
};

TEST(Escape, ReachesNoService) {
  const Listeners listeners;
  ASSERT_EQ(listeners.reach_tcp(), "done");
  ASSERT_EQ(listeners.reach_abstract(), "done");
  for (JailKind kind : {JailKind::Device, JailKind::Compiler}) {
    EXPECT_EQ(in_jail([&] { return listeners.reach_tcp(); }, kind), refused_call("socket"));
    EXPECT_EQ(in_jail([&] { return listeners.reach_abstract(); }, kind), refused_call("socket"));
  }
}

TEST(Escape, ReachesNoServiceByItsNamespaceAlone) {
  if (!has_namespaces()) GTEST_SKIP() << "no network namespaces here";
  const Listeners listeners;
  EXPECT_EQ(in_worker([&] { return listeners.reach_tcp(); }), std::strerror(ENETUNREACH));
  EXPECT_EQ(in_worker([&] { return listeners.reach_abstract(); }), std::strerror(ECONNREFUSED));
}

TEST(Escape, ReachesNoServiceByLandlockAlone) {
  const Listeners listeners;
  if (landlock_version() >= kLandlockNetwork)
    EXPECT_EQ(behind_landlock([&] { return listeners.reach_tcp(); }), std::strerror(EACCES));
  if (landlock_version() >= kLandlockScopes)
    EXPECT_EQ(behind_landlock([&] { return listeners.reach_abstract(); }), std::strerror(EPERM));
}

TEST(Escape, HasNoRightsOfRoot) {
  EXPECT_NE(in_jail([] { return std::to_string(geteuid()); }), "0");
  EXPECT_EQ(in_worker([] {
              JailSpec spec;
              spec.kind = JailKind::Compiler;
              if (!enter_jail(spec).ok()) return std::string("not confined");
              // Root would be allowed to raise a limit again.
              rlimit limit{1 << 20, 1 << 20};
              return outcome(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, nullptr));
            }),
            std::strerror(EPERM));
}

TEST(Escape, UsesNoOtherWayIntoTheKernel) {
  EXPECT_EQ(in_jail([] {
              io_uring_params parameters{};
              return outcome(syscall(SYS_io_uring_setup, 4, &parameters));
            }),
            refused_call("io_uring_setup"));
  EXPECT_EQ(in_jail([] { return outcome(syscall(SYS_unshare, CLONE_NEWUSER)); }), refused_call("unshare"));
  EXPECT_EQ(in_jail([] { return outcome(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)); }),
            refused_call("clone"));
}

TEST(Escape, ChangesNoFilesRights) {
  auto folder = TemporaryFolder::create("jail");
  ASSERT_TRUE(folder.ok());
  const std::string header = folder->path() / "header.h", own = folder->path() / "private";
  ASSERT_TRUE(write_atomically(header, "x").ok());
  std::filesystem::create_directory(own);
  auto in_compiler = [&](const std::function<long(int)>& change) {
    return in_worker([&] {
      JailSpec spec;
      spec.kind = JailKind::Compiler, spec.readable = {folder->path()}, spec.writable = own;
      if (!enter_jail(spec).ok()) return std::string("not confined");
      int file = open(header.c_str(), O_RDONLY);
      return file < 0 ? std::string("not opened") : outcome(change(file));
    });
  };
  EXPECT_EQ(in_compiler([](int file) { return fchmod(file, 0777); }), refused_call("fchmod"));
  EXPECT_EQ(in_compiler([&](int) { return chmod(header.c_str(), 0777); }), refused_call("chmod"));
  EXPECT_EQ(in_compiler([](int file) { return futimens(file, nullptr); }), refused_call("utimensat"));
  EXPECT_EQ(in_compiler([&](int) { return link(header.c_str(), (own + "/x").c_str()); }), refused_call("link"));
}

// ret: the shortest function.
alignas(4096) unsigned char data[8192] = {0xc3};

TEST(Escape, MakesNoDataExecutable) {
  const auto run_data = [] {
    reinterpret_cast<void (*)()>(reinterpret_cast<uintptr_t>(data))();
    return std::string("it ran");
  };
  EXPECT_EQ(in_jail(run_data).substr(0, 18), "Segmentation fault");
  for (JailKind kind : {JailKind::Device, JailKind::Compiler}) {
    EXPECT_EQ(in_jail([] { return outcome(mprotect(data, 4096, PROT_READ | PROT_EXEC)); }, kind),
              refused_call("mprotect"));
    for (int rights : {PROT_READ | PROT_WRITE | PROT_EXEC, PROT_READ | PROT_EXEC})
      EXPECT_EQ(in_jail(
                    [&] {
                      void* at = mmap(nullptr, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                      return std::string(at == MAP_FAILED ? "failed" : "mapped");
                    },
                    kind),
                refused_call("mmap"));
  }
}

TEST(Escape, MapsNoCodeOnceTheJailIsSealed) {
  const auto map_own_code = [](bool sealed) {
    int file = memfd_create("code", 0);
    if (file < 0 || write(file, data, 4096) != 4096) return std::string("no file");
    if (sealed && !seal_jail().ok()) return std::string("not sealed");
    void* at = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    return std::string(at == MAP_FAILED ? "failed" : "mapped");
  };
  EXPECT_EQ(in_jail([&] { return map_own_code(false); }), "mapped");  // Images are loaded so.
  EXPECT_EQ(in_jail([&] { return map_own_code(true); }), refused_call("mmap"));
  EXPECT_EQ(in_jail([] { return seal_jail().ok() ? outcome(memfd_create("x", 0)) : "not sealed"; }),
            refused_call("memfd_create"));
  EXPECT_EQ(in_jail([] { return seal_jail().ok() ? outcome(open("/proc/self/maps", O_RDONLY)) : "not sealed"; }),
            std::strerror(EPERM));
}

TEST(Escape, LearnsNothingAboutFilesOnceTheJailIsSealed) {
  for (auto& ask : std::initializer_list<std::function<long()>>{
           [] {
             struct stat found{};
             return syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &found, 0);
           },
           [] {
             struct stat found{};
             return syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &found, AT_EMPTY_PATH);
           },
           [] {
             struct statx found{};
             return syscall(SYS_statx, AT_FDCWD, "/etc/passwd", 0, STATX_BASIC_STATS, &found);
           },
           [] { return syscall(SYS_faccessat, AT_FDCWD, "/etc/passwd", F_OK); },
           [] { return syscall(SYS_faccessat2, AT_FDCWD, "/etc/passwd", F_OK, 0); },
           [] {
             char into[256];
             return syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", into, sizeof into);
           },
           [] {
             char into[4096];
             return syscall(SYS_getcwd, into, sizeof into);
           },
#if defined(__x86_64__)
           [] {
             struct stat found{};
             return syscall(SYS_stat, "/etc/passwd", &found);
           },
           [] {
             struct stat found{};
             return syscall(SYS_lstat, "/etc/passwd", &found);
           },
           [] { return syscall(SYS_access, "/etc/passwd", F_OK); },
           [] {
             char into[256];
             return syscall(SYS_readlink, "/proc/self/exe", into, sizeof into);
           },
#endif
       })
    EXPECT_EQ(in_jail([&] { return seal_jail().ok() ? outcome(ask()) : "not sealed"; }), std::strerror(EPERM));
}

TEST(Escape, HearsOfNoRefusedCallItselfOnceTheJailIsSealed) {
  const auto take_over = [](int signal) {
    if (!seal_jail().ok()) return std::string("not sealed");
    struct sigaction action{};
    action.sa_handler = SIG_IGN;
    return outcome(sigaction(signal, &action, nullptr));
  };
  EXPECT_EQ(in_jail([&] { return take_over(SIGSYS); }), refused_call("rt_sigaction"));
  EXPECT_EQ(in_jail([&] { return take_over(SIGFPE); }), "done");
}

TEST(Escape, DoesNotGoOnByItselfOnceItIsStopped) {
  EXPECT_EQ(in_jail([] {
              if (!seal_jail().ok()) return std::string("not sealed");
              return outcome(syscall(SYS_tgkill, getpid(), gettid(), SIGCONT));
            }),
            refused_call("tgkill"));
}

#if defined(__x86_64__)
TEST(Escape, ChangesNoTableOfFunctionsOnceTheJailIsSealed) {
  if (!can_seal_code()) GTEST_SKIP() << "no mseal here";
  // The table by which this program finds the functions of libraries is read-only from its start.
  uintptr_t table = 0;
  const auto find = [](dl_phdr_info* library, size_t, void* into) {
    for (int i = 0; i < library->dlpi_phnum; ++i) {
      if (library->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
      for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(library->dlpi_addr + library->dlpi_phdr[i].p_vaddr);
           entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_PLTGOT) *static_cast<uintptr_t*>(into) = entry->d_un.d_ptr;
    }
    return 1;  // The program is the first.
  };
  dl_iterate_phdr(find, &table);
  ASSERT_NE(table, 0u);
  EXPECT_EQ(in_jail([&] {
              *reinterpret_cast<volatile uintptr_t*>(table + 3 * sizeof table) = 0;
              return std::string("written");
            }).substr(0, 26),
            "Segmentation fault writing");
  EXPECT_EQ(in_jail([&] {
              if (!seal_jail().ok()) return std::string("not sealed");
              return outcome(mprotect(reinterpret_cast<void*>(table / 4096 * 4096), 4096, PROT_READ | PROT_WRITE));
            }),
            std::strerror(EPERM));
}
#endif

TEST(Escape, ReplacesNoCodeOnceTheJailIsSealed) {
  if (!can_seal_code()) GTEST_SKIP() << "no mseal here";
  EXPECT_EQ(in_jail([] {
              if (!seal_jail().ok()) return std::string("not sealed");
              auto code = reinterpret_cast<uintptr_t>(&can_seal_code) / 4096 * 4096;
              return outcome(munmap(reinterpret_cast<void*>(code), 4096));
            }),
            std::strerror(EPERM));
}

TEST(Escape, FillsNoDisk) {
  auto folder = TemporaryFolder::create("jail");
  ASSERT_TRUE(folder.ok());
  ForkServer::Plan plan;
  plan.scratch = folder->path(), plan.scratch_bytes = 1 << 20;
  const std::string said = in_worker(
      [&] {
        JailSpec spec;
        spec.kind = JailKind::Compiler, spec.writable = folder->path();
        if (!enter_jail(spec).ok()) return std::string("not confined");
        const std::string megabyte(1 << 20, 'x');
        ssize_t put = 0;
        for (int i = 0; i < 8; ++i) {
          int file = open((folder->path() / std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0600);
          put += file < 0 ? 0 : std::max<ssize_t>(0, write(file, megabyte.data(), megabyte.size()));
        }
        return std::string(put <= (1 << 20) ? "held" : "written");
      },
      std::move(plan));
  if (!has_namespaces()) GTEST_SKIP() << "no mount namespaces here";
  EXPECT_EQ(said, "held");
  EXPECT_TRUE(std::filesystem::is_empty(folder->path())) << "it was in memory";
}

TEST(Escape, ReadsNoFolderThatIsHidden) {
  auto folder = TemporaryFolder::create("jail");
  ASSERT_TRUE(folder.ok());
  const std::filesystem::path data = folder->path() / "mep" / "data", beside = folder->path() / "mep" / "kernel.h";
  ASSERT_TRUE(write_atomically(data / "answer", "x").ok());
  ASSERT_TRUE(write_atomically(beside, "x").ok());
  const auto try_both = [&](bool by_landlock) {
    ForkServer::Plan plan;
    if (!by_landlock) plan.hidden = {data};
    return in_worker(
        [&] {
          JailSpec spec;
          spec.kind = JailKind::Compiler, spec.readable = {folder->path()};
          if (by_landlock) spec.readable = without(spec.readable, {data});
          if (!enter_jail(spec).ok()) return std::string("not confined");
          return outcome(open(beside.c_str(), O_RDONLY)) + ", " + outcome(open((data / "answer").c_str(), O_RDONLY));
        },
        std::move(plan));
  };
  if (landlock_version() > 0) EXPECT_EQ(try_both(true), std::string("done, ") + std::strerror(EACCES));
  if (has_namespaces()) EXPECT_EQ(try_both(false), std::string("done, ") + std::strerror(ENOENT));
}

}  // namespace
}  // namespace kernelift::sandbox
