// See whole_code.h. The code is hashed as LLVM prints it; what is printed by a number or name alone is added itself.
#include "core/compiler/model/whole_code.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ModuleSlotTracker.h>
#include <llvm/Support/raw_ostream.h>

#include <set>

#include "core/base/hash.h"

namespace kernelift {
namespace {

constexpr int kDeepestNote = 20;  ///< Nesting.

class Writer {
 public:
  explicit Writer(llvm::Function& kernel) : kernel_(kernel), slots_(kernel.getParent(), false) {}

  std::string hash(const std::optional<Dim3>& block) {
    add_signature(block);
    for (auto& one : llvm::instructions(kernel_))
      if (!add_notes(one)) return "";
    for (auto& argument : kernel_.args()) argument.setName("");
    for (auto& one : kernel_) one.setName("");
    for (auto& one : llvm::instructions(kernel_)) one.setName("");
    slots_.incorporateFunction(kernel_);
    for (auto& one : kernel_) {
      one.printAsOperand(stream_ << "\nblock ", false, slots_);
      for (auto& instruction : one) {
        instruction.print(stream_ << '\n', slots_);
        if (!add_uses(instruction)) return "";
      }
    }
    return hash_text(text_).hex();
  }

 private:
  void add_signature(const std::optional<Dim3>& block) {
    for (auto& argument : kernel_.args()) {
      add_type(argument.getType());
      if (auto* type = argument.getParamByValType()) add_type(type);
      auto attributes = kernel_.getAttributes().getParamAttrs(argument.getArgNo());
      attributes = attributes.removeAttribute(kernel_.getContext(), llvm::Attribute::NoAlias);
      stream_ << attributes.getAsString() << '\n';
    }
    for (auto attribute : kernel_.getAttributes().getFnAttrs()) {
      // Registers and residence; but a block with more threads is not launched at all.
      if (attribute.isStringAttribute()) {
        const auto kind = attribute.getKindAsString();
        if (kind == "nvvm.minctasm" || kind == "nvvm.maxnreg") continue;
        if (kind == "nvvm.maxntid" && is_within(block, attribute.getValueAsString())) continue;
      }
      stream_ << attribute.getAsString() << '\n';
    }
  }

  /// `bounds`: "256", "16,16,1". Their product counts.
  static bool is_within(const std::optional<Dim3>& block, llvm::StringRef bounds) {
    uint64_t most = 1, bound = 0;
    for (; !bounds.empty(); bounds.consume_front(",")) {
      if (bounds.consumeInteger(10, bound)) return false;
      most *= bound;
    }
    return block && uint64_t(block->x) * block->y * block->z <= most;
  }

  /// What hangs on an instruction and is printed as a number.
  bool add_notes(llvm::Instruction& instruction) {
    instruction.dropDbgRecords();
    llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>> notes;
    instruction.getAllMetadata(notes);
    for (auto& [kind, note] : notes) {
      instruction.setMetadata(kind, nullptr);
      if (kind == llvm::LLVMContext::MD_dbg || kind == llvm::LLVMContext::MD_loop ||
          kind == llvm::LLVMContext::MD_nontemporal || instruction.getContext().getMDKindID("srcloc") == kind)
        continue;
      stream_ << "note " << kind;
      if (!add_note(*note, kDeepestNote)) return false;
      stream_ << '\n';
    }
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      call->getAttributes().print(stream_);
      for (unsigned i = 0; i < call->arg_size(); ++i)
        for (auto* type : {call->getParamByValType(i), call->getParamStructRetType(i)})
          if (type) add_type(type);
      call->setAttributes({});
    }
    return true;
  }

  /// Types of accesses are trees of names and numbers. False: it is something else.
  bool add_note(const llvm::Metadata& note, int deepest) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantAsMetadata>(&note)) {
      constant->getValue()->print(stream_ << ' ');
      return true;
    }
    if (auto* word = llvm::dyn_cast<llvm::MDString>(&note)) {
      stream_ << " \"" << word->getLength() << ' ' << word->getString() << '"';
      return true;
    }
    auto* node = llvm::dyn_cast<llvm::MDNode>(&note);
    if (!node || deepest == 0) return false;
    stream_ << " (";
    for (auto& operand : node->operands())
      if (!operand || !add_note(*operand, deepest - 1)) return false;
    stream_ << ')';
    return true;
  }

  bool add_uses(llvm::Instruction& instruction) {
    add_type(instruction.getType());
    if (auto* place = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) add_type(place->getSourceElementType());
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) add_type(variable->getAllocatedType());
    for (auto& operand : instruction.operands()) {
      add_type(operand->getType());
      if (auto* constant = llvm::dyn_cast<llvm::Constant>(operand.get()); constant && !add_constant(*constant))
        return false;
    }
    return true;
  }

  /// A structure is printed by its name.
  void add_type(llvm::Type* type) {
    if (!types_.insert(type).second) return;
    if (llvm::isa<llvm::StructType>(type)) type->print(stream_ << "\ntype ", /*IsForDebug=*/false, /*NoDetails=*/false);
    for (auto* part : type->subtypes()) add_type(part);
  }

  /// A variable is printed by its name, and so is a function; false: it has a body.
  bool add_constant(llvm::Constant& constant) {
    if (!constants_.insert(&constant).second) return true;
    add_type(constant.getType());
    if (auto* place = llvm::dyn_cast<llvm::GEPOperator>(&constant)) add_type(place->getSourceElementType());
    if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&constant)) {
      add_type(variable->getValueType());
      stream_ << "\nvariable " << variable->getName() << ' ' << variable->getLinkage() << ' '
              << variable->getAddressSpace() << ' ' << variable->isConstant() << variable->isExternallyInitialized()
              << ' ' << variable->getAlign().valueOrOne().value() << ' ' << *variable->getValueType();
      if (variable->hasInitializer()) variable->getInitializer()->printAsOperand(stream_ << " = ", true, slots_);
    } else if (auto* function = llvm::dyn_cast<llvm::Function>(&constant)) {
      return function->isDeclaration();
    } else if (llvm::isa<llvm::GlobalValue>(constant)) {
      return false;
    }
    for (auto& operand : constant.operands())
      if (auto* part = llvm::dyn_cast<llvm::Constant>(operand.get()); part && !add_constant(*part)) return false;
    return true;
  }

  llvm::Function& kernel_;
  llvm::ModuleSlotTracker slots_;
  std::string text_;
  llvm::raw_string_ostream stream_{text_};
  std::set<llvm::Type*> types_;
  std::set<llvm::Constant*> constants_;
};

}  // namespace

std::string whole_code(llvm::Function& kernel, const std::optional<Dim3>& block) { return Writer(kernel).hash(block); }

}  // namespace kernelift
