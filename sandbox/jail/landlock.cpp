// See landlock.h. The constants of later versions are declared here, since Debian 12's header has those of version 2.
#include "sandbox/jail/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sandbox/jail/channel.h"

namespace kernelift::sandbox {
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG;
constexpr uint64_t kNeverGranted = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                   LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                                   LANDLOCK_ACCESS_FS_MAKE_SYM;
constexpr uint64_t kTruncate = 1ull << 14, kIoctlDevice = 1ull << 15;
constexpr uint64_t kBindTcp = 1ull << 0, kConnectTcp = 1ull << 1;
constexpr uint64_t kScopeAbstractSockets = 1ull << 0, kScopeSignals = 1ull << 1;
constexpr int kTruncateVersion = 3;

/// struct landlock_ruleset_attr as of version 6; earlier kernels take its beginning.
struct Rules {
  uint64_t files = 0, network = 0, scoped = 0;
  size_t size(int version) const {
    size_t fields = version >= kLandlockScopes ? 3 : version >= kLandlockNetwork ? 2 : 1;
    return fields * sizeof(uint64_t);
  }
};

Status allow(int ruleset, const fs::path& path, uint64_t rights) {
  Descriptor at(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!at) {
    // What is not there, or not for this user, needs no rule.
    if (errno != EMFILE && errno != ENFILE && errno != ENOMEM) return done();
    return environment_error("cannot open " + path.string() + " for the jail's rules: " + std::strerror(errno));
  }
  struct stat what{};
  if (fstat(at.get(), &what) == 0 && !S_ISDIR(what.st_mode))
    rights &= LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights, rule.parent_fd = at.get();
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return environment_error("cannot allow " + path.string() + " in the jail: " + std::strerror(errno));
  return done();
}

bool is_in(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

void add_without(const fs::path& path, const std::vector<fs::path>& hidden, std::vector<fs::path>& into) {
  std::error_code code;
  if (std::ranges::any_of(hidden, [&](auto& one) { return is_in(path, one); })) return;
  if (std::ranges::none_of(hidden, [&](auto& one) { return is_in(one, path); })) {
    into.push_back(path);
    return;
  }
  // A right to a folder is none to what its symbolic links lead to.
  for (fs::directory_iterator at(path, code), end; !code && at != end; at.increment(code))
    if (!at->is_symlink(code)) add_without(at->path(), hidden, into);
}

}  // namespace

int landlock_version() {
  long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

Status restrict_files(const std::vector<fs::path>& readable, const fs::path& writable, bool run) {
  const int version = landlock_version();
  Rules rules;
  const uint64_t truncate = version >= kTruncateVersion ? kTruncate : 0;
  rules.files = kRead | kWrite | LANDLOCK_ACCESS_FS_EXECUTE | kNeverGranted | truncate;
  if (version >= kLandlockDevices) rules.files |= kIoctlDevice;
  if (version >= kLandlockNetwork) rules.network = kBindTcp | kConnectTcp;
  if (version >= kLandlockScopes) rules.scoped = kScopeAbstractSockets | kScopeSignals;
  Descriptor ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, rules.size(version), 0)));
  if (!ruleset) return environment_error(std::string("cannot make a Landlock rule set: ") + std::strerror(errno));
  uint64_t reading = run ? kRead | LANDLOCK_ACCESS_FS_EXECUTE : kRead;
  for (auto& path : readable) KERNELIFT_TRY(allow(ruleset.get(), path, reading));
  if (run) KERNELIFT_TRY(allow(ruleset.get(), "/dev/null", kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | truncate));
  if (!writable.empty()) KERNELIFT_TRY(allow(ruleset.get(), writable, kRead | kWrite | truncate));
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0)
    return environment_error(std::string("cannot enforce the Landlock rules: ") + std::strerror(errno));
  return done();
}

std::vector<fs::path> without(const std::vector<fs::path>& folders, const std::vector<fs::path>& hidden) {
  std::error_code code;
  std::vector<fs::path> real_hidden, left;
  for (auto& path : hidden)
    if (auto real = fs::weakly_canonical(path, code); !code) real_hidden.push_back(real);
  for (auto& folder : folders)
    if (auto real = fs::canonical(folder, code); !code) add_without(real, real_hidden, left);
  return left;
}

}  // namespace kernelift::sandbox
