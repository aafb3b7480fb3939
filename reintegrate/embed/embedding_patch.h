// Plans a patch that embeds PTX: the kernel's own text stays, and its launches go through a generated header beside the
// first of them.
#pragma once
#include "reintegrate/patch/kernel_family.h"
#include "reintegrate/patch/patch_draft.h"

namespace kernelift::reintegrate {

/// EXPECTS: `question.embedded` is set, and `family` is that of its MEP and scan.
Result<SourcePatch> plan_embedding(const PatchQuestion& question, const KernelFamily& family, PatchDraft& draft);

}  // namespace kernelift::reintegrate
