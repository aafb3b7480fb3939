// Which file a kernel's launcher is, and whether one is there already. Names of kernels are not unique: several units
// may each have a static kernel of one name, so that a file's name alone does not tell whose launcher it is. Its head
// names the kernel, and where several have that name, the source that launches it must mention it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "core/model/scan/scan_index.h"

namespace kernelift {

class LauncherPlace {
 public:
  /// `mine` and `scan` may be null: then nothing is known of other kernels. All must outlive this.
  LauncherPlace(const Mep& mep, const ScannedKernel* mine, const ScanIndex* scan, const std::filesystem::path& root)
      : mep_(mep), mine_(mine), scan_(scan), root_(root) {}

  /// Of the header and its namespace; with the kernel's id where another definition has the same name.
  std::string name() const;
  /// The text is that of a launcher that was written for this kernel, or for one of the same name.
  bool is_own(const std::string& text) const;
  /// The header that an earlier patch has left beside the kernel, its unit or a launch; empty if there is none.
  std::filesystem::path existing() const;
  /// Why `header`, which is there, cannot be written; `launched_in`: the files with launches that do not go through it.
  std::string occupied(const std::filesystem::path& header, const std::vector<std::string>& launched_in) const;

 private:
  const Mep& mep_;
  const ScannedKernel* mine_;
  const ScanIndex* scan_;
  const std::filesystem::path& root_;
};

}  // namespace kernelift
