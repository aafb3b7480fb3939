// See layers.h.
#include "sandbox/jail/layers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "sandbox/jail/environment.h"
#include "sandbox/jail/jail.h"
#include "sandbox/jail/landlock.h"
#include "sandbox/jail/namespaces.h"
#include "sandbox/jail/system_calls.h"

namespace kernelift::sandbox {
namespace {

/// The exit code of a child that runs `attempt`; -1 if it ended otherwise.
int child_answers(const std::function<int()>& attempt) {
  pid_t child = fork();
  if (child == 0) _exit(attempt());
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
bool child_manages(const std::function<bool()>& attempt) {
  return child_answers([&] { return attempt() ? 0 : 1; }) == 0;
}

bool filters_system_calls() {
  return child_manages([] {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !filter_system_calls(JailKind::Device, false).ok()) return false;
    return memfd_create("x", 0) >= 0 && syscall(SYS_times, nullptr) < 0 && errno == EPERM;
  });
}

bool restricts_files() {
  return landlock_version() >= kLandlockFiles && child_manages([] {
           return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && restrict_files({}, {}).ok() &&
                  open("/etc/passwd", O_RDONLY) < 0;
         });
}

JailLayer system_calls_layer() {
  return {"system calls",
          filters_system_calls(),
          true,
          "seccomp, filtered by arguments",
          "programs, processes, sockets, signals, other processes' settings, changing files, and memory that is "
          "writable and executable",
          "a candidate can do whatever you can",
          "the kernel needs CONFIG_SECCOMP_FILTER; in a container: a profile that allows the call seccomp"};
}

JailLayer files_layer() {
  const bool works = restricts_files();
  return {"files",
          works,
          true,
          works ? "Landlock, version " + std::to_string(landlock_version()) : "Landlock",
          "reading any file by a candidate; by its compiler, reading more than headers, and writing but in one folder",
          "candidates and their compilers can read every file that you can, recorded answers included",
          "use a kernel of 5.13 or later and add landlock to its lsm= list"};
}

constexpr const char* kContainer =
    "in a container: allow the calls unshare and mount (docker run --security-opt seccomp=… or apptainer); on the "
    "machine: sysctl user.max_user_namespaces=10000, and on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0";

}  // namespace

std::vector<JailLayer> jail_layers() {
  std::vector<JailLayer> layers;
  auto add = [&](JailLayer layer) {
    if (layer.works) layer.fix.clear();
    layers.push_back(std::move(layer));
  };
  const JailLayer files = files_layer();
  const int landlock = files.works ? landlock_version() : 0;
  const std::string version = files.mechanism;
  enum { kUser = 1, kProcess = 2, kNetwork = 4, kIpc = 8, kHostName = 16, kMount = 32, kMemory = 64 };
  const int spaces = child_answers([] {
    const Namespaces got = enter_namespaces();
    return (got.user || geteuid() == 0) * kUser + got.process * kProcess + got.network * kNetwork + got.ipc * kIpc +
           got.host_name * kHostName + got.mount * kMount + (got.mount && mount_memory("/tmp", 4096)) * kMemory;
  });
  auto have = [&](int space) { return spaces > 0 && (spaces & space); };

  add({"environment", true, true, "variables are overwritten before the first worker is forked",
       "keys and tokens in variables: workers keep PATH, HOME and a few that name toolkits and GPUs", "", ""});
  add(system_calls_layer());
  add(files);
  add({"network", landlock >= kLandlockNetwork, false, version, "TCP, a second time",
       "the filter of system calls alone "
       "holds back sockets",
       "use a kernel of 6.7 or later"});
  add({"signals and sockets", landlock >= kLandlockScopes, false, version,
       "signals to, and abstract Unix sockets of, your other processes, a second time",
       "nvcc, when it compiles a candidate, can signal your processes unless the process namespace works",
       "use a kernel of 6.12 or later"});
  add({"devices", landlock >= kLandlockDevices, false, version, "ioctl on devices, a second time",
       "the filter of system calls alone holds it back", "use a kernel of 6.10 or later"});
  add({"user namespace", have(kUser), false, geteuid() == 0 ? "root gives up its capabilities" : "unshare",
       "the rights of your user that do not concern files", "", kContainer});
  add({"process namespace", have(kProcess), false, "unshare", "seeing, signalling or tracing any other process",
       "the filter of system calls alone holds it back", kContainer});
  add({"network namespace", have(kNetwork), false, "unshare",
       "every network, this machine's own services and abstract sockets included",
       "the filter of system calls alone holds it back", kContainer});
  add({"ipc namespace", have(kIpc), false, "unshare", "shared memory, semaphores and queues of others",
       "the filter of system calls alone holds it back", kContainer});
  add({"private disk", have(kMemory), false, "mount namespace with a folder in memory of 1 GiB",
       "filling the disk: what compile workers write is limited in all, and gone when they are",
       "what a compile worker writes is limited file by file (1 GiB each), and what nvcc makes of a patch's host half "
       "is "
       "not compared",
       kContainer});
  add({"sealed code", can_seal_code(), false, "mseal", "replacing code that is loaded, a second time",
       "the filter of system calls alone holds it back", "use a kernel of 6.10 or later"});
  add({"parent-death signal", child_manages([] { return bind_to_parent(getppid()); }), false, "prctl",
       "outliving a killed kernelift", "workers can outlive a killed kernelift", "use Linux"});
  return layers;
}

Status require_jail() {
  std::string missing;
  for (auto& layer : {system_calls_layer(), files_layer()})
    if (!layer.works)
      missing += (missing.empty() ? "" : "; ") + layer.name + ": " + layer.without + " (fix: " + layer.fix + ")";
  if (missing.empty()) return done();
  return environment_error("this machine cannot confine code that is not yours. " + missing +
                           ". `kernelift doctor` lists all layers; --allow-weak-jail runs candidates all the same");
}

}  // namespace kernelift::sandbox
