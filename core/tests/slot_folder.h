// A temporary folder for a test, whose path is used again by the next test of the same process. Results that are cached
// by path, above all the headers that the front end precompiles per set of flags (a fifth of a second each time), are
// then reused by all tests of a program. Folders that exist at the same time have different paths. A folder is empty at
// the start of each test.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <set>
#include <utility>

#include "core/base/file.h"

namespace kernelift {

class SlotFolder {
 public:
  SlotFolder() {
    while (!taken().insert(slot_).second) ++slot_;
    path_ = root() / ("slot-" + std::to_string(slot_));
    std::filesystem::create_directories(path_);
  }
  SlotFolder(SlotFolder&& other) noexcept : slot_(other.slot_), path_(std::exchange(other.path_, {})) {}
  SlotFolder& operator=(SlotFolder&&) = delete;
  ~SlotFolder() {
    if (path_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    taken().erase(slot_);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  /// Removed when the process that created it ends, not when a fork of it does.
  struct Root {
    TemporaryFolder* folder = new TemporaryFolder(std::move(*TemporaryFolder::create("kernelift-tests")));
    std::filesystem::path path = std::filesystem::canonical(folder->path());
    pid_t owner = getpid();
    ~Root() {
      if (owner == getpid()) delete folder;
    }
  };
  static const std::filesystem::path& root() {
    static const Root root;
    return root.path;
  }
  static std::set<int>& taken() {
    static std::set<int> all;
    return all;
  }

  int slot_ = 0;
  std::filesystem::path path_;
};

}  // namespace kernelift
