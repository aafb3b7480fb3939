// See variable_room.h.
#include "sandbox/device/cpu/lower/host/variable_room.h"

#include <algorithm>

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr uint64_t kMostRoom = 32 << 10, kLeastRoom = 256, kRoomOfAll = 256 << 10;  ///< Bytes.

GlobalVariable* with_room(GlobalVariable& global, uint64_t room, Align align) {
  Module& module = *global.getParent();
  auto* zeros = ArrayType::get(Type::getInt8Ty(module.getContext()), room);
  Constant* none = Constant::getNullValue(zeros);
  Constant* value = ConstantStruct::getAnon({none, global.getInitializer(), none}, /*Packed=*/true);
  auto* larger = new GlobalVariable(module, value->getType(), global.isConstant(), global.getLinkage(), value, "",
                                    &global, global.getThreadLocalMode(), global.getAddressSpace());
  larger->copyAttributesFrom(&global);
  larger->copyMetadata(&global, static_cast<unsigned>(room));
  larger->setAlignment(align);
  larger->takeName(&global);
  return larger;
}

}  // namespace

void give_variables_room(DeviceModule& device) {
  const DataLayout& layout = device.module->getDataLayout();
  const uint64_t each = kRoomOfAll / (2 * std::max<uint64_t>(1, device.variables.size()));
  for (Variable& variable : device.variables) {
    GlobalVariable& global = *variable.global;
    constexpr uint64_t kLine = 64;
    const Align align(std::max(kLine, layout.getPreferredAlign(&global).value()));
    variable.room = alignTo(std::clamp(each, kLeastRoom, kMostRoom), align);
    variable.global = with_room(global, variable.room, align);
    global.replaceAllUsesWith(address_of(variable));
    global.eraseFromParent();
  }
}

Constant* address_of(const Variable& variable) {
  if (variable.room == 0) return variable.global;
  LLVMContext& context = variable.global->getContext();
  return ConstantExpr::getInBoundsGetElementPtr(Type::getInt8Ty(context), variable.global,
                                                ConstantInt::get(Type::getInt64Ty(context), variable.room));
}

}  // namespace kernelift::cpu
