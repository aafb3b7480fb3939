// What a patched kernel takes for granted of the application's constants. Whoever edits `#define BLOCK 128` later gets
// a kernel that does not compile and says why, where nothing is known of it with another value:
//     static_assert(BLOCK == 128, "this text of smooth was judged for BLOCK = 128 alone");
#pragma once
#include <string>

#include "core/base/result.h"
#include "reintegrate/patch/kernel_family.h"
#include "reintegrate/patch/patch_draft.h"

namespace kernelift::reintegrate {

/// The text of kernel.cu with that in its kernel for each of PatchQuestion::constants; a comment in its place for a
/// constant that the kernel cannot name, such as a local variable of the function that launches.
Result<std::string> with_needed_constants(std::string text, const PatchQuestion& question, const KernelFamily& family,
                                          PatchDraft& draft);

}  // namespace kernelift::reintegrate
