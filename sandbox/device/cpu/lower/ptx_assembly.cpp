// Placeholder while the translator is written.
#include "sandbox/device/cpu/lower/ptx_assembly.h"

#include <llvm/IR/InstIterator.h>

namespace kernelift::cpu {
using namespace llvm;
Status lower_assembly(DeviceModule& device) {
  for (Function& function : *device.module)
    for (Instruction& instruction : instructions(function))
      if (auto* call = dyn_cast<CallInst>(&instruction); call && call->isInlineAsm()) {
        std::string text = cast<InlineAsm>(call->getCalledOperand())->getAsmString().str();
        if (!text.empty()) return refused("inline PTX \"" + text + "\" (" + place_of(*call) + ")");
      }
  return done();
}
}  // namespace kernelift::cpu
