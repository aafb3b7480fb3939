// Shared variables become addresses in the block's arena. Offsets are fixed per variable, since functions that are not
// inlined must find them without knowing which kernel called; each kernel is charged only for what it can reach. So
// offsets are coloured: variables that some kernel reaches together never overlap, others may.
//
//   kernel a uses t1[32K], kernel b uses t2[32K]  →  both at offset 0, each kernel needs 32K (and not 64K)
//
// The addresses themselves are written as shared.offset(i64) marker calls here, and become loads of the block's arena
// pointer once functions have their hidden thread parameter (retarget.cpp).
#include <llvm/IR/ReplaceConstant.h>

#include <algorithm>
#include <set>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/module/retarget.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

struct Placement {
  uint64_t offset, size;
};

bool is_dynamic(const GlobalVariable& global) { return global.isDeclaration(); }

/// "tile" of a variable in a function or a namespace.
std::string name_in_source(const GlobalVariable& variable) {
  const std::string whole = readable_name(variable.getName());
  const size_t colons = whole.rfind("::");
  return colons == std::string::npos ? whole : whole.substr(colons + 2);
}

/// The variables whose initial values hold the constant's address.
void find_referring_variables(Constant& constant, SetVector<GlobalVariable*>& referring) {
  for (User* user : constant.users()) {
    if (auto* variable = dyn_cast<GlobalVariable>(user)) referring.insert(variable);
    else if (auto* part = dyn_cast<Constant>(user)) find_referring_variables(*part, referring);
  }
}

void store_parts(IRBuilderBase& builder, Value* to, Constant& value, const DataLayout& layout) {
  if (isa<UndefValue>(value)) return;
  if (!isa<ConstantArray, ConstantStruct>(value)) {
    builder.CreateStore(&value, to);
    return;
  }
  for (unsigned i = 0; i < value.getNumOperands(); ++i) {
    auto* part = cast<Constant>(value.getOperand(i));
    const auto* record = dyn_cast<StructType>(value.getType());
    const uint64_t offset =
        record ? layout.getStructLayout(const_cast<StructType*>(record))->getElementOffset(i).getFixedValue()
               : i * layout.getTypeAllocSize(part->getType()).getFixedValue();
    store_parts(builder, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), to, offset), *part, layout);
  }
}

/// `float* tiles[2] = {a, b};` of shared arrays: clang copies the array from a constant of the module. Addresses in a
/// block's arena are no constants here, so each function that uses it makes it, part by part.
void materialise_where_used(GlobalVariable& constant) {
  convertUsersOfConstantsToInstructions({&constant});
  std::map<Function*, Value*> made;
  for (Use& use : make_early_inc_range(constant.uses())) {
    Function* function = cast<Instruction>(use.getUser())->getFunction();
    Value*& copy = made[function];
    if (!copy) {
      IRBuilder<> builder(&*function->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
      AllocaInst* local = builder.CreateAlloca(constant.getValueType());
      local->setAlignment(std::max(local->getAlign(), constant.getAlign().valueOrOne()));
      store_parts(builder, local, *constant.getInitializer(), constant.getDataLayout());
      copy = builder.CreatePointerBitCastOrAddrSpaceCast(local, constant.getType());
    }
    use.set(copy);
  }
  constant.eraseFromParent();
}

}  // namespace

Status place_shared_variables(DeviceModule& device) {
  Module& module = *device.module;
  const DataLayout& layout = module.getDataLayout();
  std::vector<GlobalVariable*> shared;
  for (GlobalVariable& global : module.globals())
    if (global.getAddressSpace() == kSharedSpace) shared.push_back(&global);
  if (shared.empty()) return done();

  SetVector<GlobalVariable*> referring;
  for (GlobalVariable* global : shared) find_referring_variables(*global, referring);
  for (GlobalVariable* variable : referring)
    if (variable->isConstant() && variable->hasLocalLinkage() &&
        none_of(variable->users(), [](User* user) { return isa<GlobalVariable>(user); }))
      materialise_where_used(*variable);

  SmallVector<Constant*, 8> constants(shared.begin(), shared.end());
  convertUsersOfConstantsToInstructions(constants);
  std::vector<SetVector<Function*>> reach;
  for (Kernel& kernel : device.kernels) reach.push_back(reachable_from(kernel.body));

  std::map<GlobalVariable*, std::set<size_t>> kernels_of;
  for (GlobalVariable* global : shared)
    for (User* user : global->users()) {
      auto* instruction = dyn_cast<Instruction>(user);
      if (!instruction)
        return refused("the address of __shared__ variable " + readable_name(global->getName()) +
                       " in another variable's initialiser");
      for (size_t k = 0; k < reach.size(); ++k)
        if (reach[k].contains(instruction->getFunction())) kernels_of[global].insert(k);
    }

  std::map<GlobalVariable*, Placement> placed;
  for (GlobalVariable* global : shared) {
    if (is_dynamic(*global)) continue;
    const uint64_t size = layout.getTypeAllocSize(global->getValueType()).getFixedValue();
    const Align align = std::max(global->getAlign().valueOrOne(), layout.getABITypeAlign(global->getValueType()));
    uint64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [other, at] : placed) {
        bool together = false;
        for (size_t k : kernels_of[global]) together |= kernels_of[other].contains(k);
        if (!together || offset >= at.offset + at.size || at.offset >= offset + size) continue;
        offset = alignTo(at.offset + at.size, align);
        moved = true;
      }
    }
    placed[global] = {offset, size};
    for (size_t k : kernels_of[global])
      device.kernels[k].static_shared_bytes = std::max(device.kernels[k].static_shared_bytes, offset + size);
  }

  for (GlobalVariable* global : shared) {
    const Placement at = is_dynamic(*global) ? Placement{0, 0} : placed[global];
    SharedVariable& variable = device.shared.emplace_back();
    variable.name = name_in_source(*global), variable.dynamic = is_dynamic(*global);
    variable.offset = at.offset, variable.bytes = at.size;
    for (size_t k : kernels_of[global]) variable.kernels.push_back(device.kernels[k].name);
  }

  Type* pointer = PointerType::get(module.getContext(), kSharedSpace);
  Type* i64 = Type::getInt64Ty(module.getContext());
  FunctionCallee at_offset = module.getOrInsertFunction("shared.offset", pointer, i64);
  FunctionCallee dynamic = module.getOrInsertFunction("shared.dynamic", pointer);
  for (GlobalVariable* global : shared) {
    std::map<Function*, Instruction*> address;  // One per function, at its entry.
    for (Use& use : make_early_inc_range(global->uses())) {
      Function* function = cast<Instruction>(use.getUser())->getFunction();
      Instruction*& value = address[function];
      if (!value) {
        IRBuilder<> builder(&function->getEntryBlock(), function->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
        value = is_dynamic(*global) ? builder.CreateCall(dynamic)
                                    : builder.CreateCall(at_offset, {builder.getInt64(placed[global].offset)});
      }
      use.set(value);
    }
    global->eraseFromParent();
  }
  return done();
}

}  // namespace kernelift::cpu
