// A lock between processes: a file that is locked as long as its holder lives. The kernel takes it back however that
// ends, so nobody has to judge whether a lock that was left behind still means something. The file stays.
#pragma once
#include <filesystem>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace kernelift {

class Lock {
 public:
  /// Without waiting. Where another process holds it, an Error that begins with `who`: "another `kernelift record` is
  /// running in this folder".
  static Result<Lock> take(const std::filesystem::path& file, const std::string& who);
  Lock(Lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Lock& operator=(Lock&& other) noexcept;
  ~Lock();

 private:
  explicit Lock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace kernelift
