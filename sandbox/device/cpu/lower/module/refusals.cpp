// What the CPU device cannot do stands in some function, and keeps exactly those kernels from running that reach it. A
// call through a pointer reaches every function whose address is taken, so that nothing refused is ever called.
#include "core/toolchain/image_abi.h"
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

using namespace llvm;

Status settle_refusals(DeviceModule& device, bool refuse_all) {
  if (device.refused.empty()) return done();
  if (refuse_all)
    for (Function& function : *device.module)
      if (auto why = device.refused.find(&function); why != device.refused.end()) return refused(why->second);

  std::vector<Kernel> kept;
  for (Kernel& kernel : device.kernels) {
    const SetVector<Function*> reached = reachable_from(kernel.body);
    auto first = find_if(reached, [&](Function* function) { return device.refused.contains(function); });
    if (first == reached.end()) {
      kept.push_back(std::move(kernel));
      continue;
    }
    kernel.mode = KL_MODE_REFUSED;
    kernel.mode_reason = device.refused[*first];
    device.refused[kernel.body] = kernel.mode_reason;  // So that its body goes too.
    kernel.body = nullptr;
    device.left_out.push_back(std::move(kernel));
  }
  device.kernels = std::move(kept);
  // Tables may still hold their addresses; those who would call them are gone.
  for (auto& [function, why] : device.refused) {
    function->deleteBody();
    function->setLinkage(GlobalValue::InternalLinkage);
    new UnreachableInst(function->getContext(), BasicBlock::Create(function->getContext(), "", function));
  }
  device.refused.clear();
  return done();
}

}  // namespace kernelift::cpu
