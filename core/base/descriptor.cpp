// See descriptor.h. fcntl is called without the C library, whose name for it is too new for the clusters on which
// recorders are loaded.
#include "core/base/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "core/base/file.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

constexpr int kFirst = 3;              ///< The lowest number that is no standard stream's.
std::optional<rlimit> limit_at_start;  ///< Of descriptors, once it was raised.
constexpr int kFarAbove = 640;  ///< Below the usual limit of 1024, above what programs reach that count their files.

int duplicate(int fd, int lowest) { return static_cast<int>(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest)); }

/// Moves `fd` to the lowest free number from `lowest` on.
int moved(int fd, int lowest) {
  if (fd < 0) return fd;
  const int higher = duplicate(fd, lowest);
  const int why = errno;
  close(fd);
  errno = why;
  return higher;
}

/// The same, or to a lower one where the process may have no more.
int moved_far(int fd) {
  if (fd < 0) return fd;
  if (const int far = duplicate(fd, kFarAbove); far >= 0) {
    close(fd);
    return far;
  }
  return above_standard(fd);
}

}  // namespace

int above_standard(int fd) { return fd >= kFirst ? fd : moved(fd, kFirst); }

void raise_descriptor_limit() {
  rlimit now{};
  if (getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur >= now.rlim_max) return;
  limit_at_start = now;
  now.rlim_cur = now.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &now);
}

void restore_descriptor_limit() {
  if (limit_at_start) (void)setrlimit(RLIMIT_NOFILE, &*limit_at_start);
}

void hold_standard_streams() {
  for (int number = 0; number < kFirst; ++number) {
    if (syscall(SYS_fcntl, number, F_GETFD) >= 0 || errno != EBADF) continue;
    // Nobody misses what is printed to a closed stderr; a lost result is an error, and a descriptor that is only read
    // refuses it as a closed one does.
    const int fd = open("/dev/null", number == 2 ? O_WRONLY : O_RDONLY);
    if (fd >= 0 && fd != number) close(fd);
  }
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EAGAIN) {  // Another process may have made the terminal or pipe non-blocking.
      pollfd ready{fd, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (put >= 0) {
      bytes.remove_prefix(static_cast<size_t>(put));
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

Result<OwnFile> OwnFile::create(const fs::path& path) {
  OwnFile file;
  file.path_ = path;
  const int opened = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  file.fd_ = moved_far(opened);
  struct stat info{};
  if (file.fd_ < 0 || fstat(file.fd_, &info) != 0) return file_error("create", path);
  file.device_ = info.st_dev, file.inode_ = info.st_ino;
  // Where it had a standard stream's number for a moment, another thread may have printed into it.
  if (info.st_size > 0 && opened < kFirst && ftruncate(file.fd_, 0) != 0) return file_error("create", path);
  return file;
}

OwnFile& OwnFile::operator=(OwnFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

OwnFile::~OwnFile() {
  if (is_mine()) close(fd_);
}

bool OwnFile::is_mine() const {
  struct stat info{};
  return fd_ >= 0 && fstat(fd_, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

Status OwnFile::hold() {
  if (is_mine()) return done();
  fd_ = moved_far(open(path_.c_str(), O_RDWR | O_CLOEXEC));
  if (fd_ >= 0 && is_mine()) return done();
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  return environment_error("the application closed the recorder's file " + path_.string() +
                           ", and it is no longer where it was");
}

}  // namespace kernelift
