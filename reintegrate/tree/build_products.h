// Keeps the products of two builds of one tree side by side. The application is built in its own folder by its own
// command (a copied tree would break the absolute paths in CMake caches, run paths and scripts). The files that the
// build wrote are found by comparing file listings, saved, and later swapped in and out, so that both versions can be
// run in alternation under their own paths. A product that another program changes meanwhile is never overwritten.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::reintegrate {

struct FileStamp {
  uint64_t size = 0, inode = 0;
  int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const FileStamp&) const = default;
};

using Listing = std::map<std::filesystem::path, FileStamp>;

/// Every regular file under the folders, except under `.git`, `.kernelift` and the folders in `without`. Missing
/// folders count as empty. A folder that cannot be listed completely is an Error: otherwise a build would seem not to
/// have written the rest.
Result<Listing> list_files(const std::vector<std::filesystem::path>& folders,
                           const std::vector<std::filesystem::path>& without);
/// Files of `after` that are new or have another stamp than in `before`.
std::vector<std::filesystem::path> written_between(const Listing& before, const Listing& after);

/// True for an ELF executable or shared object.
bool is_program(const std::filesystem::path& path);
/// True for a program in the sense of is_program(), and for any file with execute permission.
bool is_executable(const std::filesystem::path& path);

class BuildProducts {
 public:
  enum Version { Before = 0, After = 1 };

  explicit BuildProducts(std::filesystem::path vault) : vault_(std::move(vault)) {}
  ~BuildProducts();  ///< Removes the vault.

  /// Saves copies of the files as they are now. Relocatable objects and static archives are left out: nothing runs
  /// them.
  Status save(Version version, const std::vector<std::filesystem::path>& files);
  /// Drops files that only one version has; true if any other file differs in content.
  Result<bool> compare();
  size_t count() const { return files_[Before].size(); }
  /// Installs a version, after checking that the files of the last installed one are unchanged.
  Status install(Version version);

 private:
  struct Saved {
    std::filesystem::path copy;
    FileStamp stamp;
  };
  std::filesystem::path vault_;
  std::map<std::filesystem::path, Saved> files_[2];
  Listing installed_;  ///< Stamps of the files that are installed now.
};

}  // namespace kernelift::reintegrate
