// A lock lives in an open descriptor; those of the folders that are in use are kept here, by path.
#include "core/base/locks/abandoned_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace kernelift {
namespace {

struct Held {
  std::mutex mutex;
  std::map<std::string, int> descriptors;
};
/// Never destroyed: folders are released by destructors of other static objects too.
Held& held() {
  static Held* all = new Held;
  return *all;
}

int open_folder(const fs::path& folder) {
  return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// "kernelift-compile.held-x3B2aQ"
bool is_held_name(const std::string& name) {
  constexpr size_t kRandom = 6;
  const std::string_view held = kHeldName;
  return name.starts_with("kernelift-") && name.size() > held.size() + kRandom &&
         name.compare(name.size() - kRandom - held.size(), held.size(), held) == 0;
}

}  // namespace

bool hold_folder(const fs::path& folder) {
  int file = open_folder(folder);
  if (file < 0) return errno != ENOENT;
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    const bool swept = errno == EWOULDBLOCK;
    close(file);
    return !swept;
  }
  struct stat opened{}, named{};
  if (fstat(file, &opened) != 0 || stat(folder.c_str(), &named) != 0 || opened.st_ino != named.st_ino) {
    close(file);
    return false;
  }
  std::lock_guard lock(held().mutex);
  held().descriptors[folder.string()] = file;
  return true;
}

void release_folder(const fs::path& folder) {
  std::lock_guard lock(held().mutex);
  auto found = held().descriptors.find(folder.string());
  if (found == held().descriptors.end()) return;
  close(found->second);
  held().descriptors.erase(found);
}

void sweep_abandoned_folders(const fs::path& base) {
  std::vector<fs::path> candidates;
  std::error_code code;
  for (fs::directory_iterator at(base, code), end; !code && at != end; at.increment(code))
    if (is_held_name(at->path().filename().string())) candidates.push_back(at->path());
  for (auto& folder : candidates) {
    struct stat info{};
    if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid()) continue;
    int file = open_folder(folder);
    if (file < 0) continue;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) fs::remove_all(folder, code);
    close(file);
  }
}

}  // namespace kernelift
