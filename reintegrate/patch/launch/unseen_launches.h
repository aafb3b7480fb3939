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

/// Lines (from 1) inside of conditionals on which the text launches `kernel`, its name without namespaces, by <<<,
/// except the launches that begin at the bytes `seen`.
std::vector<uint32_t> launches_in_conditionals(std::string_view text, const std::string& kernel,
                                               const std::vector<uint64_t>& seen);

/// Refuses a patch of the kernel's text that changes grid or block while there are such launches; otherwise notes those
/// in code that is left out.
Status check_unseen_launches(const PatchQuestion& question, const KernelFamily& family, bool geometry_changes,
                             PatchDraft& draft);

}  // namespace kernelift::reintegrate
