// See lock.h.
#include "core/base/locks/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/descriptor.h"
#include "core/base/file.h"

namespace kernelift {

Result<std::optional<Lock>> Lock::try_take(const std::filesystem::path& file) {
  const int fd = above_standard(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (fd < 0) return file_error("write", file);
  std::optional<Lock> lock(Lock{fd});
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) lock.reset();
  return lock;
}

bool Lock::is_held(const std::filesystem::path& file) {
  const int fd = above_standard(open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (fd < 0) return false;
  Lock lock(fd);
  return flock(fd, LOCK_EX | LOCK_NB) != 0;
}

Result<Lock> Lock::take(const std::filesystem::path& file, const std::string& who) {
  KERNELIFT_ASSIGN(std::optional<Lock> lock, try_take(file));
  if (lock) return std::move(*lock);
  return environment_error(who + " (" + file.string() + " is locked): wait for it to end");
}

Lock& Lock::operator=(Lock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Lock::~Lock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace kernelift
