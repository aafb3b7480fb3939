// See function_field.h.
#include "sandbox/device/cpu/field_state.h"
#include "sandbox/device/cpu/lower/field/function_field.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

uint64_t tag(FieldState::Kind kind) { return FieldState(kind, 0).word(); }

}  // namespace

FunctionField::Numbers FunctionField::states(Value* value) {
  if (auto found = numbers_.find(value); found != numbers_.end()) return found->second;
  const unsigned count = CarriedBits::words(value->getType());
  Value* whole = builder_.CreateBitCast(value, builder_.getIntNTy(kWordBits * count));
  Numbers made;
  for (unsigned i = 0; i < count; ++i) {
    Value* word = builder_.CreateTrunc(builder_.CreateLShr(whole, kWordBits * i), builder_.getInt32Ty());
    made.push_back(builder_.CreateOr(builder_.CreateZExt(word, builder_.getInt64Ty()), tag(FieldState::Bits)));
  }
  return made;
}

FunctionField::Numbers FunctionField::states_of_numbers(Value* value) {
  const bool wide = bytes_of(value->getType()) > 4;
  Numbers made;
  for (Value* one : numbers(value)) {
    made.push_back(builder_.CreateOr(one, tag(wide ? FieldState::Double : FieldState::Float)));
    if (wide) made.push_back(builder_.getInt64(tag(FieldState::End)));
  }
  return made;
}

/// What the words stand for as floats; those that are plain bits say it themselves.
FunctionField::Numbers FunctionField::numbers_of_states(const Numbers& states, Value* value) {
  const unsigned bytes = bytes_of(value->getType()), words = bytes / 4;
  const Numbers by_bits = numbers_by_bits(value);
  Numbers made;
  for (unsigned i = 0; i < by_bits.size(); ++i) {
    Value* state = states[i * words];
    Value* kind = builder_.CreateLShr(state, prime_field::kBits);
    auto is = [&](FieldState::Kind wanted) { return builder_.CreateICmpEQ(kind, builder_.getInt64(wanted)); };
    Value* known = builder_.CreateOr(is(words > 1 ? FieldState::Double : FieldState::Float), is(FieldState::Either));
    made.push_back(builder_.CreateSelect(known, builder_.CreateAnd(state, prime_field::kPrime), by_bits[i]));
  }
  return made;
}

FunctionField::Numbers FunctionField::carried(Instruction& at) {
  const Value* first = at.getOperand(0);
  switch (at.getOpcode()) {
    case Instruction::Freeze: return states(at.getOperand(0));
    case Instruction::BitCast:
      if (!has_numbers(first->getType())) return states(at.getOperand(0));
      if (bits_.is_used(&at)) decide(at, kBitsUsed);
      return states_of_numbers(at.getOperand(0));
    case Instruction::Trunc:
    case Instruction::ZExt: return resized(at);
    case Instruction::ExtractValue: return exchanged_[first];
    case Instruction::Call: return exchanged_between_lanes(cast<CallBase>(at));
    case Instruction::Or:
    case Instruction::Select: return joined(at);
    default: return moved(at);
  }
}

/// Words in other places.
FunctionField::Numbers FunctionField::moved(Instruction& at) {
  const unsigned count = CarriedBits::words(at.getType());
  Numbers from = states(at.getOperand(0)), made;
  auto index = [&](unsigned operand) { return cast<ConstantInt>(at.getOperand(operand))->getZExtValue(); };
  switch (at.getOpcode()) {
    case Instruction::LShr:
    case Instruction::Shl:
      for (unsigned i = 0; i < count; ++i) {
        const uint64_t by = index(1) / kWordBits, source = at.getOpcode() == Instruction::LShr ? i + by : i - by;
        made.push_back(source < from.size() ? from[source] : builder_.getInt64(tag(FieldState::Bits)));
      }
      return made;
    case Instruction::And:
      for (unsigned i = 0; i < count; ++i)
        if (cast<ConstantInt>(at.getOperand(1))->getValue().extractBits(kWordBits, kWordBits * i).isZero())
          from[i] = builder_.getInt64(tag(FieldState::Bits));
      return from;
    case Instruction::ExtractElement:
      for (unsigned i = 0; i < count; ++i) made.push_back(from[index(1) * count + i]);
      return made;
    case Instruction::InsertElement: {
      const Numbers part = states(at.getOperand(1));
      for (unsigned i = 0; i < part.size(); ++i) from[index(2) * part.size() + i] = part[i];
      return from;
    }
    default:
      return shuffled(cast<ShuffleVectorInst>(at), from, states(at.getOperand(1)), count / elements_of(at.getType()));
  }
}

/// Words of the one operand or of the other.
FunctionField::Numbers FunctionField::joined(Instruction& at) {
  Numbers made;
  const bool selects = isa<SelectInst>(at);
  const Numbers a = states(at.getOperand(selects ? 1 : 0)), b = states(at.getOperand(selects ? 2 : 1));
  const unsigned words = unsigned(a.size()) / elements_of(at.getType());
  Value* zero = builder_.getInt64(tag(FieldState::Bits));
  for (unsigned i = 0; i < a.size(); ++i)
    made.push_back(selects ? builder_.CreateSelect(element(at.getOperand(0), i / words), a[i], b[i])
                           : builder_.CreateSelect(builder_.CreateICmpEQ(a[i], zero), b[i],
                                                   builder_.CreateSelect(builder_.CreateICmpEQ(b[i], zero), a[i],
                                                                         builder_.CreateOr(a[i], b[i]))));
  return made;
}

/// A truncation or an extension, of a vector's elements too.
FunctionField::Numbers FunctionField::resized(Instruction& at) {
  const Numbers from = states(at.getOperand(0));
  const unsigned elements = elements_of(at.getType());
  const unsigned had = unsigned(from.size()) / elements, has = CarriedBits::words(at.getType()) / elements;
  Numbers made;
  for (unsigned i = 0; i < elements; ++i)
    for (unsigned word = 0; word < has; ++word)
      made.push_back(word < had ? from[i * had + word] : builder_.getInt64(tag(FieldState::Bits)));
  return made;
}

/// A shuffle moves 32 bits: the state of its word goes in two more.
FunctionField::Numbers FunctionField::exchanged_between_lanes(CallBase& at) {
  SmallVector<Value*, 5> arguments(at.args());
  Value* state = states(at.getArgOperand(3)).front();
  Value* halves[2];
  for (unsigned half = 0; half < 2; ++half) {
    arguments[3] = builder_.CreateAnd(builder_.CreateLShr(state, kWordBits * half), 0xffffffffu);
    halves[half] = builder_.CreateAnd(call_service(builder_, Service::warp, arguments), 0xffffffffu);
  }
  return {builder_.CreateOr(halves[0], builder_.CreateShl(halves[1], kWordBits)),
          builder_.getInt64(tag(FieldState::Bits))};
}

}  // namespace kernelift::cpu
