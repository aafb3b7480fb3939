// Launches of the kernel that a patch cannot change with the others: those of a function pointer, and those in code
// that this build leaves out (`#ifdef SMALL … k<<<n / 64, 64>>>(…)`). They would launch the patched kernel in the
// original grid and block.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "reintegrate/patch/kernel_family.h"
#include "reintegrate/patch/patch_draft.h"

namespace kernelift::reintegrate {

struct LeftOutLaunch {
  uint32_t line = 0;               ///< From 1.
  std::string_view configuration;  ///< What stands between <<< and >>>, or the arguments of the call.
};

/// Launches of `kernel`, its name without namespaces, inside of conditionals: by <<<, by the runtime's functions
/// (cudaLaunchKernel((void*)kernel, …)) and by macros (LAUNCH(kernel, …)). Not those from a begin to an end of `seen`.
std::vector<LeftOutLaunch> launches_in_conditionals(std::string_view text, const std::string& kernel,
                                                    const std::vector<std::pair<uint64_t, uint64_t>>& seen);

/// Refuses a patch of the kernel's text that changes grid or block while there are such launches; otherwise notes those
/// in code that is left out. `followed`: the constants by which alone grid and block change, if that is so: launches
/// that name them all change with them.
Status check_unseen_launches(const PatchQuestion& question, const KernelFamily& family, bool geometry_changes,
                             const Bindings& followed, PatchDraft& draft);

}  // namespace kernelift::reintegrate
