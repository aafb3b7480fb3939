// For tests: a process that finds what an older kernel, or a stricter container, would give it. Calls are refused by a
// filter that the process and its children cannot take off.
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace kernelift::sandbox {

/// From now on each of these calls fails with its error.
inline bool refuse_calls(std::initializer_list<std::pair<long, int>> calls) {
  std::vector<sock_filter> lines{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (auto [number, error] : calls) {
    lines.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1));
    lines.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)));
  }
  lines.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program{static_cast<unsigned short>(lines.size()), lines.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

inline bool lose_landlock() {
  return refuse_calls(
      {{SYS_landlock_create_ruleset, ENOSYS}, {SYS_landlock_add_rule, ENOSYS}, {SYS_landlock_restrict_self, ENOSYS}});
}
/// As in a container with docker's default profile.
inline bool lose_namespaces() { return refuse_calls({{SYS_unshare, EPERM}, {SYS_mount, EPERM}, {SYS_setns, EPERM}}); }

}  // namespace kernelift::sandbox
