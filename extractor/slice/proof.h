// The proof that a slice means what its unit means: both are compiled to device IR, cut to the kernel, normalised by
// one pipeline and compared structurally (ir_compare.h).
#pragma once
#include <string>

#include "extractor/slice/slice.h"

namespace kernelift {

struct ProofOutcome {
  bool original_compiles = false, slice_compiles = false, equal = false;
  std::string note;
  /// What the slice itself calls the kernel, where that is another name: a whole unit's main is called something else,
  /// and so is then every type that is local to it (a lambda that a kernel is an instance of).
  std::string slice_mangled;
};

/// Compares kernel `mangled` in two texts under the same options.
ProofOutcome prove_equal(const std::string& original, const std::string& slice, const std::string& mangled,
                         const FrontendOptions& options);

/// In how many of the other passes that plain nvcc makes of a text it cannot be read: the host's, where there is no
/// __CUDA_ARCH__, and the one for the GPU that nvcc builds for unless it is told another.
int passes_that_fail(const std::string& text, const FrontendOptions& options);

}  // namespace kernelift
