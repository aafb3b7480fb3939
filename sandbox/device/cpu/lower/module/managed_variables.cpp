// A __managed__ variable is one variable of host and device. Host code has it as an ordinary global (clang's shadow),
// so that is where it lives: device code reaches it through a pointer in the image, which the runtime points there.
//
//   __managed__ int total = 5;   →   total (a pointer, KL_VARIABLE_MANAGED), total.initial (5, copied to the host's)
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/ReplaceConstant.h>

#include "sandbox/device/cpu/lower/module/retarget.h"

namespace kernelift::cpu {

using namespace llvm;

Status place_managed_variables(DeviceModule& device) {
  Module& module = *device.module;
  std::vector<Variable> initial;
  for (Variable& variable : device.variables) {
    if (!variable.managed) continue;
    GlobalVariable& global = *variable.global;
    convertUsersOfConstantsToInstructions({&global});
    global.setName(variable.name + ".initial");
    Type* pointer = PointerType::get(module.getContext(), 0);
    auto* slot =
        new GlobalVariable(module, pointer, false, GlobalValue::ExternalLinkage, Constant::getNullValue(pointer),
                           variable.name, nullptr, GlobalValue::NotThreadLocal, global.getAddressSpace());
    slot->setExternallyInitialized(true);
    for (Use& use : make_early_inc_range(global.uses())) {
      auto* user = dyn_cast<Instruction>(use.getUser());
      if (!user)
        return refused("the address of __managed__ variable " + readable_name(variable.name) +
                       " in another variable's initialiser is not supported on the CPU device; set it in host code");
      auto* phi = dyn_cast<PHINode>(user);
      Instruction* point = phi ? phi->getIncomingBlock(use)->getTerminator() : user;
      IRBuilder<> builder(point);
      LoadInst* load = builder.CreateLoad(pointer, slot);
      load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(module.getContext(), {}));
      use.set(builder.CreateAddrSpaceCast(load, global.getType()));
    }
    initial.push_back({&global, global.getName().str()});
    variable.global = slot;
  }
  device.variables.insert(device.variables.end(), initial.begin(), initial.end());
  return done();
}

}  // namespace kernelift::cpu
