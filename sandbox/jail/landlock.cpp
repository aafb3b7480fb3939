// See landlock.h. Uses the access rights of versions 1 to 3 (truncate), which cover reading, writing and executing.
#include "sandbox/jail/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sandbox/jail/channel.h"

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG;
constexpr uint64_t kNeverGranted = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                   LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                                   LANDLOCK_ACCESS_FS_MAKE_SYM;
constexpr uint64_t kTruncate = 1ull << 14;  // LANDLOCK_ACCESS_FS_TRUNCATE, version 3; Debian 12's header lacks it.

Status allow(int ruleset, const std::filesystem::path& path, uint64_t rights) {
  Descriptor at(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!at) return done();  // It does not exist, so there is nothing to allow.
  struct stat what{};
  if (fstat(at.get(), &what) == 0 && !S_ISDIR(what.st_mode))
    rights &= LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights, rule.parent_fd = at.get();
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return environment_error("cannot allow " + path.string() + " in the jail: " + std::strerror(errno));
  return done();
}

}  // namespace

int landlock_version() {
  long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

Status restrict_files(const std::vector<std::filesystem::path>& readable, const std::filesystem::path& writable,
                      bool run) {
  landlock_ruleset_attr rules{};
  uint64_t truncate = landlock_version() >= 3 ? kTruncate : 0;
  rules.handled_access_fs = kRead | kWrite | LANDLOCK_ACCESS_FS_EXECUTE | kNeverGranted | truncate;
  Descriptor ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0)));
  if (!ruleset) return environment_error(std::string("cannot make a Landlock rule set: ") + std::strerror(errno));
  uint64_t reading = run ? kRead | LANDLOCK_ACCESS_FS_EXECUTE : kRead;
  for (auto& path : readable) KERNELIFT_TRY(allow(ruleset.get(), path, reading));
  if (run) KERNELIFT_TRY(allow(ruleset.get(), "/dev/null", kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | truncate));
  if (!writable.empty()) KERNELIFT_TRY(allow(ruleset.get(), writable, kRead | kWrite | truncate));
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0)
    return environment_error(std::string("cannot enforce the Landlock rules: ") + std::strerror(errno));
  return done();
}

}  // namespace kernelift::sandbox
