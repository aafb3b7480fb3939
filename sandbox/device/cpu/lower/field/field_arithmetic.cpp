// See field_arithmetic.h.
#include "sandbox/device/cpu/lower/field/field_arithmetic.h"

#include "sandbox/device/cpu/prime_field.h"

namespace kernelift::cpu {

using namespace llvm;
using prime_field::kBits;
using prime_field::kPrime;

/// As prime_field::residue().
Value* FieldArithmetic::reduced(Value* word) {
  Value* sum = builder_.CreateAdd(builder_.CreateAnd(word, number(kPrime)), builder_.CreateLShr(word, kBits));
  return builder_.CreateSelect(builder_.CreateICmpUGE(sum, number(kPrime)), builder_.CreateSub(sum, number(kPrime)),
                               sum);
}

Value* FieldArithmetic::add(Value* a, Value* b) {
  Value* sum = builder_.CreateAdd(a, b);
  return builder_.CreateSelect(builder_.CreateICmpUGE(sum, number(kPrime)), builder_.CreateSub(sum, number(kPrime)),
                               sum);
}

Value* FieldArithmetic::negative(Value* a) {
  return builder_.CreateSelect(builder_.CreateIsNull(a), a, builder_.CreateSub(number(kPrime), a));
}

Value* FieldArithmetic::multiply(Value* a, Value* b) {
  Type* wide = builder_.getInt128Ty();
  Value* product = builder_.CreateMul(builder_.CreateZExt(a, wide), builder_.CreateZExt(b, wide));
  Value* low = builder_.CreateAnd(builder_.CreateTrunc(product, builder_.getInt64Ty()), number(kPrime));
  Value* high = builder_.CreateTrunc(builder_.CreateLShr(product, kBits), builder_.getInt64Ty());
  return add(low, high);
}

Value* FieldArithmetic::of_integer(Value* integer, bool is_signed) {
  Type* word = builder_.getInt64Ty();
  if (!is_signed) return reduced(builder_.CreateZExtOrTrunc(integer, word));
  Value* value = builder_.CreateSExtOrTrunc(integer, word);
  Value* size = builder_.CreateBinaryIntrinsic(Intrinsic::umin, value, builder_.CreateNeg(value));  // Its absolute.
  Value* number = reduced(size);
  return builder_.CreateSelect(builder_.CreateICmpSLT(value, builder_.getInt64(0)), negative(number), number);
}

}  // namespace kernelift::cpu
