// Descriptors of open files. To every program 0, 1 and 2 are the standard streams, whatever file is open there; and a
// recorded application may close any descriptor, and get its number for a file of its own, at any time.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace kernelift {

/// The same open file under a number above 2, closed by an exec; `fd` itself if it is above 2, else it is closed. -1,
/// with errno, where `fd` is, or where no number is left.
int above_standard(int fd);

/// Opens /dev/null under those of the numbers 0, 1 and 2 that are closed, so that no file of ours gets one of them.
/// What is printed to a closed stdout still fails.
void hold_standard_streams();

/// As many descriptors for this process as the system allows: a search on a machine of many cores has a worker and a
/// compiler for each of them. Programs that run_process() starts have the limit that this process was started with.
void raise_descriptor_limit();
/// In a forked child that is about to start a program.
void restore_descriptor_limit();

/// Writes all of `bytes`, and waits where `fd` is non-blocking. False, with errno, if not all could be written.
bool write_all(int fd, std::string_view bytes);

/// A file that stays open for writing inside an application. Its number lies far above those that programs use, so
/// theirs stay as they are without us; and before each use it is made sure that it still is this file's.
class OwnFile {
 public:
  OwnFile() = default;
  /// A new file; fails if it exists.
  static Result<OwnFile> create(const std::filesystem::path& path);
  OwnFile(OwnFile&& other) noexcept { *this = std::move(other); }
  OwnFile& operator=(OwnFile&& other) noexcept;
  ~OwnFile();
  /// Where the application has closed the number, the file is opened again: an Error if it is no longer at its place.
  /// Callers serialise.
  Status hold();
  int number() const { return fd_; }  ///< EXPECTS: hold() was good.

 private:
  bool is_mine() const;

  std::filesystem::path path_;
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace kernelift
