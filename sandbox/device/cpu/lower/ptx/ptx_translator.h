// Translates the statements of one inline assembly call into IR in front of it. Each instruction is a few lines of IR;
// instructions that synchronise, or that LLVM has intrinsics for, become calls of the same nvvm.* functions that
// compiled CUDA uses. Branches, loops and calls in assembly are not translated.
#pragma once
#include "sandbox/device/cpu/lower/ptx/ptx_operands.h"

namespace kernelift::cpu {

class PtxTranslator {
 public:
  PtxTranslator(llvm::CallInst& call, const PtxText& text)
      : call_(call), text_(text), operands_(call, text), builder_(&call) {}

  /// The first statement that is not supported; nullptr if all are.
  const PtxStatement* run();
  /// What is wrong with that statement, where more is known than that its instruction is not supported.
  const std::string& problem() const { return operands_.problem(); }
  /// The call's value, once all statements are translated; nullptr for a call without one.
  llvm::Value* result() { return operands_.result(builder_); }

 private:
  /// A statement with its guard.
  bool translate(const PtxStatement& statement);
  /// A statement without its guard; from here on it is `now_`.
  bool emit(const PtxStatement& statement);

  // Access to the current statement.
  llvm::Type* type(const std::string& suffix) { return ptx_type(call_.getContext(), suffix); }
  llvm::Type* type() { return type(now_->type()); }
  llvm::Value* in(size_t index, llvm::Type* as);
  /// Writes operand 0.
  bool out(llvm::Value* value, bool with_sign = false);
  bool is_signed() { return now_->type()[0] == 's'; }
  bool floating() { return type()->isFPOrFPVectorTy(); }
  bool integral() { return type() && type()->isIntegerTy(); }
  bool takes(size_t count) { return now_->operands.size() == count; }
  /// rn, rz, rm, rp among the opcode's parts; "" if none is named.
  std::string rounding();
  std::string suffix() { return type()->isDoubleTy() ? ".d" : ".f"; }
  llvm::Value* call(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments);

  // One rule for each group of instructions; false if the statement is not supported.
  bool nothing() { return true; }

  // ptx_arithmetic.cpp
  bool move();
  bool arithmetic();
  llvm::Value* float_arithmetic(const std::string& op, llvm::Value* a, llvm::Value* b);
  llvm::Value* integer_arithmetic(const std::string& op, llvm::Value* a, llvm::Value* b);
  llvm::Value* product(bool wide, bool high);
  bool multiply_add();
  bool logic();
  bool unary();
  bool bits();
  bool bit_mask();
  bool library();
  bool funnel();
  bool dot();
  llvm::Value* comparison(const std::string& how, llvm::Value* a, llvm::Value* b);
  bool compare();
  bool select();
  bool convert();
  bool approximate();
  bool copy_sign();

  // ptx_memory.cpp
  bool to_address();
  llvm::StringRef space();
  unsigned vector_width();
  bool ordered();
  bool is_atomic();
  llvm::Type* access_type();
  llvm::Align alignment(llvm::Type* access);
  bool load();
  bool store();
  bool atomic();
  bool copy();

  // ptx_textures.cpp
  struct Coordinates;
  bool coordinates(llvm::StringRef operand, llvm::Type* axis, Coordinates& at);
  bool fetch();
  bool gather();
  llvm::Type* surface_type();
  llvm::Value* surface_address(size_t operand, llvm::Type* access);
  bool surface_load();
  bool surface_store();

  // ptx_threads.cpp
  bool barrier();
  bool fence();
  bool shuffle();
  bool vote();
  bool reduce();
  bool match();
  bool end();
  bool sleep();

  llvm::CallInst& call_;
  const PtxText& text_;
  PtxOperands operands_;
  llvm::IRBuilder<> builder_;
  const PtxStatement* now_ = nullptr;  ///< The statement that is being translated.
};

}  // namespace kernelift::cpu
