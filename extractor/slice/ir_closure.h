// A module cut down to one kernel and everything it reaches, whose variables that the host can change are externally
// initialised: the form in which two compiles of a kernel are compared, and in which a kernel may be optimised without
// relying on initial values that the application overwrites (cudaMemcpyToSymbol on a `static __constant__` table).
#pragma once
#include <set>
#include <string>

#include "core/base/result.h"

namespace llvm {
class Module;
}

namespace kernelift::extractor {

/// Keeps kernel `mangled` and its closure; everything else becomes internal and is dropped. Every remaining module
/// variable becomes external and externally initialised, except those in `source_constants` (mangled), which the source
/// declares const. The IR does not show the difference: clang emits every __constant__ variable as an LLVM constant,
/// even if the host writes it.
Status cut_to_kernel(llvm::Module& module, const std::string& mangled,
                     const std::set<std::string>& source_constants = {});

/// A cheap, deterministic pipeline that removes differences of mere spelling (dead stack slots, unreachable branches).
void normalise(llvm::Module& module);

}  // namespace kernelift::extractor
