// A lock between processes: a file that is locked as long as its holder lives. The kernel releases the lock when the
// holder ends, in any way, so a lock is never left behind. The file stays.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace kernelift {

class Lock {
 public:
  /// Without waiting; nullopt: another process holds it. An Error: the file cannot be written.
  static Result<std::optional<Lock>> try_take(const std::filesystem::path& file);
  /// Whether a process holds it. Makes no file.
  static bool is_held(const std::filesystem::path& file);
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
