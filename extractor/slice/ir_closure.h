// A module cut down to one kernel and what it reaches, with the state that a host can change kept open: the form in
// which two compiles of a kernel are compared, and in which a kernel may be optimised without believing initial values
// that the application overwrites (cudaMemcpyToSymbol on a `static __constant__` table).
#pragma once
#include <set>
#include <string>

#include "core/base/result.h"

namespace llvm {
class Module;
}

namespace kernelift {

/// Keeps kernel `mangled` and its closure; all else becomes internal and is dropped. Every module variable that is left
/// becomes external and externally initialised, but for those named in `source_constants` (mangled), which the source
/// calls const. The IR cannot tell: clang emits every __constant__ variable as an LLVM constant, whatever the host does
/// with it.
Status cut_to_kernel(llvm::Module& module, const std::string& mangled,
                     const std::set<std::string>& source_constants = {});

/// One cheap, deterministic pipeline that takes away what spelling leaves behind (dead stack slots, unreachable
/// branches).
void normalise(llvm::Module& module);

}  // namespace kernelift
