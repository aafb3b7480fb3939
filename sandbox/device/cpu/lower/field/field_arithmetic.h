// Emits arithmetic modulo p (prime_field.h) as IR on 64-bit integers.
#pragma once
#include "cmake/headers/llvm.h"

namespace kernelift::cpu {

class FieldArithmetic {
 public:
  explicit FieldArithmetic(llvm::IRBuilderBase& builder) : builder_(builder) {}

  llvm::Value* add(llvm::Value* a, llvm::Value* b);
  llvm::Value* negative(llvm::Value* a);
  llvm::Value* subtract(llvm::Value* a, llvm::Value* b) { return add(a, negative(b)); }
  llvm::Value* multiply(llvm::Value* a, llvm::Value* b);
  /// Of an integer of at most 64 bits.
  llvm::Value* of_integer(llvm::Value* integer, bool is_signed);
  llvm::Value* number(uint64_t residue) { return builder_.getInt64(residue); }

 private:
  llvm::Value* reduced(llvm::Value* word);

  llvm::IRBuilderBase& builder_;
};

}  // namespace kernelift::cpu
