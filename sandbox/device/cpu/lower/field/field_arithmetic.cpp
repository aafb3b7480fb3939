// See field_arithmetic.h. An error bound grows with each operation by an ulp of its result, which is twice what
// rounding to nearest may do: that covers directed roundings and the rounding of the bounds themselves.
#include "sandbox/device/cpu/lower/field/field_arithmetic.h"

#include "sandbox/device/cpu/prime_field.h"
#include "sandbox/device/cpu/real_number.h"

namespace kernelift::cpu {

using namespace llvm;
using prime_field::kBits;
using prime_field::kPrime;

/// As prime_field::residue().
Value* FieldArithmetic::reduced(Value* word) {
  Value* sum = builder_.CreateAdd(builder_.CreateAnd(word, residue(kPrime)), builder_.CreateLShr(word, kBits));
  return builder_.CreateSelect(builder_.CreateICmpUGE(sum, residue(kPrime)), builder_.CreateSub(sum, residue(kPrime)),
                               sum);
}

Value* FieldArithmetic::sum(Value* a, Value* b) {
  Value* sum = builder_.CreateAdd(a, b);
  return builder_.CreateSelect(builder_.CreateICmpUGE(sum, residue(kPrime)), builder_.CreateSub(sum, residue(kPrime)),
                               sum);
}

Value* FieldArithmetic::product(Value* a, Value* b) {
  Type* wide = builder_.getInt128Ty();
  Value* product = builder_.CreateMul(builder_.CreateZExt(a, wide), builder_.CreateZExt(b, wide));
  Value* low = builder_.CreateAnd(builder_.CreateTrunc(product, builder_.getInt64Ty()), residue(kPrime));
  Value* high = builder_.CreateTrunc(builder_.CreateLShr(product, kBits), builder_.getInt64Ty());
  return sum(low, high);
}

Value* FieldArithmetic::packed(Value* real) {
  Value* bits = builder_.CreateBitCast(real, builder_.getInt64Ty());
  return builder_.CreateLShr(builder_.CreateAdd(bits, residue(real_number::kHalf)), real_number::kDropped);
}

Value* FieldArithmetic::unpacked(Value* number) {
  return builder_.CreateBitCast(builder_.CreateShl(number, real_number::kDropped), builder_.getDoubleTy());
}

Value* FieldArithmetic::real(Value* value) { return builder_.CreateFPExt(value, builder_.getDoubleTy()); }

Value* FieldArithmetic::size(Value* value) { return builder_.CreateUnaryIntrinsic(Intrinsic::fabs, real(value)); }

Value* FieldArithmetic::rounding(Value* result) {
  const double ulp = result->getType()->isDoubleTy() ? 0x1p-52 : 0x1p-23;
  return builder_.CreateFMul(size(result), ConstantFP::get(builder_.getDoubleTy(), ulp));
}

Value* FieldArithmetic::error_of_product(Numbered a, Numbered b) {
  Value *of_a = unpacked(a.number), *of_b = unpacked(b.number);
  Value* by_b = builder_.CreateFMul(builder_.CreateFAdd(size(a.value), of_a), of_b);
  return builder_.CreateFAdd(by_b, builder_.CreateFMul(size(b.value), of_a));
}

Value* FieldArithmetic::add(Numbered a, Numbered b, Value* result) {
  if (!is_real()) return sum(a.number, b.number);
  Value* made = builder_.CreateFAdd(unpacked(a.number), unpacked(b.number));
  return packed(bounds_errors() ? builder_.CreateFAdd(made, rounding(result)) : made);
}

Value* FieldArithmetic::subtract(Numbered a, Numbered b, Value* result) {
  return add(a, {negative(b.number), b.value}, result);
}

Value* FieldArithmetic::multiply(Numbered a, Numbered b, Value* result) {
  if (!is_real()) return product(a.number, b.number);
  if (bounds_errors()) return packed(builder_.CreateFAdd(error_of_product(a, b), rounding(result)));
  return packed(builder_.CreateFMul(unpacked(a.number), unpacked(b.number)));
}

Value* FieldArithmetic::multiply_add(Numbered a, Numbered b, Numbered c, Value* result) {
  if (!is_real()) return sum(product(a.number, b.number), c.number);
  Value* made = bounds_errors() ? error_of_product(a, b) : builder_.CreateFMul(unpacked(a.number), unpacked(b.number));
  made = builder_.CreateFAdd(made, unpacked(c.number));
  return packed(bounds_errors() ? builder_.CreateFAdd(made, rounding(result)) : made);
}

Value* FieldArithmetic::negative(Value* a) {
  if (bounds_errors()) return a;
  if (is_real()) return packed(builder_.CreateFNeg(unpacked(a)));
  return builder_.CreateSelect(builder_.CreateIsNull(a), a, builder_.CreateSub(residue(kPrime), a));
}

Value* FieldArithmetic::converted(Value* a, Value* result) {
  return bounds_errors() ? packed(builder_.CreateFAdd(unpacked(a), rounding(result))) : a;
}

Value* FieldArithmetic::of_integer(Value* integer, bool is_signed, Value* result) {
  if (bounds_errors()) return packed(rounding(result));
  Type* word = builder_.getInt64Ty();
  if (is_real())
    return packed(is_signed ? builder_.CreateSIToFP(integer, builder_.getDoubleTy())
                            : builder_.CreateUIToFP(integer, builder_.getDoubleTy()));
  if (!is_signed) return reduced(builder_.CreateZExtOrTrunc(integer, word));
  Value* value = builder_.CreateSExtOrTrunc(integer, word);
  Value* size = builder_.CreateBinaryIntrinsic(Intrinsic::umin, value, builder_.CreateNeg(value));  // Its absolute.
  Value* number = reduced(size);
  return builder_.CreateSelect(builder_.CreateICmpSLT(value, builder_.getInt64(0)), negative(number), number);
}

Value* FieldArithmetic::divide(Numbered a, Numbered b, Value* result) {
  Value *of_a = unpacked(a.number), *of_b = unpacked(b.number);
  if (!bounds_errors()) return packed(builder_.CreateFDiv(of_a, of_b));
  // (e_a + |a / b| e_b) / (|b| - e_b); nothing is known where b may be zero.
  Value* above = builder_.CreateFAdd(of_a, builder_.CreateFMul(size(result), of_b));
  Value* below =
      builder_.CreateMaxNum(builder_.CreateFSub(size(b.value), of_b), real(ConstantFP::get(b.value->getType(), 0)));
  return packed(builder_.CreateFAdd(builder_.CreateFDiv(above, below), rounding(result)));
}

Value* FieldArithmetic::root(Numbered a, Value* result) {
  Value* of_a = unpacked(a.number);
  if (!bounds_errors()) return packed(builder_.CreateUnaryIntrinsic(Intrinsic::sqrt, of_a));
  // The difference of two roots is at most that of the squares, over one of the roots.
  return packed(builder_.CreateFAdd(builder_.CreateFDiv(of_a, size(result)), rounding(result)));
}

Value* FieldArithmetic::reciprocal_root(Numbered a, Value* result) {
  Value* of_a = unpacked(a.number);
  if (!bounds_errors())
    return packed(builder_.CreateFDiv(ConstantFP::get(builder_.getDoubleTy(), 1),
                                      builder_.CreateUnaryIntrinsic(Intrinsic::sqrt, of_a)));
  Value* share = builder_.CreateFDiv(of_a, size(a.value));
  return packed(builder_.CreateFAdd(builder_.CreateFMul(share, size(result)), rounding(result)));
}

Value* FieldArithmetic::of_value(Value* value) { return bounds_errors() ? residue(0) : packed(real(value)); }

Value* FieldArithmetic::of_either(Value* a, Value* b, Value* chosen) {
  return bounds_errors() ? builder_.CreateBinaryIntrinsic(Intrinsic::umax, a, b) : chosen;
}

Value* FieldArithmetic::of_function(Value* result) {
  return bounds_errors() ? packed(rounding(result)) : packed(real(result));
}

}  // namespace kernelift::cpu
