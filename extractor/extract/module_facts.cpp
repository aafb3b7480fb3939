// See module_facts.h.
#include "extractor/extract/module_facts.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>

#include "core/model/element_layout.h"
#include "core/model/kernel_key.h"

namespace kernelift::extractor {
namespace {

constexpr unsigned kSharedAddressSpace = 3;

/// The one scalar type that `type` is made of; nullopt for a mixture, "" for nothing at all.
std::optional<std::string> scalar_of(const llvm::Type* type) {
  if (type->isFloatTy()) return "float";
  if (type->isDoubleTy()) return "double";
  if (type->isHalfTy()) return "__half";
  if (type->isBFloatTy()) return "__nv_bfloat16";
  if (type->isPointerTy()) return "pointer";
  if (auto* integer = llvm::dyn_cast<llvm::IntegerType>(type)) {
    switch (integer->getBitWidth()) {
      case 8: return "char";
      case 16: return "short";
      case 32: return "int";
      case 64: return "long";
      default: return std::nullopt;
    }
  }
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) return scalar_of(array->getElementType());
  if (auto* vector = llvm::dyn_cast<llvm::VectorType>(type)) return scalar_of(vector->getElementType());
  auto* structure = llvm::dyn_cast<llvm::StructType>(type);
  if (!structure || structure->isOpaque()) return std::nullopt;
  std::string common;
  for (auto* field : structure->elements()) {
    auto scalar = scalar_of(field);
    if (!scalar || (!common.empty() && !scalar->empty() && *scalar != common)) return std::nullopt;
    if (!scalar->empty()) common = *scalar;
  }
  return common;
}

/// Adds the scalars that `type` is made of, from `offset` on. False: they are too many, or one has no spelling. A union
/// may hold anything, and is taken for bytes.
bool lanes_of(llvm::Type* type, const llvm::DataLayout& layout, uint64_t offset, std::vector<SpelledLane>& lanes) {
  constexpr size_t kMostLanes = 256;
  if (lanes.size() >= kMostLanes) return false;
  auto whole = [&](uint64_t bytes) {
    for (uint64_t at = 0; at < bytes && lanes.size() < kMostLanes; ++at)
      lanes.emplace_back(offset + at, "unsigned char");
    return lanes.size() < kMostLanes;
  };
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
    if (structure->isOpaque()) return false;
    if (structure->hasName() && structure->getName().starts_with("union."))
      return whole(layout.getTypeAllocSize(type).getFixedValue());
    const llvm::StructLayout* places = layout.getStructLayout(structure);
    for (unsigned i = 0; i < structure->getNumElements(); ++i)
      if (!lanes_of(structure->getElementType(i), layout, offset + places->getElementOffset(i).getFixedValue(), lanes))
        return false;
    return true;
  }
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
    uint64_t size = layout.getTypeAllocSize(array->getElementType()).getFixedValue();
    for (uint64_t i = 0; i < array->getNumElements(); ++i)
      if (!lanes_of(array->getElementType(), layout, offset + i * size, lanes)) return false;
    return true;
  }
  if (type->isVectorTy()) return false;
  auto scalar = scalar_of(type);
  if (!scalar || scalar->empty()) return false;
  lanes.emplace_back(offset, *scalar == "pointer" ? "unsigned long" : *scalar);
  return true;
}

/// The element of an array of it, or a variable of that type.
std::string element_of_type(llvm::Type* type, const llvm::DataLayout& layout) {
  if (auto scalar = scalar_of(type)) return scalar->empty() ? "byte" : *scalar;
  std::vector<SpelledLane> lanes;
  if (!type->isSized() || !lanes_of(type, layout, 0, lanes)) return "byte";
  std::string text = spelled_element(std::move(lanes), layout.getTypeAllocSize(type).getFixedValue());
  return text.starts_with("{") ? text : "byte";
}

/// False where there are too many to list, or a union makes it unknowable.
bool pointers_in(llvm::Type* type, const llvm::DataLayout& layout, uint64_t offset, std::vector<uint32_t>& found) {
  constexpr size_t kMost = 4096;
  if (type->isPointerTy()) found.push_back(static_cast<uint32_t>(offset));
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
    if (structure->isOpaque() || (structure->hasName() && structure->getName().starts_with("union."))) return false;
    const llvm::StructLayout* places = layout.getStructLayout(structure);
    for (unsigned i = 0; i < structure->getNumElements(); ++i)
      if (!pointers_in(structure->getElementType(i), layout, offset + places->getElementOffset(i).getFixedValue(),
                       found))
        return false;
  }
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
    uint64_t size = layout.getTypeAllocSize(array->getElementType()).getFixedValue();
    size_t before = found.size();
    for (uint64_t i = 0; i < array->getNumElements(); ++i) {
      if (!pointers_in(array->getElementType(), layout, offset + i * size, found)) return false;
      if (found.size() == before) break;  // The first element tells for all.
    }
  }
  return found.size() <= kMost;
}

/// What every device program finds defined: intrinsics, libdevice, the device runtime, our own hooks.
bool is_given(const llvm::GlobalObject& object) {
  llvm::StringRef name = object.getName();
  if (object.getAddressSpace() == kSharedAddressSpace) return true;  // extern __shared__
  if (object.hasExternalWeakLinkage()) return true;                  // blockIdx and its like, as clang declares them
  for (const char* own : {"llvm.", "__nv", "__kl_", "__assert"})
    if (name.starts_with(own)) return true;
  // The device runtime's are cudaLaunchDevice and the like; an application's own are mangled or spelled otherwise.
  const bool of_runtime = name.starts_with("cuda") && name.size() > 4 && llvm::isUpper(name[4]);
  return of_runtime || name == "vprintf" || name == "malloc" || name == "free" || name.starts_with("_Znwm") ||
         name.starts_with("_ZdlPv");
}

/// Does an initial value hold the address of a function?
bool holds_code(const llvm::Value* value) {
  if (llvm::isa<llvm::Function>(value)) return true;
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (!constant || llvm::isa<llvm::GlobalVariable>(constant)) return false;
  return std::any_of(constant->op_begin(), constant->op_end(), [](auto& operand) { return holds_code(operand.get()); });
}

PointerLayout pointers_of(llvm::Type* type, const llvm::DataLayout& layout) {
  PointerLayout pointers;
  if (!type->isSized() || !pointers_in(type, layout, 0, pointers.offsets)) return {};
  pointers.size = layout.getTypeAllocSize(type).getFixedValue();
  return pointers;
}

}  // namespace

Result<ModuleFacts> module_facts(const std::string& slice, const std::string& kernel, const FrontendOptions& options) {
  llvm::LLVMContext context;
  KERNELIFT_ASSIGN(Compiled compiled, compile_to_device_ir(context, slice, options));
  ModuleFacts facts;
  for (auto& variable : compiled.module->globals()) {
    if (variable.getAddressSpace() == kSharedAddressSpace || variable.getName().starts_with("llvm.")) continue;
    // A constant without members (a tag: std::integral_constant) holds nothing that could be recorded or set.
    if (variable.isConstant() && variable.hasInitializer() && llvm::isa<llvm::UndefValue>(variable.getInitializer()))
      continue;
    facts.variables[canonical_key(variable.getName().str())] = {
        variable.getName().str(), element_of_type(variable.getValueType(), compiled.module->getDataLayout()),
        pointers_of(variable.getValueType(), compiled.module->getDataLayout()),
        variable.hasInitializer() && holds_code(variable.getInitializer()), variable.isConstant()};
  }
  for (auto& object : compiled.module->global_objects())
    if (object.isDeclaration() && !object.use_empty() && !is_given(object))
      facts.undefined.push_back(canonical_key(object.getName().str()));
  if (auto* function = compiled.module->getFunction(kernel); function && !function->isDeclaration())
    facts.waits = waits_of(*compiled.module, *function);
  return facts;
}

}  // namespace kernelift::extractor
