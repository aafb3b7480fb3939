// See output.h.
#include "core/base/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/descriptor.h"
#include "core/base/file.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

/// Opens what is there, without replacing it, and writes to it.
Status write_into(const fs::path& path, std::string_view text, int more_flags) {
  const int fd = above_standard(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | more_flags, 0644));
  if (fd < 0) return file_error("write", path);
  Status written;
  if (!write_all(fd, text)) written = file_error("write", path);
  if (close(fd) != 0 && written.ok()) written = file_error("write", path);
  return written;
}

}  // namespace

Status write_output(const fs::path& path, std::string_view text) {
  struct stat own{}, target{};
  const bool exists = stat(path.c_str(), &target) == 0;
  if (exists && S_ISDIR(target.st_mode)) {
    errno = EISDIR;
    return file_error("write", path);
  }
  if (exists && !S_ISREG(target.st_mode)) return write_into(path, text, 0);
  const bool link = lstat(path.c_str(), &own) == 0 && S_ISLNK(own.st_mode);
  if (!link) return write_atomically(path, text);
  // What a link leads to may be an open file of some process (/dev/stdout): that has no name to be replaced under.
  std::error_code code;
  const fs::path at = fs::weakly_canonical(path, code);
  struct stat there{};
  const bool named =
      !code && stat(at.c_str(), &there) == 0 && there.st_ino == target.st_ino && there.st_dev == target.st_dev;
  const bool open_file =
      std::string_view(path.c_str()).starts_with("/dev/") || std::string_view(path.c_str()).starts_with("/proc/");
  if (exists && (open_file || !named)) return write_into(path, text, O_TRUNC);
  return exists ? write_atomically(at, text) : write_into(path, text, O_CREAT | O_TRUNC);
}

}  // namespace kernelift
