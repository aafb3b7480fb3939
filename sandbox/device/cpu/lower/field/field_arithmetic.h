// Emits the arithmetic of the numbers beside floats, as IR on 64-bit integers: modulo p (prime_field.h), in doubles of
// 61 bits (real_number.h), or of bounds of rounding errors in such doubles.
#pragma once
#include "cmake/headers/llvm.h"
#include "core/model/launch/field_run.h"

namespace kernelift::cpu {

/// A float and the number beside it.
struct Numbered {
  llvm::Value *number, *value;
};

class FieldArithmetic {
 public:
  FieldArithmetic(llvm::IRBuilderBase& builder, NumberKind kind) : builder_(builder), kind_(kind) {}

  bool is_real() const { return kind_ != NumberKind::Residues; }
  bool bounds_errors() const { return kind_ == NumberKind::ErrorBounds; }
  // `result`: the float that the kernel computes there; only bounds of errors ask for it.
  llvm::Value* add(Numbered a, Numbered b, llvm::Value* result);
  llvm::Value* subtract(Numbered a, Numbered b, llvm::Value* result);
  llvm::Value* multiply(Numbered a, Numbered b, llvm::Value* result);
  /// a * b + c, rounded once.
  llvm::Value* multiply_add(Numbered a, Numbered b, Numbered c, llvm::Value* result);
  llvm::Value* negative(llvm::Value* a);
  /// A conversion to a type that may be narrower.
  llvm::Value* converted(llvm::Value* a, llvm::Value* result);
  /// Of an integer of at most 64 bits, that becomes the float `result`.
  llvm::Value* of_integer(llvm::Value* integer, bool is_signed, llvm::Value* result);
  llvm::Value* residue(uint64_t residue) { return builder_.getInt64(residue); }

  // Of numbers that are no residues.
  llvm::Value* divide(Numbered a, Numbered b, llvm::Value* result);
  llvm::Value* root(Numbered a, llvm::Value* result);
  llvm::Value* reciprocal_root(Numbered a, llvm::Value* result);
  /// Of a float that is taken as it is.
  llvm::Value* of_value(llvm::Value* value);
  /// Of a minimum or maximum of two floats: `chosen` is the number of the one that it is.
  llvm::Value* of_either(llvm::Value* a, llvm::Value* b, llvm::Value* chosen);
  /// Of a function's result: it is taken as it is, its rounding included.
  llvm::Value* of_function(llvm::Value* result);

 private:
  llvm::Value* reduced(llvm::Value* word);
  llvm::Value* sum(llvm::Value* a, llvm::Value* b);
  llvm::Value* product(llvm::Value* a, llvm::Value* b);
  llvm::Value* packed(llvm::Value* real);
  llvm::Value* unpacked(llvm::Value* number);
  llvm::Value* real(llvm::Value* value);
  llvm::Value* size(llvm::Value* value);
  /// An ulp of `result`.
  llvm::Value* rounding(llvm::Value* result);
  /// |a| e_b + |b| e_a + e_a e_b.
  llvm::Value* error_of_product(Numbered a, Numbered b);

  llvm::IRBuilderBase& builder_;
  NumberKind kind_;
};

}  // namespace kernelift::cpu
