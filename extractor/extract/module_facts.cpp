// See module_facts.h.
#include "extractor/extract/module_facts.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <optional>

#include "core/model/kernel_key.h"

namespace kernelift {
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

}  // namespace

Result<ModuleFacts> module_facts(const std::string& slice, const FrontendOptions& options) {
  llvm::LLVMContext context;
  KERNELIFT_ASSIGN(Compiled compiled, compile_to_device_ir(context, slice, options));
  ModuleFacts facts;
  for (auto& variable : compiled.module->globals()) {
    if (variable.getAddressSpace() == kSharedAddressSpace || variable.getName().starts_with("llvm.")) continue;
    auto scalar = scalar_of(variable.getValueType());
    facts.variables[canonical_key(variable.getName().str())] = {variable.getName().str(),
                                                                scalar && !scalar->empty() ? *scalar : "byte"};
  }
  for (auto* structure : compiled.module->getIdentifiedStructTypes()) {
    llvm::StringRef name = structure->getName();
    auto scalar = scalar_of(structure);
    // A pointer inside makes it a structure to follow, not a row of numbers.
    if (!scalar || scalar->empty() || *scalar == "pointer") continue;
    if (name.consume_front("struct.") || name.consume_front("class.")) facts.structs[name.str()] = *scalar;
  }
  return facts;
}

}  // namespace kernelift
