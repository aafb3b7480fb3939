// See leftovers.h. The name tells folders that are locked while they are in use from those that are not.
#include "core/base/leftovers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <map>
#include <mutex>
#include <string>

namespace fs = std::filesystem;

namespace kernelift {
namespace {

constexpr int kYoung = 10;  // Seconds: a folder is made a moment before it is locked.

struct Locks {
  std::mutex mutex;
  std::map<fs::path, int> by_folder;
};
Locks& locks() {
  static Locks* all = new Locks;  // Folders in static objects are released after other statics are gone.
  return *all;
}

/// "kernelift-compile.held-x3B2aQ"
bool is_our_name(const std::string& name) {
  constexpr std::string_view kPrefix = "kernelift-";
  constexpr size_t kRandom = 6;
  const std::string_view held = kHeldName;
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() + held.size() + kRandom &&
         name.compare(name.size() - kRandom - held.size(), held.size(), held) == 0;
}

bool is_left_over(int folder) {
  struct stat what{};
  if (fstat(folder, &what) != 0 || !S_ISDIR(what.st_mode) || (what.st_mode & 07777) != S_IRWXU) return false;
  if (what.st_uid != geteuid() || std::time(nullptr) - what.st_mtime < kYoung) return false;
  return flock(folder, LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

void hold_folder(const fs::path& folder) {
  const int lock = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0) return;
  flock(lock, LOCK_SH | LOCK_NB);
  std::lock_guard guard(locks().mutex);
  locks().by_folder[folder] = lock;
}

void release_folder(const fs::path& folder) {
  std::lock_guard guard(locks().mutex);
  auto found = locks().by_folder.find(folder);
  if (found == locks().by_folder.end()) return;
  close(found->second);
  locks().by_folder.erase(found);
}

int sweep_leftovers() {
  std::error_code code;
  int swept = 0;
  fs::path base = fs::temp_directory_path(code);
  if (code) base = "/tmp";
  for (fs::directory_iterator at(base, fs::directory_options::skip_permission_denied, code), end; !code && at != end;
       at.increment(code)) {
    if (!is_our_name(at->path().filename().string())) continue;
    const int folder = open(at->path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) continue;
    std::error_code trouble;
    if (is_left_over(folder)) swept += fs::remove_all(at->path(), trouble) > 0 && !trouble;
    close(folder);
  }
  return swept;
}

}  // namespace kernelift
