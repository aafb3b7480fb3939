// How far a patch of the application could reach into a kernel, by the MEP alone: known before any time is spent on
// tuning. What lies outside the application's tree (a system header, a dependency elsewhere) is never patched.
#pragma once
#include <filesystem>
#include <string>

#include "core/model/mep.h"

namespace kernelift {

struct PatchReach {
  bool text = false;      ///< Some function or constant that it is made of.
  bool launches = false;  ///< All its launches, of which there are some.
  std::string outside;    ///< "/opt/dep/kernels.h:12": a file of its text that no patch may change; or empty.

  bool none() const { return !text && !launches; }
  /// One sentence without an end: what cannot be patched, and why; empty where nothing is in the way.
  std::string why() const;
};

PatchReach patch_reach(const Mep& mep);

}  // namespace kernelift
