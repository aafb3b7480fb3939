// The proof that a slice has the meaning of its unit: both are compiled to device IR, cut to the kernel, normalised by
// the same pipeline and compared structurally (ir_compare.h).
#pragma once
#include <string>

#include "extractor/slice/slice.h"

namespace kernelift::extractor {

struct ProofOutcome {
  bool original_compiles = false, slice_compiles = false, equal = false;
  std::string note;
  /// The kernel's mangled name in the slice, if it differs: a whole unit's main is renamed, which changes the names of
  /// its local types (a lambda that is a kernel's template argument).
  std::string slice_mangled;
};

/// Compares kernel `mangled` in two texts under the same options.
ProofOutcome prove_equal(const std::string& original, const std::string& slice, const std::string& mangled,
                         const FrontendOptions& options);

/// In how many of nvcc's further passes the text does not compile: the host's, without __CUDA_ARCH__, and the device
/// pass for nvcc's default GPU.
int passes_that_fail(const std::string& text, const FrontendOptions& options);

}  // namespace kernelift::extractor
