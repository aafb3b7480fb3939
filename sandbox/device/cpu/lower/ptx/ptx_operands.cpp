// PTX registers are bags of bits with a width: reading one as another type of its width is a bitcast, a narrower one a
// truncation. Special registers become calls of the intrinsics that read them.
#include "sandbox/device/cpu/lower/ptx/ptx_operands.h"

#include <llvm/IR/InlineAsm.h>

#include "sandbox/device/cpu/lower/context_layout.h"

namespace kernelift::cpu {

using namespace llvm;

Type* ptx_type(LLVMContext& context, StringRef suffix) {
  if (suffix == "pred") return Type::getInt1Ty(context);
  if (suffix == "f16x2") return FixedVectorType::get(Type::getHalfTy(context), 2);
  if (suffix == "bf16x2") return FixedVectorType::get(Type::getBFloatTy(context), 2);
  if (suffix == "bf16") return Type::getBFloatTy(context);
  if (suffix == "f16") return Type::getHalfTy(context);
  if (suffix == "f32") return Type::getFloatTy(context);
  if (suffix == "f64") return Type::getDoubleTy(context);
  unsigned bits = 0;
  if (suffix.size() < 2 || !StringRef("usb").contains(suffix[0]) || suffix.drop_front().getAsInteger(10, bits))
    return nullptr;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? Type::getIntNTy(context, bits) : nullptr;
}

PtxOperands::PtxOperands(CallInst& call, const PtxText& text) : call_(call) {
  const auto& assembly = *cast<InlineAsm>(call.getCalledOperand());
  LLVMContext& context = call.getContext();
  unsigned index = 0, argument = 0;
  for (const InlineAsm::ConstraintInfo& constraint : assembly.ParseConstraints()) {
    if (constraint.Type == InlineAsm::isClobber || constraint.Type == InlineAsm::isLabel) continue;
    const std::string name = "$" + std::to_string(index++);
    if (constraint.Type == InlineAsm::isOutput && !constraint.isIndirect) {
      auto* record = dyn_cast<StructType>(call.getType());
      types_[name] = record ? record->getElementType(outputs_) : call.getType();
      ++outputs_;
      continue;
    }
    Value* value = call.getArgOperand(argument++);
    // A tied input ("0") is the initial value of that output.
    unsigned tied = 0;
    if (constraint.Codes.size() == 1 && !StringRef(constraint.Codes[0]).getAsInteger(10, tied))
      values_["$" + std::to_string(tied)] = value;
    values_[name] = value;
    types_[name] = value->getType();
  }
  for (const auto& [name, type] : text.registers) types_[name] = ptx_type(context, type);
}

std::string PtxOperands::canonical(StringRef operand) const {
  // "${0:h}" is "$0" here.
  if (operand.consume_front("${")) return ("$" + operand.take_while([](char c) { return isDigit(c); })).str();
  return operand.str();
}

Value* PtxOperands::coerce(IRBuilderBase& builder, Value* value, Type* type) {
  if (value->getType() == type) return value;
  if (value->getType()->isPointerTy()) value = builder.CreatePtrToInt(value, builder.getInt64Ty());
  if (type->isPointerTy()) return builder.CreateIntToPtr(coerce(builder, value, builder.getInt64Ty()), type);
  const unsigned from = value->getType()->getPrimitiveSizeInBits(), to = type->getPrimitiveSizeInBits();
  if (from == to) return builder.CreateBitCast(value, type);
  Value* bits = value->getType()->isIntegerTy() ? value : builder.CreateBitCast(value, builder.getIntNTy(from));
  bits = builder.CreateZExtOrTrunc(bits, builder.getIntNTy(to));
  return type->isIntegerTy() ? bits : builder.CreateBitCast(bits, type);
}

Value* PtxOperands::immediate(StringRef text, Type* type) {
  LLVMContext& context = call_.getContext();
  const bool floats =
      text.starts_with("0f") || text.starts_with("0F") || text.starts_with("0d") || text.starts_with("0D");
  if (floats) {
    uint64_t bits = 0;
    if (text.drop_front(2).getAsInteger(16, bits)) return nullptr;
    const bool single = text[1] == 'f' || text[1] == 'F';
    if (type->isFloatTy() && single) return ConstantFP::get(context, APFloat(APFloat::IEEEsingle(), APInt(32, bits)));
    if (type->isDoubleTy() && !single) return ConstantFP::get(context, APFloat(APFloat::IEEEdouble(), APInt(64, bits)));
    return nullptr;
  }
  if (type->isFloatTy() || type->isDoubleTy()) {
    double value = 0;
    if (text.getAsDouble(value)) return nullptr;
    return ConstantFP::get(type, value);
  }
  const bool negative = text.consume_front("-");
  while (!text.empty() && (text.back() == 'U' || text.back() == 'u')) text = text.drop_back();
  uint64_t value = 0;
  if (!type->isIntegerTy() || text.getAsInteger(0, value)) return nullptr;
  return ConstantInt::get(context, APInt(64, negative ? 0 - value : value).zextOrTrunc(type->getIntegerBitWidth()));
}

SmallVector<StringRef, 4> PtxOperands::parts_of(StringRef operand, unsigned bits) {
  SmallVector<StringRef, 4> parts;
  problem_ = "the operand " + operand.str();
  if (!operand.consume_front("{") || !operand.consume_back("}")) return {};
  operand.split(parts, ',');
  if (bits == 0 || bits % parts.size() != 0) return {};
  problem_.clear();
  return parts;
}

Value* PtxOperands::read(IRBuilderBase& builder, StringRef operand, Type* type) {
  const std::string name = canonical(operand);
  if (operand.starts_with("{")) {
    const SmallVector<StringRef, 4> parts = parts_of(operand, type->getPrimitiveSizeInBits());
    if (parts.empty()) return nullptr;
    const unsigned width = type->getPrimitiveSizeInBits() / parts.size();
    Type* whole = builder.getIntNTy(type->getPrimitiveSizeInBits());
    Value* packed = ConstantInt::get(whole, 0);
    for (unsigned i = 0; i < parts.size(); ++i) {
      Value* part = read(builder, parts[i].trim(), builder.getIntNTy(width));
      if (!part) return nullptr;
      packed = builder.CreateOr(packed, builder.CreateShl(builder.CreateZExt(part, whole), uint64_t(i) * width));
    }
    return coerce(builder, packed, type);
  }
  if (auto known = values_.find(name); known != values_.end()) return coerce(builder, known->second, type);
  if (types_.contains(name)) return Constant::getNullValue(type);  // Read before written: undefined in PTX.
  if (StringRef special = name; special.consume_front("%")) {
    const bool wide = special == "clock64" || special == "globaltimer";
    FunctionCallee reader = call_.getModule()->getOrInsertFunction("nvvm.read.ptx.sreg." + special.str(),
                                                                   wide ? builder.getInt64Ty() : builder.getInt32Ty());
    return coerce(builder, builder.CreateCall(reader), type);
  }
  if (name == "WARP_SZ" && type->isIntegerTy()) return ConstantInt::get(type, 32);
  Value* constant = immediate(name, type);
  if (!constant) problem_ = "the operand " + name;
  return constant;
}

bool PtxOperands::write(IRBuilderBase& builder, StringRef operand, Value* value, bool is_signed) {
  const std::string name = canonical(operand);
  if (name == "_") return true;
  if (operand.starts_with("{")) {
    const unsigned bits = value->getType()->getPrimitiveSizeInBits();
    const SmallVector<StringRef, 4> parts = parts_of(operand, bits);
    if (parts.empty()) return false;
    const unsigned width = bits / parts.size();
    Value* packed = coerce(builder, value, builder.getIntNTy(bits));
    for (unsigned i = 0; i < parts.size(); ++i) {
      Value* part = builder.CreateTrunc(builder.CreateLShr(packed, uint64_t(i) * width), builder.getIntNTy(width));
      if (!write(builder, parts[i].trim(), part, is_signed)) return false;
    }
    return true;
  }
  auto type = types_.find(name);
  if (type == types_.end() || !type->second) {
    problem_ = "the destination " + name;
    return false;
  }
  const unsigned bits = type->second->isPointerTy() ? 64 : type->second->getPrimitiveSizeInBits();
  if (is_signed && value->getType()->isIntegerTy() && value->getType()->getIntegerBitWidth() < bits)
    value = builder.CreateSExt(value, builder.getIntNTy(bits));
  values_[name] = coerce(builder, value, type->second);
  return true;
}

Value* PtxOperands::shared_base(IRBuilderBase& builder) {
  return block_field_of(builder, DeviceModule::thread_of(*call_.getFunction()), BlockField::shared);
}

Value* PtxOperands::address(IRBuilderBase& builder, StringRef operand, StringRef space) {
  if (!operand.consume_front("[") || !operand.consume_back("]")) {
    problem_ = "the address " + operand.str();
    return nullptr;
  }
  StringRef base = operand, offset;
  if (size_t plus = operand.find('+'); plus != StringRef::npos)
    base = operand.take_front(plus), offset = operand.drop_front(plus + 1);
  Value* start = read(builder, base.trim(), builder.getInt64Ty());
  if (!start) return nullptr;
  Value* address = space == "shared" ? builder.CreatePtrAdd(shared_base(builder), start)
                                     : builder.CreateIntToPtr(start, builder.getPtrTy());
  if (offset.empty()) return address;
  Value* distance = immediate(offset.trim(), builder.getInt64Ty());
  if (!distance) problem_ = "the offset " + offset.str();
  return distance ? builder.CreatePtrAdd(address, distance) : nullptr;
}

Value* PtxOperands::result(IRBuilderBase& builder) {
  if (!outputs_) return nullptr;
  auto output = [&](unsigned i) {
    const std::string name = "$" + std::to_string(i);
    auto known = values_.find(name);
    return known == values_.end() ? PoisonValue::get(types_[name]) : coerce(builder, known->second, types_[name]);
  };
  if (!isa<StructType>(call_.getType())) return output(0);
  Value* record = PoisonValue::get(call_.getType());
  for (unsigned i = 0; i < outputs_; ++i) record = builder.CreateInsertValue(record, output(i), i);
  return record;
}

}  // namespace kernelift::cpu
