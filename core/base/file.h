// Files as Kernelift reads and writes them: whole, and atomically (temporary name, fsync, rename), so that a full
// disk or a killed process never leaves half an artefact under its real name.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

Result<std::string> read_text(const std::filesystem::path& path);
/// Of a regular file that is not larger than `most`: a file that others name may be a FIFO, which blocks, or endless.
Result<std::string> read_regular_text(const std::filesystem::path& path, size_t most);
Result<std::vector<std::byte>> read_bytes(const std::filesystem::path& path);

/// Why the last system call on `path` failed (errno), and what helps: file_error("write", path).
Error file_error(const char* verb, const std::filesystem::path& path);

/// `fill` writes a new file beside `path`, which then replaces `path`. Parent folders are created; the new file takes
/// over the permissions and the owner of the one that it replaces. If anything fails, the old file stays. Nothing is
/// fsynced.
Status replace_file(const std::filesystem::path& path, const std::function<Status(int fd)>& fill);

/// The same with the given bytes; file and folder are fsynced.
Status write_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
Status write_atomically(const std::filesystem::path& path, std::string_view text);
/// Until then the bytes are in ".NAME.kernelift-x1Y2z3" beside it: nobody else's, whatever it holds.
inline constexpr const char* kTemporaryMark = ".kernelift-";
inline constexpr size_t kTemporaryLetters = 6;  ///< Random ones behind that.

/// What lies in a folder, by name; of one that cannot be read, what was read until then.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder);

/// A folder that is removed with this object.
class TemporaryFolder {
 public:
  /// In `base`, which is created if it does not exist; if `base` is empty, in $TMPDIR.
  static Result<TemporaryFolder> create(std::string_view prefix, std::filesystem::path base = {});
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// The state folder `.kernelift/` of an application: found upwards from `start` like `.git`, else `start/.kernelift`.
std::filesystem::path find_state_folder(const std::filesystem::path& start);
/// Creates the state folder with a `.gitignore` of `*`, so that it never shows in the user's `git status`.
Status create_state_folder(const std::filesystem::path& state);

/// Folder of the running executable; our headers, templates and runtime libraries are found relative to it.
std::filesystem::path executable_folder();

}  // namespace kernelift
