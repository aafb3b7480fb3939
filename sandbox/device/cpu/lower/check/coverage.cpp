// See coverage.h. What is not marked: blocks that compute nothing (`return;`), and those that end the launch (the
// failing side of an assert).
#include "sandbox/device/cpu/lower/check/coverage.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/Support/Path.h>

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr size_t kMostBlocks = 1 << 14;

/// Where the block's code begins in the main file; null: it has none there.
DebugLoc start_of(const BasicBlock& block) {
  if (isa<UnreachableInst>(block.getTerminator())) return {};
  for (const Instruction& instruction : block) {
    if (instruction.isTerminator() && !isa<SwitchInst>(instruction)) break;
    const DebugLoc& at = instruction.getDebugLoc();
    if (!at || at.getLine() == 0 || isa<AllocaInst>(instruction) || instruction.isDebugOrPseudoInst()) continue;
    const DISubprogram* function = at->getScope()->getSubprogram();
    const DICompileUnit* unit = function ? function->getUnit() : nullptr;
    const bool is_main = unit && sys::path::filename(at->getFilename()) == sys::path::filename(unit->getFilename());
    return is_main ? at : DebugLoc();
  }
  return {};
}

}  // namespace

Coverage::Coverage(DeviceModule& device) : device_(device) {
  Module& module = *device.module;
  LLVMContext& context = module.getContext();
  auto* type = FunctionType::get(Type::getVoidTy(context), {Type::getInt32Ty(context)}, false);
  mark_ = Function::Create(type, GlobalValue::ExternalLinkage, "kl.reached", module);
  mark_->addFnAttr(Attribute::NoUnwind);
  mark_->addFnAttr(Attribute::WillReturn);
  mark_->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
  for (Function& function : module) {
    const auto entry = static_cast<uint32_t>(device.code_blocks.size());
    for (BasicBlock& block : function) {
      const bool is_entry = &block == &function.getEntryBlock();
      const DebugLoc at = start_of(block);
      if ((!at && !is_entry) || device.code_blocks.size() == kMostBlocks) continue;
      // A function that begins with nothing of the main file has an entry all the same, of no line.
      device.code_blocks.push_back({at ? at.getLine() : 0, at ? at.getCol() : 0, entry});
      IRBuilder<> builder(&block, block.getFirstNonPHIOrDbgOrAlloca());
      builder.CreateCall(mark_, {builder.getInt32(static_cast<uint32_t>(device.code_blocks.size() - 1))});
    }
  }
}

void Coverage::insert() {
  Module& module = *device_.module;
  Type* byte = Type::getInt8Ty(module.getContext());
  auto* bytes = ArrayType::get(byte, std::max<size_t>(device_.code_blocks.size(), 1));
  device_.reached = new GlobalVariable(module, bytes, false, GlobalValue::InternalLinkage,
                                       Constant::getNullValue(bytes), "kl.reached.blocks");
  for (User* user : make_early_inc_range(mark_->users())) {
    auto* call = cast<CallInst>(user);
    IRBuilder<> builder(call);
    // Two marks may have become one, of either block.
    builder.CreateStore(builder.getInt8(1), builder.CreateInBoundsGEP(bytes, device_.reached,
                                                                      {builder.getInt32(0), call->getArgOperand(0)}));
    call->eraseFromParent();
  }
  mark_->eraseFromParent();
}

}  // namespace kernelift::cpu
