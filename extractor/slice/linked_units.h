// The units that a kernel's text comes from. Relocatable code (nvcc -rdc) calls functions and reads variables that
// other units define; those units are parsed after the kernel's own as one text, so that slicing, proof and patching
// see one program in which every line still has its file. Two units that both define an internal symbol of the same
// name (a static helper) cannot be parsed so: clang reports the symbol, and the slice is then not proven. All units
// must be compiled with the same macros: a unit with other flags is not added.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/model/scan/scan_index.h"
#include "extractor/source/compile_database.h"

namespace kernelift::extractor {

class LinkedUnits {
 public:
  /// `first` contains the kernel, whose code was compiled for `ptx_version` (90; 0: not known). EXPECTS: `index` and
  /// `first` outlive this object.
  static Result<LinkedUnits> begin(const ScanIndex& index, const ScannedUnit& first, int ptx_version = 0);

  /// The command to parse the current units with: the first unit's own, or one for the text that includes all.
  const UnitCommand& command() const { return command_; }
  /// Adds the units that define these mangled names. False if no unit was added.
  Result<bool> add_definers(std::set<std::string> mangled);

 private:
  LinkedUnits(const ScanIndex& index, UnitCommand command)
      : index_(&index), first_(command), command_(std::move(command)) {}
  Status write_text();

  const ScanIndex* index_;
  UnitCommand first_, command_;
  std::vector<std::string> files_;         ///< Files of the further units, in the order in which they were found.
  std::optional<TemporaryFolder> folder_;  ///< Contains the text that includes all units.
};

}  // namespace kernelift::extractor
