// From device IR to PTX: libdevice linked in, the default optimisation pipeline, NVPTX code generation. What a
// compiler-tier candidate does with a pipeline of its own replaces the middle call only.
#pragma once
#include <string>

#include "core/base/result.h"

namespace llvm {
class Module;
}

namespace kernelift {

/// Links what `module` calls of the toolkit's libdevice (__nv_*), internalised. Environment error without a toolkit,
/// unless nothing is called. `precise_roots`: as nvcc has it without -use_fast_math or -prec-sqrt=false.
Status link_libdevice(llvm::Module& module, bool precise_roots = true);

/// LLVM's default pipeline at -O`level` for the architecture ("sm_90"), NVVM reflection included.
Status optimize_for_ptx(llvm::Module& module, const std::string& arch, int level = 3);

/// PTX text for the architecture, products fused with sums where nvcc does. Consumes nothing; the module is changed by
/// code generation.
Result<std::string> emit_ptx(llvm::Module& module, const std::string& arch);

}  // namespace kernelift
