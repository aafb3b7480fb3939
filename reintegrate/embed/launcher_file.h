// Finds the header file that is a kernel's launcher, existing or new. Kernel names are not unique: several units may
// each have a static kernel of one name, so the file's name does not identify the kernel. The file's first line names
// the kernel; if several kernels have that name, a source that launches this kernel must also use the launcher.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/mep.h"
#include "core/model/scan/scan_index.h"

namespace kernelift::reintegrate {

class LauncherFile {
 public:
  /// `mine` and `scan` may be null: then nothing is known of other kernels. EXPECTS: all arguments outlive this object.
  LauncherFile(const Mep& mep, const ScannedKernel* mine, const ScanIndex* scan, const std::filesystem::path& root)
      : mep_(mep), mine_(mine), scan_(scan), root_(root) {}

  /// Name of the header and its namespace; with the kernel's id if another definition has the same name.
  std::string name() const;
  /// True if the text is a launcher that was written for this kernel, or for one of the same name.
  bool is_own(const std::string& text) const;
  /// The header that an earlier patch left beside the kernel's source, its unit or a launch; empty if there is none.
  std::filesystem::path existing() const;
  /// Why the existing file `header` cannot be written; `launched_in`: the files whose launches should go through it.
  std::string occupied(const std::filesystem::path& header, const std::vector<std::string>& launched_in) const;

 private:
  const Mep& mep_;
  const ScannedKernel* mine_;
  const ScanIndex* scan_;
  const std::filesystem::path& root_;
};

/// Refuses a new value of the knob if another kernel than `mine` that uses it runs embedded code, which has the old
/// one.
Status check_embedded_users(const Knob& knob, const ScannedKernel* mine, const ScanIndex& scan,
                            const std::filesystem::path& root);

}  // namespace kernelift::reintegrate
