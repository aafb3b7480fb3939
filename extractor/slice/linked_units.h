// The units that a kernel's text comes from. Relocatable code (nvcc -rdc) calls functions and reads variables which
// other units define; those are read behind the kernel's own as one text, so that slicing, proof and patching see one
// program in which every line still knows its file. What two units both define for themselves (a static helper of one
// name) cannot be read so: clang says what it is, and the proof is missing then. One set of macros holds for all of
// them: a unit that is compiled with others is not taken.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/model/scan/scan_index.h"
#include "extractor/source/compile_database.h"

namespace kernelift {

class LinkedUnits {
 public:
  /// `first` holds the kernel, whose code was compiled for `ptx_version` (90; 0: not known). EXPECTS: both outlive
  /// this.
  static Result<LinkedUnits> begin(const ScanIndex& index, const ScannedUnit& first, int ptx_version = 0);

  /// How to read what there is by now: the first unit's own command, or that for one text of all.
  const UnitCommand& command() const { return command_; }
  /// Adds the units that define what has these mangled names. False: nothing is new.
  Result<bool> add_definers(std::set<std::string> mangled);

 private:
  LinkedUnits(const ScanIndex& index, UnitCommand command)
      : index_(&index), first_(command), command_(std::move(command)) {}
  Status write_text();

  const ScanIndex* index_;
  UnitCommand first_, command_;
  std::vector<std::string> files_;         ///< Of the others, in the order in which they were found.
  std::optional<TemporaryFolder> folder_;  ///< Of the text that includes all.
};

}  // namespace kernelift
