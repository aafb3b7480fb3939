// What tells two instructions of one opcode with equal operands apart.
#pragma once
#include <string>

namespace llvm {
class Instruction;
}

namespace kernelift {

/// Types, a comparison's predicate, an atomic operation, the lanes and members that are chosen.
std::string instruction_details(const llvm::Instruction& instruction);

}  // namespace kernelift
