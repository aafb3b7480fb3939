// Device IR to PTX: link libdevice, make functions internal, run the default optimisation pipeline, generate code by
// LLVM's NVPTX backend. For a compiler-tier candidate with a pipeline of its own, run_passes() replaces the third call.
#pragma once
#include <string>

#include "core/base/result.h"

namespace llvm {
class Module;
}

namespace kernelift {

/// Links the functions of the toolkit's libdevice (__nv_*) that `module` calls, and internalises them. An Environment
/// error if they are needed and there is no toolkit. `precise_roots`: nvcc's default, without -use_fast_math and
/// -prec-sqrt=false.
Status link_libdevice(llvm::Module& module, bool precise_roots = true);

/// Makes all functions but the kernels internal, as they are for nvcc without relocatable code: what every caller
/// inlines is dropped, and the assembler keeps the registers of what is called within the bounds of the kernels that
/// call it.
void keep_kernels_only(llvm::Module& module);

/// LLVM's default pipeline at -O`level` for the architecture ("sm_90"), NVVM reflection included; from -O2 functions
/// are inlined up to sizes at which nvcc inlines them.
Status optimize_for_ptx(llvm::Module& module, const std::string& arch, int level = 3);

/// PTX text for the architecture, with multiplications and additions fused where nvcc fuses them, and with loads and
/// stores that stream past the cache where the text asks for them (__ldcs, __stcs). Code generation changes the module.
Result<std::string> emit_ptx(llvm::Module& module, const std::string& arch);

}  // namespace kernelift
