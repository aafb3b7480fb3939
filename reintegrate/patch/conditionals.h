// Finds preprocessor conditionals in the functions that a patch changes. Branches that this build leaves out were not
// part of any trial, and the patch does not adapt them: if it changes code around a conditional that the conditional's
// text uses, another build of the application may compute something else. If the branch depends on the GPU architecture
// (`#if __CUDA_ARCH__ >= 800`, built for two architectures), the same build is affected and the patch is refused;
// otherwise the report mentions it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/model/mep.h"
#include "reintegrate/patch/launch/launch_edit.h"

namespace kernelift::reintegrate {

struct AffectedConditional {
  uint32_t line = 0, end_line = 0;  ///< Lines of its #if and its #endif, from 1.
  std::string condition;            ///< "#if __CUDA_ARCH__ >= 800"
  std::string word;                 ///< An identifier that occurs in its text and in the patch around it.
  bool by_architecture = false;     ///< Which branch is compiled depends on the GPU.
};

/// The conditionals in lines [begin, end] (from 1) of `text`, a function, whose meaning `edits` outside of them may
/// change. With `geometry_changes`, grid and block change too. The decision is made by names and errs on the side of
/// reporting.
std::vector<AffectedConditional> affected_conditionals(std::string_view text, uint32_t begin, uint32_t end,
                                                       const std::vector<ByteEdit>& edits, bool geometry_changes);

/// "k.cu:12-16 (#if __CUDA_ARCH__ >= 800)"
std::string location_of(const AffectedConditional& one, const std::string& file);

}  // namespace kernelift::reintegrate
