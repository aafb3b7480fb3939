// See function_field.h.
#include "sandbox/device/cpu/lower/field/field_functions.h"
#include "sandbox/device/cpu/lower/field/function_field.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

bool takes_floats(const CallBase& call) {
  return any_of(call.args(), [](const Use& argument) { return has_numbers(argument->getType()); });
}

}  // namespace

Value* FunctionField::picked(Value* wanted, Value* a, Value* b, Value* of_a, Value* of_b) {
  Value* least = builder_.CreateBinaryIntrinsic(Intrinsic::umin, of_a, of_b);
  Value* one = builder_.CreateSelect(builder_.CreateFCmpOEQ(wanted, a), of_a, of_b);
  if (field_.is_real()) return field_.of_either(of_a, of_b, one);
  return builder_.CreateSelect(builder_.CreateFCmpOEQ(a, b), least, one);
}

void FunctionField::take_from_bits(CallBase& call, StringRef what) {
  decide(call, what);
  if (has_numbers(call.getType())) numbers_[&call] = numbers_by_bits(&call);
}

void FunctionField::visit_call(CallBase& call) {
  if (auto* intrinsic = dyn_cast<IntrinsicInst>(&call)) {
    if (visit_intrinsic(*intrinsic)) return;
    const StringRef name = Intrinsic::getBaseName(intrinsic->getIntrinsicID());
    if (has_numbers(call.getType()) || takes_floats(call)) take_from_bits(call, name);
    return;
  }
  const Function* callee = call.getCalledFunction();
  if (callee && callee->isDeclaration() && is_field_function(*callee) && visit_library(call, *callee)) return;
  if (has_numbers(call.getType()) || takes_floats(call) || holds_floats(call.getType()))
    take_from_bits(call, "the call of a function that cannot be inlined");
}

bool FunctionField::visit_intrinsic(IntrinsicInst& call) {
  auto each = [&](auto one) {
    Numbers made;
    for (unsigned i = 0; i < elements_of(call.getType()); ++i) made.push_back(one(i));
    numbers_[&call] = made;
    return true;
  };
  auto argument = [&](unsigned index) { return call.getArgOperand(index); };
  auto of = [&](unsigned index, unsigned i) { return numbers(argument(index))[i]; };
  const Intrinsic::ID id = call.getIntrinsicID();
  if (id == Intrinsic::is_fpclass) return true;  // Whether it is a number at all.
  switch (id) {
    case Intrinsic::fptosi_sat:
    case Intrinsic::fptoui_sat: return decide(call, kToInteger), true;
    case Intrinsic::fma:
    case Intrinsic::fmuladd:
      return each([&](unsigned i) {
        return field_.multiply_add(numbered(argument(0), i), numbered(argument(1), i), numbered(argument(2), i),
                                   element(&call, i));
      });
    case Intrinsic::canonicalize:
    case Intrinsic::arithmetic_fence:
    case Intrinsic::ssa_copy: return each([&](unsigned i) { return of(0, i); });
    case Intrinsic::fabs:
    case Intrinsic::copysign:
      decide(call, "the sign");
      return each([&](unsigned i) {  // The result's sign is the argument's, or it is not.
        auto sign = [&](Value* value) {
          Value* bits = builder_.CreateBitCast(element(value, i), builder_.getIntNTy(8 * bytes_of(value->getType())));
          return builder_.CreateICmpSLT(bits, Constant::getNullValue(bits->getType()));
        };
        Value* turned = builder_.CreateXor(sign(argument(0)), sign(&call));
        return builder_.CreateSelect(turned, field_.negative(of(0, i)), of(0, i));
      });
    case Intrinsic::minnum:
    case Intrinsic::maxnum:
    case Intrinsic::minimum:
    case Intrinsic::maximum:
    case Intrinsic::minimumnum:
    case Intrinsic::maximumnum:
      decide(call, "the comparison");
      return each([&](unsigned i) {
        return picked(element(&call, i), element(argument(0), i), element(argument(1), i), of(0, i), of(1, i));
      });
    case Intrinsic::sqrt:
    case Intrinsic::floor:
    case Intrinsic::ceil:
    case Intrinsic::trunc:
    case Intrinsic::rint:
    case Intrinsic::nearbyint:
    case Intrinsic::round:
    case Intrinsic::roundeven:
    case Intrinsic::exp:
    case Intrinsic::exp2:
    case Intrinsic::log:
    case Intrinsic::log2:
    case Intrinsic::log10:
    case Intrinsic::sin:
    case Intrinsic::cos:
    case Intrinsic::tanh:
    case Intrinsic::pow: {
      StringRef name = Intrinsic::getBaseName(id);
      name.consume_front("llvm.");
      if (id == Intrinsic::roundeven || id == Intrinsic::nearbyint) name = "rint";
      return each([&](unsigned i) {
        return apply(name, numbered(argument(0), i), id == Intrinsic::pow ? of(1, i) : nullptr, element(&call, i),
                     call);
      });
    }
    default: return false;
  }
}

bool FunctionField::visit_library(CallBase& call, const Function& callee) {
  using Kind = FieldMeaning::Kind;
  const FieldMeaning meaning = field_meaning(callee);
  auto of = [&](unsigned index) -> Numbered {
    if (index >= call.arg_size()) return {nullptr, nullptr};
    Value* value = call.getArgOperand(index);
    if (has_numbers(value->getType())) return {number(value), value};
    Value* real = builder_.CreateSIToFP(value, builder_.getDoubleTy());
    return {field_.of_integer(value, true, real), real};
  };
  auto is = [&](Value* made) {
    numbers_[&call] = {made};
    return true;
  };
  auto one = [&] {
    Constant* value = ConstantFP::get(call.getType(), 1);
    return Numbered{number_of(value), value};
  };
  switch (meaning.kind) {
    case Kind::Add: return is(field_.add(of(0), of(1), &call));
    case Kind::Subtract: return is(field_.subtract(of(0), of(1), &call));
    case Kind::Multiply: return is(field_.multiply(of(0), of(1), &call));
    case Kind::Divide: return is(divide(of(0), of(1), &call));
    case Kind::Reciprocal: return is(divide(one(), of(0), &call));
    case Kind::Fma: return is(field_.multiply_add(of(0), of(1), of(2), &call));
    case Kind::ReciprocalRoot:
      if (field_.is_real()) return is(field_.reciprocal_root(of(0), &call));
      return is(divide(one(), {apply("sqrt", of(0), nullptr, &call, call), &call}, &call));
    case Kind::Same: return is(field_.converted(of(0).number, &call));
    case Kind::OfInteger: return is(field_.of_integer(call.getArgOperand(0), meaning.is_signed, &call));
    case Kind::Unknown: return is(apply(meaning.function, of(0), of(1).number, &call, call));
    case Kind::ToInteger: return decide(call, kToInteger), true;
    case Kind::SineAndCosine: {
      Type* type = call.getArgOperand(0)->getType();
      for (unsigned at : {1, 2}) {
        Value* where = call.getArgOperand(at);
        Value* result = builder_.CreateLoad(type, where);
        store_numbers(where, type, {apply(at == 1 ? "sin" : "cos", of(0), nullptr, result, call)}, call);
      }
      return true;
    }
    default:
      take_from_bits(call, callee.getName());
      for (const Use& argument : call.args())
        if (argument->getType()->isPointerTy()) touch(argument, call.getType(), true, call);
      return true;
  }
}

}  // namespace kernelift::cpu
