// The parts of a kernel that a patch of the application could change, according to the MEP alone, and so before any
// time is spent on tuning. Files outside the application's tree (a system header, a dependency elsewhere) are patched
// only if the user names their repository.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/model/mep.h"

namespace kernelift::reintegrate {

struct PatchableParts {
  bool text = false;      ///< At least one function or constant of the kernel can be patched.
  bool launches = false;  ///< The kernel has launch sites, and all of them can be patched.
  std::string outside;    ///< "/opt/dep/kernels.h:12": a part of its text that no patch may change; or empty.

  bool none() const { return !text && !launches; }
  /// One sentence without a full stop that says what cannot be patched and why; empty if the text can be patched.
  std::string why() const;
};

/// `repositories`: further folders whose files a patch may change.
PatchableParts patchable_parts(const Mep& mep, const std::vector<std::filesystem::path>& repositories = {});

}  // namespace kernelift::reintegrate
