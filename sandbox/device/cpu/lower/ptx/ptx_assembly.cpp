// Finds inline assembly, has it translated call by call, and refuses the functions that hold something else.
#include "sandbox/device/cpu/lower/ptx/ptx_assembly.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>

#include <algorithm>

#include "sandbox/device/cpu/lower/ptx/ptx_translator.h"

namespace kernelift::cpu {

using namespace llvm;

void lower_assembly(DeviceModule& device) {
  SmallVector<CallInst*, 16> calls;
  for (Function& function : *device.module)
    for (Instruction& instruction : instructions(function))
      if (auto* call = dyn_cast<CallInst>(&instruction); call && call->isInlineAsm()) calls.push_back(call);
  std::map<Function*, std::string> translated;  // And the assembly to blame if the outcome is no valid IR.
  for (CallInst* call : calls) {
    auto refuse = [&](std::string text, const std::string& why) {
      std::replace(text.begin(), text.end(), '$', '%');  // Operands as the source spells them.
      device.refuse(*call, "the CPU device does not support inline PTX \"" + text + "\"", why);
    };
    const std::string assembly = cast<InlineAsm>(call->getCalledOperand())->getAsmString().str();
    auto text = parse_ptx(assembly);
    if (!text.ok()) {
      refuse(assembly, text.error().message);
      continue;
    }
    PtxTranslator translator(*call, *text);
    if (const PtxStatement* unknown = translator.run()) {
      refuse(unknown->text, translator.problem());
      continue;
    }
    if (Value* value = translator.result()) call->replaceAllUsesWith(value);
    translated.try_emplace(call->getFunction(), "the CPU device does not support inline PTX \"" + assembly + "\" (" +
                                                    place_of(*call) + "): types that do not go together");
    call->eraseFromParent();
  }
  // An instruction of a type that the table did not think of: the optimiser would crash on it.
  for (auto& [function, blamed] : translated)
    if (!device.refused.contains(function) && verifyFunction(*function)) device.refused[function] = blamed;
}

}  // namespace kernelift::cpu
