// See namespaces.h.
#include "sandbox/jail/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "sandbox/jail/channel.h"

namespace kernelift::sandbox {
namespace {

constexpr int kBesideUser = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS;

bool write_file(const char* path, const std::string& text) {
  Descriptor file(open(path, O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// As many of them as the kernel grants.
int unshare_each() {
  int got = unshare(CLONE_NEWUSER) == 0 ? CLONE_NEWUSER : 0;
  for (int one : {CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWNS})
    if (unshare(one) == 0) got |= one;
  return got;
}

}  // namespace

Namespaces enter_namespaces() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  int got = 0;
  if (unshare(kBesideUser) == 0) got = kBesideUser;
  else if (unshare(CLONE_NEWUSER | kBesideUser) == 0) got = CLONE_NEWUSER | kBesideUser;
  else got = unshare_each();
  if (got & CLONE_NEWUSER) {
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", std::to_string(kNobody) + " " + std::to_string(user) + " 1");
    write_file("/proc/self/gid_map", std::to_string(kNobody) + " " + std::to_string(group) + " 1");
  }
  // Mounts that are made from now on must not appear outside.
  if (got & CLONE_NEWNS) mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  Namespaces entered;
  entered.user = got & CLONE_NEWUSER, entered.process = got & CLONE_NEWPID, entered.network = got & CLONE_NEWNET;
  entered.ipc = got & CLONE_NEWIPC, entered.host_name = got & CLONE_NEWUTS, entered.mount = got & CLONE_NEWNS;
  if (entered.host_name) (void)!sethostname("jail", 4);
  return entered;
}

bool show_own_processes_only() {
  return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

bool mount_memory(const std::filesystem::path& folder, uint64_t bytes) {
  constexpr uint64_t kFiles = 4096;
  std::string limits =
      "mode=0700,size=" + std::to_string(bytes ? bytes : 4096) + ",nr_inodes=" + std::to_string(bytes ? kFiles : 1);
  unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | (bytes ? 0 : MS_RDONLY);
  return mount("kernelift", folder.c_str(), "tmpfs", flags, limits.c_str()) == 0;
}

bool mount_read_only_but(const std::filesystem::path& folder) {
  // struct mount_attr, which Debian 12's libc declares only beside headers that contradict it.
  struct Attributes {
    uint64_t set = 0, cleared = 0, propagation = 0, user_namespace = 0;
  };
  constexpr long kMountSetattr = 442;
  constexpr uint64_t kReadOnly = 1;
  constexpr unsigned kRecursive = 0x8000;
  // A mount of its own, which stays as it is.
  if (!folder.empty() && mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) != 0) return false;
  Attributes read_only{.set = kReadOnly}, writable{.cleared = kReadOnly};
  if (syscall(kMountSetattr, AT_FDCWD, "/", kRecursive, &read_only, sizeof read_only) != 0) return false;
  return folder.empty() || syscall(kMountSetattr, AT_FDCWD, folder.c_str(), 0, &writable, sizeof writable) == 0;
}

pid_t fork_apart() {
  // The namespace of further children is set back, because the first child's end closes its namespace to others.
  // Whether that is permitted is tried first.
  Descriptor own(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
  const bool apart = own && setns(own.get(), CLONE_NEWPID) == 0 && unshare(CLONE_NEWPID) == 0;
  pid_t child = fork();
  if (apart && child != 0) setns(own.get(), CLONE_NEWPID);
  return child;
}

pid_t process_of(int pidfd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd));
  for (std::string line; std::getline(info, line);) {
    int number = 0;
    if (std::sscanf(line.c_str(), "Pid: %d", &number) == 1) return number > 0 ? number : -1;
  }
  return -1;
}

}  // namespace kernelift::sandbox
