// The source line of an instruction.
#pragma once

namespace llvm {
class Instruction;
}

namespace kernelift {

/// The line in the kernel's own source, through inlined calls; 0: not known.
unsigned line_of(const llvm::Instruction& instruction);

}  // namespace kernelift
