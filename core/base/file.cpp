// Whole-file reads and atomic writes on POSIX calls, so that every failure carries errno's text; see file.h.
#include "core/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>

#include "core/base/locks/abandoned_folders.h"

#include "core/base/descriptor.h"

namespace fs = std::filesystem;

namespace kernelift {

Error file_error(const char* verb, const fs::path& path) {
  int code = errno;
  std::string message = std::string("cannot ") + verb + " " + path.string() + ": " + std::strerror(code);
  bool writing = std::strcmp(verb, "read") != 0;
  if (code == ENOSPC || code == EDQUOT)
    message += "; free some space there (Kernelift's own files can go elsewhere: --state DIR)";
  if (code == EFBIG) message += "; raise the limit on file sizes (ulimit -f) or free some space";
  if ((code == EROFS || code == EACCES) && writing)
    message += "; make it writable (Kernelift's own files can go elsewhere: --state DIR)";
  if (code == EACCES && !writing) message += "; check its permissions";
  return environment_error(message);
}

namespace {

template <class Container>
Result<Container> read_all(const fs::path& path, std::optional<size_t> most = {}) {
  int fd = above_standard(open(path.c_str(), O_RDONLY | O_CLOEXEC | (most ? O_NONBLOCK : 0)));
  if (fd < 0) return file_error("read", path);
  struct stat info{};
  const bool known = fstat(fd, &info) == 0;
  if (most && (!known || !S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) > *most)) {
    close(fd);
    return environment_error("cannot read " + path.string() + ": it is no file of at most " + std::to_string(*most) +
                             " bytes");
  }
  if (known && S_ISDIR(info.st_mode)) {
    close(fd);
    errno = EISDIR;
    return file_error("read", path);
  }
  Container content;
  content.resize(info.st_size > 0 ? static_cast<size_t>(info.st_size) : 0);
  size_t filled = 0;
  char more[4096];  // What lies beyond the size that the system gave: usually nothing, and then nothing is copied.
  for (;;) {
    const bool beyond = filled == content.size();
    ssize_t got = beyond ? read(fd, more, sizeof more)
                         : read(fd, reinterpret_cast<char*>(content.data()) + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      Error error = file_error("read", path);
      close(fd);
      return error;
    }
    if (got == 0) break;
    if (beyond) {
      content.resize(filled + static_cast<size_t>(got));
      std::memcpy(content.data() + filled, more, static_cast<size_t>(got));
    }
    filled += static_cast<size_t>(got);
  }
  close(fd);
  content.resize(filled);
  return content;
}

Status write_fully(int fd, std::span<const std::byte> bytes, const fs::path& path) {
  if (!write_all(fd, {reinterpret_cast<const char*>(bytes.data()), bytes.size()})) return file_error("write", path);
  if (fsync(fd) != 0 && errno != EINVAL) return file_error("write", path);
  return done();
}

}  // namespace

Result<std::string> read_text(const fs::path& path) { return read_all<std::string>(path); }
Result<std::string> read_regular_text(const fs::path& path, size_t most) { return read_all<std::string>(path, most); }
Result<std::vector<std::byte>> read_bytes(const fs::path& path) { return read_all<std::vector<std::byte>>(path); }

static fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

Status replace_file(const fs::path& path, const std::function<Status(int fd)>& fill) {
  std::error_code code;
  fs::path folder = folder_of(path);
  fs::create_directories(folder, code);
  std::string temporary = (folder / ("." + path.filename().string() + kTemporaryMark + "XXXXXX")).string();
  struct stat old{};
  const bool exists = stat(path.c_str(), &old) == 0;
  bool replaces = exists && S_ISREG(old.st_mode);
  if (exists && !replaces && !S_ISDIR(old.st_mode))
    return environment_error(
        "cannot write " + path.string() +
        ": it is a device, pipe or socket, and Kernelift keeps files of its own there; remove it, or "
        "choose another place with --state DIR");
  int fd = above_standard(mkostemp(temporary.data(), O_CLOEXEC));
  if (fd < 0) return file_error("write", path);
  [[maybe_unused]] int owner =
      replaces ? fchown(fd, old.st_uid, old.st_gid) : 0;  // Only root may; for other users the owner is the same.
  fchmod(fd, replaces ? old.st_mode & 07777 : 0644);
  Status written = fill(fd);
  if (close(fd) != 0 && written.ok()) written = file_error("write", path);
  if (written.ok() && rename(temporary.c_str(), path.c_str()) != 0) written = file_error("write", path);
  if (!written.ok()) unlink(temporary.c_str());
  return written;
}

Status write_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  KERNELIFT_TRY(replace_file(path, [&](int fd) { return write_fully(fd, bytes, path); }));
  if (int dir = above_standard(open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); dir >= 0) {
    fsync(dir);
    close(dir);
  }
  return done();
}

Status write_atomically(const fs::path& path, std::string_view text) {
  return write_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

Result<TemporaryFolder> TemporaryFolder::create(std::string_view prefix, fs::path base) {
  std::error_code code;
  const bool shared = base.empty();
  if (shared) {
    base = fs::temp_directory_path(code);
    if (code) base = "/tmp";
    static std::once_flag swept;
    std::call_once(swept, sweep_abandoned_folders, base);
  } else {
    fs::create_directories(base, code);  // If this fails, mkdtemp() fails too and gives the reason.
  }
  for (;;) {
    std::string name = (base / (std::string(prefix) + kHeldName + "XXXXXX")).string();
    if (!mkdtemp(name.data())) return file_error("create a folder in", base);
    if (hold_folder(name)) return TemporaryFolder(name);
  }
}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (path_.empty()) return;
  fs::remove_all(path_, ignored);
  release_folder(path_);
}

std::vector<fs::path> paths_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code code;
  for (fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, code), end; !code && at != end;
       at.increment(code))
    found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

fs::path find_state_folder(const fs::path& start) {
  std::error_code code;
  fs::path from = fs::absolute(start, code);
  for (fs::path at = from;; at = at.parent_path()) {
    if (fs::is_directory(at / ".kernelift", code)) return at / ".kernelift";
    if (at == at.parent_path()) return from / ".kernelift";
  }
}

Status create_state_folder(const fs::path& state) {
  std::error_code code;
  fs::create_directories(state, code);
  if (code)
    return environment_error("cannot create " + state.string() + ": " + code.message() +
                             "; choose a writable place with --state DIR");
  if (fs::exists(state / ".gitignore", code)) return done();
  return write_atomically(state / ".gitignore", std::string_view("*\n"));
}

fs::path executable_folder() {
  std::error_code code;
  return fs::read_symlink("/proc/self/exe", code).parent_path();
}

}  // namespace kernelift
