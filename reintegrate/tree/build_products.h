// Two builds of one tree, kept side by side. The application is built in its own place by its own command (a copied
// tree would break the absolute paths in CMake caches, run paths and scripts); what the build wrote is found by
// comparing file listings, saved, and later swapped in and out, so that both versions can be run in alternation where
// they belong. A product that somebody else changes meanwhile is never overwritten.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

struct FileStamp {
  uint64_t size = 0, inode = 0;
  int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const FileStamp&) const = default;
};

using Listing = std::map<std::filesystem::path, FileStamp>;

/// Every regular file under the folders, `.git` and `.kernelift` and whatever is under `without` excepted. Folders that
/// are not there have none; what cannot be read to its end is an Error, or a build would seem to have left out the
/// rest.
Result<Listing> list_files(const std::vector<std::filesystem::path>& folders,
                           const std::vector<std::filesystem::path>& without);
/// Files of `after` that are new or were written since `before`.
std::vector<std::filesystem::path> written_between(const Listing& before, const Listing& after);

/// An ELF file that is run or loaded.
bool is_program(const std::filesystem::path& path);
/// That, or whatever its mode says may be run.
bool is_executable(const std::filesystem::path& path);

class BuildProducts {
 public:
  enum Version { Before = 0, After = 1 };

  explicit BuildProducts(std::filesystem::path vault) : vault_(std::move(vault)) {}
  ~BuildProducts();  ///< Removes the vault.

  /// Copies the files as they are now. Objects and archives are left out: nothing runs them.
  Status save(Version version, const std::vector<std::filesystem::path>& files);
  /// Keeps only files that both versions have; true if any of them differs in content.
  Result<bool> join();
  size_t count() const { return files_[Before].size(); }
  /// Puts a version in place, after checking that the last one placed still stands untouched.
  Status place(Version version);

 private:
  struct Saved {
    std::filesystem::path copy;
    FileStamp stamp;
  };
  std::filesystem::path vault_;
  std::map<std::filesystem::path, Saved> files_[2];
  Listing placed_;  ///< What stands now.
};

}  // namespace kernelift
