// The units that a kernel's text comes from. Relocatable code (nvcc -rdc) calls functions and reads variables that
// other units define; those units are parsed after the kernel's own as one text, so that slicing, proof and patching
// see one program in which every line still has its file. An internal function or variable (a static helper) whose name
// an earlier unit has for one of its own is renamed by a macro. All units must be compiled with the same macros: a unit
// with other flags is not added.
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
  struct Unit {
    std::string file;
    std::set<std::string> internal;  ///< Names of functions and variables that it has for itself.
  };

  const ScanIndex* index_;
  UnitCommand first_, command_;
  std::optional<std::set<std::string>> internal_of_first_;  ///< Known once there are others.
  std::vector<Unit> files_;                                 ///< Further units, in the order in which they were found.
  std::optional<TemporaryFolder> folder_;                   ///< Contains the text that includes all units.
};

}  // namespace kernelift::extractor
