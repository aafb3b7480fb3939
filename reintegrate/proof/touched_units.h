// The compiles of an application that read the files of a patch: as main files, or by #include.
#pragma once
#include <string>
#include <vector>

#include "core/compiler/host_half.h"
#include "core/model/mep.h"
#include "core/model/scan/scan_index.h"
#include "reintegrate/patch/source_patch.h"

namespace kernelift::reintegrate {

struct TouchedUnits {
  std::vector<HostUnit> units;
  /// Files of the patch that no known compile reads: nothing could be compared for them.
  std::vector<std::string> unread;
  /// What may read a file of the patch, and cannot be compared: a compile, or the compile database; and why.
  struct Unknown {
    std::string name, why;
  };
  std::vector<Unknown> unknown;
};

/// All compiles that are known.
std::vector<HostUnit> known_units(const Mep& mep, const ScanIndex* scan);

/// Of the scan's units and the plain sources of its compile database; without a scan of the MEP's own unit. A unit that
/// the preprocessor cannot read to its end is touched unless it is known that it reads nothing of the patch.
TouchedUnits touched_units(const Mep& mep, const ScanIndex* scan, const SourcePatch& patch);

}  // namespace kernelift::reintegrate
