// Preprocessor conditionals in the functions that a patch changes. Their branches that this build leaves out were seen
// by no trial, and the patch does not adapt them: where it changes, outside of a conditional, what the conditional's
// text uses, another build of the application may compute something else. For other GPUs that build is often the same
// one
// (`#if __CUDA_ARCH__ >= 800`, built for two architectures), so such a patch is refused; of others it is said.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/model/mep.h"
#include "reintegrate/patch/launch_edit.h"

namespace kernelift {

struct ReachedConditional {
  uint32_t line = 0, end_line = 0;  ///< Of its #if and its #endif, from 1.
  std::string condition;            ///< "#if __CUDA_ARCH__ >= 800"
  std::string word;                 ///< Something that both its text and the patch around it speak of.
  bool by_architecture = false;     ///< Which branch is compiled depends on the GPU.
};

/// Those in lines [begin, end] (from 1) of `text`, a function, whose meaning `edits` may change from outside of them.
/// With `relaunched`, blocks and grid change too. Only text is looked at: rather one too many than one too few.
std::vector<ReachedConditional> conditionals_reached(std::string_view text, uint32_t begin, uint32_t end,
                                                     const std::vector<ByteEdit>& edits, bool relaunched);

/// "k.cu:12-16 (#if __CUDA_ARCH__ >= 800)"
std::string place_of(const ReachedConditional& one, const std::string& file);

}  // namespace kernelift
