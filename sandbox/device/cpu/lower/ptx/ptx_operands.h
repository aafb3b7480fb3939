// Operands of one inline assembly call: its $N, declared registers, immediates, special registers and addresses, read
// and written as typed IR values while statements are translated.
#pragma once
#include <optional>

#include "sandbox/device/cpu/lower/module/device_module.h"
#include "sandbox/device/cpu/lower/ptx/ptx_text.h"

namespace kernelift::cpu {

/// The IR type of a PTX type suffix ("u32", "f16x2", "pred"), nullptr if it is none.
llvm::Type* ptx_type(llvm::LLVMContext&, llvm::StringRef suffix);

class PtxOperands {
 public:
  PtxOperands(llvm::CallInst& call, const PtxText& text);

  /// nullptr (and problem()) if the operand is not understood. Vectors in braces are packed into `type`.
  llvm::Value* read(llvm::IRBuilderBase&, llvm::StringRef operand, llvm::Type* type);
  /// Into a wider register a signed integer goes with its sign.
  bool write(llvm::IRBuilderBase&, llvm::StringRef operand, llvm::Value* value, bool is_signed = false);
  /// Address of "[reg+offset]" in a state space ("global", "shared", "" for generic).
  llvm::Value* address(llvm::IRBuilderBase&, llvm::StringRef operand, llvm::StringRef space);
  llvm::Value* shared_base(llvm::IRBuilderBase&);

  /// The call's value, once all statements are translated; nullptr for a call without one.
  llvm::Value* result(llvm::IRBuilderBase&);
  const std::string& problem() const { return problem_; }

  /// Registers as they stand, to be merged after a guarded statement.
  std::map<std::string, llvm::Value*>& registers() { return values_; }

 private:
  llvm::Value* coerce(llvm::IRBuilderBase&, llvm::Value* value, llvm::Type* type);
  llvm::Value* immediate(llvm::StringRef text, llvm::Type* type);
  /// Of "{a,b}", which stand for equal shares of `bits`; empty (and problem()) if they cannot.
  llvm::SmallVector<llvm::StringRef, 4> parts_of(llvm::StringRef operand, unsigned bits);
  std::string canonical(llvm::StringRef operand) const;

  llvm::CallInst& call_;
  std::map<std::string, llvm::Value*> values_;  ///< Registers and operands that have a value.
  std::map<std::string, llvm::Type*> types_;
  unsigned outputs_ = 0;
  std::string problem_;
};

}  // namespace kernelift::cpu
