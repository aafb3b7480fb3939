// Arithmetic of PTX: moves of values between types, integer and floating-point operations, bits, comparisons,
// conversions and approximate functions. Shifts, divisions and conversions are LLVM's plain ones here;
// undefined_arithmetic.cpp gives them PTX's results later, with all others of the module.
#include "sandbox/device/cpu/lower/ptx/ptx_translator.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "sandbox/device/cpu/lower/intrinsics.h"

namespace kernelift::cpu {

using namespace llvm;

bool PtxTranslator::move() { return takes(2) && type() && out(in(1, type())); }

bool PtxTranslator::arithmetic() {
  if (!takes(3) || !type() || !now_->plain() || (now_->has("sat") && !type()->isFloatTy())) return false;
  const std::string& op = now_->opcode[0];
  if (op == "mul" && !floating()) return out(product(now_->has("wide"), now_->has("hi")));
  Value *a = in(1, type()), *b = in(2, type());
  if (!a || !b) return false;
  Value* value = floating() ? float_arithmetic(op, a, b) : integer_arithmetic(op, a, b);
  if (value && now_->has("sat")) value = call("__nv_saturatef", type(), {value});
  return out(value);
}

Value* PtxTranslator::float_arithmetic(const std::string& op, Value* a, Value* b) {
  if (op == "min")
    return builder_.CreateBinaryIntrinsic(now_->has("NaN") ? Intrinsic::minimum : Intrinsic::minimumnum, a, b);
  if (op == "max")
    return builder_.CreateBinaryIntrinsic(now_->has("NaN") ? Intrinsic::maximum : Intrinsic::maximumnum, a, b);
  const std::string mode = rounding();
  if (!mode.empty() && mode != "rn") {
    if (!type()->isFloatTy() && !type()->isDoubleTy()) return nullptr;
    if (op == "sub") return call("nvvm.add." + mode + suffix(), type(), {a, builder_.CreateFNeg(b)});
    return call("nvvm." + op + "." + mode + suffix(), type(), {a, b});
  }
  if (op == "add") return builder_.CreateFAdd(a, b);
  if (op == "sub") return builder_.CreateFSub(a, b);
  if (op == "mul") return builder_.CreateFMul(a, b);
  return op == "div" ? builder_.CreateFDiv(a, b) : nullptr;
}

Value* PtxTranslator::integer_arithmetic(const std::string& op, Value* a, Value* b) {
  if (op == "add") return builder_.CreateAdd(a, b);
  if (op == "sub") return builder_.CreateSub(a, b);
  if (op == "div") return is_signed() ? builder_.CreateSDiv(a, b) : builder_.CreateUDiv(a, b);
  if (op == "rem") return is_signed() ? builder_.CreateSRem(a, b) : builder_.CreateURem(a, b);
  const bool smaller = op == "min";
  return builder_.CreateBinaryIntrinsic(is_signed() ? smaller ? Intrinsic::smin : Intrinsic::smax
                                        : smaller   ? Intrinsic::umin
                                                    : Intrinsic::umax,
                                        a, b);
}

Value* PtxTranslator::product(bool wide, bool high) {
  Value *a = in(1, type()), *b = in(2, type());
  if (!a || !b) return nullptr;
  if (!wide && !high) return builder_.CreateMul(a, b);
  Type* twice = builder_.getIntNTy(2 * type()->getIntegerBitWidth());
  auto widen = [&](Value* v) { return is_signed() ? builder_.CreateSExt(v, twice) : builder_.CreateZExt(v, twice); };
  Value* whole = builder_.CreateMul(widen(a), widen(b));
  return wide ? whole : builder_.CreateTrunc(builder_.CreateLShr(whole, type()->getIntegerBitWidth()), type());
}

bool PtxTranslator::multiply_add() {
  if (!takes(4) || !type() || !now_->plain() || now_->has("sat")) return false;
  if (!floating()) {
    Value* whole = product(now_->has("wide"), now_->has("hi"));
    Value* addend = whole ? in(3, whole->getType()) : nullptr;
    return addend && out(builder_.CreateAdd(whole, addend));
  }
  Value *a = in(1, type()), *b = in(2, type()), *c = in(3, type());
  if (!a || !b || !c) return false;
  const std::string mode = rounding();
  if (!mode.empty() && mode != "rn")
    return (type()->isFloatTy() || type()->isDoubleTy()) && out(call("nvvm.fma." + mode + suffix(), type(), {a, b, c}));
  return out(builder_.CreateIntrinsic(type(), Intrinsic::fma, {a, b, c}));
}

bool PtxTranslator::logic() {
  if (!takes(3) || !integral() || !now_->plain()) return false;
  const std::string& op = now_->opcode[0];
  Value* a = in(1, type());
  const bool shift = op == "shl" || op == "shr";
  Value* b = shift ? in(2, builder_.getInt32Ty()) : in(2, type());
  if (!a || !b) return false;
  if (op == "and") return out(builder_.CreateAnd(a, b));
  if (op == "or") return out(builder_.CreateOr(a, b));
  if (op == "xor") return out(builder_.CreateXor(a, b));
  b = builder_.CreateBinaryIntrinsic(Intrinsic::umin, b, builder_.getInt32(type()->getIntegerBitWidth()));
  b = builder_.CreateZExtOrTrunc(b, type());
  return out(op == "shl"   ? builder_.CreateShl(a, b)
             : is_signed() ? builder_.CreateAShr(a, b)
                           : builder_.CreateLShr(a, b));
}

bool PtxTranslator::unary() {
  if (!takes(2) || !type() || !now_->plain()) return false;
  Value* a = in(1, type());
  if (!a) return false;
  const std::string& op = now_->opcode[0];
  if (op == "not") return integral() && out(builder_.CreateNot(a));
  if (op == "neg") return out(floating() ? builder_.CreateFNeg(a) : builder_.CreateNeg(a));
  return out(floating() ? builder_.CreateUnaryIntrinsic(Intrinsic::fabs, a)
                        : builder_.CreateBinaryIntrinsic(Intrinsic::abs, a, builder_.getFalse()));
}

bool PtxTranslator::bits() {
  if (!takes(2) || !integral()) return false;
  Value* a = in(1, type());
  if (!a) return false;
  const std::string& op = now_->opcode[0];
  if (op == "brev") return out(builder_.CreateUnaryIntrinsic(Intrinsic::bitreverse, a));
  Value* count = op == "popc" ? builder_.CreateUnaryIntrinsic(Intrinsic::ctpop, a)
                              : builder_.CreateBinaryIntrinsic(Intrinsic::ctlz, a, builder_.getFalse());
  return out(builder_.CreateZExtOrTrunc(count, builder_.getInt32Ty()));
}

/// As many ones as operand 2 says, from the bit that operand 1 says.
bool PtxTranslator::bit_mask() {
  if (!takes(3)) return false;
  Value *from = in(1, builder_.getInt32Ty()), *count = in(2, builder_.getInt32Ty());
  if (!from || !count) return false;
  auto bounded = [&](Value* v) {
    v = now_->has("wrap") ? builder_.CreateAnd(v, 31)
                          : builder_.CreateBinaryIntrinsic(Intrinsic::umin, v, builder_.getInt32(32));
    return builder_.CreateZExt(v, builder_.getInt64Ty());
  };
  Value* ones = builder_.CreateSub(builder_.CreateShl(builder_.getInt64(1), bounded(count)), builder_.getInt64(1));
  return out(builder_.CreateTrunc(builder_.CreateShl(ones, bounded(from)), builder_.getInt32Ty()));
}

/// Instructions the device library has under their PTX name.
bool PtxTranslator::library() {
  const std::string& op = now_->opcode[0];
  Type* word = builder_.getInt32Ty();
  if (op == "prmt")
    return takes(4) && now_->opcode.size() == 2 &&
           out(call("__nvvm_prmt", word, {in(1, word), in(2, word), in(3, word)}));
  if (op == "lop3")
    return takes(5) && out(call("__nvvm_lop3", word, {in(1, word), in(2, word), in(3, word), in(4, word)}));
  if (op == "sad")
    return takes(4) && integral() && type()->isIntegerTy(32) &&
           out(call(is_signed() ? "__nv_sad" : "__nv_usad", word, {in(1, word), in(2, word), in(3, word)}));
  static const std::set<std::string> kTypes = {"bfe.u32", "bfe.s32", "bfe.u64", "bfi.b32", "bfi.b64"};
  if (!kTypes.contains(op + "." + now_->type())) return false;
  const std::string name = "__nvvm_" + op + "_" + now_->type();
  if (op == "bfe") return takes(4) && out(call(name, type(), {in(1, type()), in(2, word), in(3, word)}));
  return takes(5) && out(call(name, type(), {in(1, type()), in(2, type()), in(3, word), in(4, word)}));
}

bool PtxTranslator::funnel() {
  Type* word = builder_.getInt32Ty();
  Value *low = in(1, word), *high = in(2, word), *by = in(3, word);
  if (!takes(4) || !low || !high || !by) return false;
  const bool left = now_->has("l");
  if (now_->has("wrap"))
    return out(builder_.CreateIntrinsic(word, left ? Intrinsic::fshl : Intrinsic::fshr, {high, low, by}));
  return out(call(left ? "__nvvm_fshl_clamp_i32" : "__nvvm_fshr_clamp_i32", word, {high, low, by}));
}

bool PtxTranslator::dot() {
  Type* word = builder_.getInt32Ty();
  if (!takes(4) || now_->opcode.size() != 3) return false;
  const std::string name = std::string("__nvvm_idp4a_") + now_->opcode[1][0] + "_" + now_->opcode[2][0];
  return out(call(name, word, {in(1, word), in(2, word), in(3, word)}));
}

Value* PtxTranslator::comparison(const std::string& how, Value* a, Value* b) {
  // clang-format off
  static const std::map<std::string, std::array<CmpInst::Predicate, 3>> kHow = {
      {"eq", {CmpInst::FCMP_OEQ, CmpInst::ICMP_EQ, CmpInst::ICMP_EQ}}, {"ne", {CmpInst::FCMP_ONE, CmpInst::ICMP_NE, CmpInst::ICMP_NE}},
      {"lt", {CmpInst::FCMP_OLT, CmpInst::ICMP_SLT, CmpInst::ICMP_ULT}}, {"le", {CmpInst::FCMP_OLE, CmpInst::ICMP_SLE, CmpInst::ICMP_ULE}},
      {"gt", {CmpInst::FCMP_OGT, CmpInst::ICMP_SGT, CmpInst::ICMP_UGT}}, {"ge", {CmpInst::FCMP_OGE, CmpInst::ICMP_SGE, CmpInst::ICMP_UGE}},
      {"lo", {CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_ULT, CmpInst::ICMP_ULT}}, {"ls", {CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_ULE, CmpInst::ICMP_ULE}},
      {"hi", {CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_UGT, CmpInst::ICMP_UGT}}, {"hs", {CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_UGE, CmpInst::ICMP_UGE}},
      {"equ", {CmpInst::FCMP_UEQ}}, {"neu", {CmpInst::FCMP_UNE}}, {"ltu", {CmpInst::FCMP_ULT}}, {"leu", {CmpInst::FCMP_ULE}},
      {"gtu", {CmpInst::FCMP_UGT}}, {"geu", {CmpInst::FCMP_UGE}}, {"num", {CmpInst::FCMP_ORD}}, {"nan", {CmpInst::FCMP_UNO}}};
  // clang-format on
  auto known = kHow.find(how);
  if (known == kHow.end()) return nullptr;
  const CmpInst::Predicate predicate = known->second[floating() ? 0 : is_signed() ? 1 : 2];
  if (floating() ? !CmpInst::isFPPredicate(predicate) || predicate == CmpInst::BAD_FCMP_PREDICATE
                 : !CmpInst::isIntPredicate(predicate))
    return nullptr;
  return builder_.CreateCmp(predicate, a, b);
}

bool PtxTranslator::compare() {
  if (!takes(3) || now_->opcode.size() < 3 || !type() || type()->isVectorTy() ||
      StringRef(now_->operands[0]).contains('|'))
    return false;
  for (const char* combined : {"and", "or", "xor"})
    if (now_->has(combined)) return false;
  Value *a = in(1, type()), *b = in(2, type());
  return a && b && out(comparison(now_->opcode[1], a, b));
}

bool PtxTranslator::select() {
  if (!takes(4) || !type()) return false;
  Value *a = in(1, type()), *b = in(2, type()), *condition = in(3, builder_.getInt1Ty());
  return a && b && condition && out(builder_.CreateSelect(condition, a, b));
}

bool PtxTranslator::convert() {
  if (!takes(2) || now_->opcode.size() < 3) return false;
  const std::string& from_name = now_->opcode.back();
  const std::string& to_name = now_->opcode[now_->opcode.size() - 2];
  Type *from = type(from_name), *to = type(to_name);
  if (!from || !to || from->isVectorTy() || to->isVectorTy() || now_->has("relu") || now_->has("satfinite"))
    return false;
  Value* a = in(1, from);
  if (!a) return false;
  const bool from_signed = from_name[0] == 's', to_signed = to_name[0] == 's';
  if (!from->isFloatingPointTy() && !to->isFloatingPointTy())
    return !now_->has("sat") &&
           out(from_signed ? builder_.CreateSExtOrTrunc(a, to) : builder_.CreateZExtOrTrunc(a, to), to_signed);
  if (!from->isFloatingPointTy()) {
    if (now_->has("sat") || (rounding() != "rn" && !rounding().empty())) return false;
    return out(from_signed ? builder_.CreateSIToFP(a, to) : builder_.CreateUIToFP(a, to));
  }
  static const std::map<std::string, Intrinsic::ID> kWhole = {
      {"rni", Intrinsic::roundeven}, {"rzi", Intrinsic::trunc}, {"rmi", Intrinsic::floor}, {"rpi", Intrinsic::ceil}};
  bool whole = false;
  for (const auto& [mode, id] : kWhole)
    if (now_->has(mode)) a = builder_.CreateUnaryIntrinsic(id, a), whole = true;
  if (!to->isFloatingPointTy()) {
    if (!whole) return false;
    return out(convert_to_integer(builder_, a, to, to_signed), to_signed);
  }
  const std::string mode = rounding();
  if (!mode.empty() && mode != "rn") {
    if (!from->isDoubleTy() || !to->isFloatTy()) return false;
    a = call("nvvm.d2f." + mode, to, {a});
  } else if (from != to) {
    if (from->getPrimitiveSizeInBits() == to->getPrimitiveSizeInBits()) return false;
    a = from->getPrimitiveSizeInBits() > to->getPrimitiveSizeInBits() ? builder_.CreateFPTrunc(a, to)
                                                                      : builder_.CreateFPExt(a, to);
  }
  if (now_->has("sat")) a = to->isFloatTy() ? call("__nv_saturatef", to, {a}) : nullptr;
  return out(a);
}

bool PtxTranslator::approximate() {
  if (!takes(2) || !type()) return false;
  const std::string& op = now_->opcode[0];
  const std::string mode = rounding();
  Value* a = in(1, type());
  if (!a) return false;
  if (!mode.empty())
    return (op == "rcp" || op == "sqrt") && (type()->isFloatTy() || type()->isDoubleTy()) &&
           out(call("nvvm." + op + "." + mode + suffix(), type(), {a}));
  if (type()->isDoubleTy()) return (op == "rcp" || op == "rsqrt") && out(call("nvvm." + op + ".approx.d", type(), {a}));
  // Half precision goes through single.
  Value* wide = type()->isFloatTy()    ? a
                : type()->isVectorTy() ? nullptr
                                       : builder_.CreateFPExt(a, builder_.getFloatTy());
  Value* value = wide ? call("nvvm." + op + ".approx.f", builder_.getFloatTy(), {wide}) : nullptr;
  return value && out(type()->isFloatTy() ? value : builder_.CreateFPTrunc(value, type()));
}

bool PtxTranslator::copy_sign() {
  if (!takes(3) || !type() || !floating()) return false;
  Value *sign = in(1, type()), *magnitude = in(2, type());
  return sign && magnitude && out(builder_.CreateBinaryIntrinsic(Intrinsic::copysign, magnitude, sign));
}

}  // namespace kernelift::cpu
