// See interpreter.h.
#include "core/legality/tests/interpreter.h"

#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <array>
#include <map>

#include "core/compiler/frontend.h"
#include "core/compiler/model/position.h"

namespace kernelift::legality {
namespace {

using Kind = KernelModel::Access::Kind;

constexpr long kMostSteps = 40'000'000;

struct Stop {};

struct Value {
  enum class Is { Unknown, Integer, Pointer };
  Is is = Is::Unknown;
  int64_t number = 0;  ///< The integer, or the pointer's offset.
  std::string object;  ///< Of a pointer; a thread's own variables begin with "own ".
};

class Thread {
 public:
  Thread(const llvm::DataLayout& layout, const Bindings& values, std::set<TouchedByte>& touched, long& steps)
      : layout_(layout), values_(values), touched_(touched), steps_(steps) {}

  void run(llvm::Function& kernel) {
    std::vector<Value> arguments;
    for (auto& argument : kernel.args()) {
      const std::string name = "arg.a" + std::to_string(argument.getArgNo());
      if (argument.hasByValAttr()) arguments.push_back({Value::Is::Pointer, 0, "struct " + name});
      else if (argument.getType()->isPointerTy()) arguments.push_back({Value::Is::Pointer, 0, name});
      else if (argument.getType()->isIntegerTy()) arguments.push_back(integer(size(name), bits(argument.getType())));
      else arguments.push_back({});
    }
    call(kernel, arguments, 0);
  }

 private:
  using Frame = std::map<const llvm::Value*, Value>;

  static unsigned bits(llvm::Type* type) { return type->getIntegerBitWidth(); }
  static Value integer(int64_t number, unsigned bits) {
    if (bits < 64) number = int64_t(uint64_t(number) << (64 - bits)) >> (64 - bits);
    return {Value::Is::Integer, number, {}};
  }
  static uint64_t unsigned_of(int64_t number, unsigned bits) {
    return bits >= 64 ? uint64_t(number) : uint64_t(number) & ((uint64_t(1) << bits) - 1);
  }

  int64_t size(const std::string& name) const {
    auto found = values_.find(name);
    return found == values_.end() ? 1 : found->second;
  }

  Value read(const Frame& frame, const llvm::Value* value) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value))
      return constant->getBitWidth() > 64 ? Value{} : integer(constant->getSExtValue(), constant->getBitWidth());
    if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(value))
      return {Value::Is::Pointer, 0, variable->getName().str()};
    if (auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(value)) {
      if (expression->isCast()) return read(frame, expression->getOperand(0));
      if (auto* element = llvm::dyn_cast<llvm::GEPOperator>(expression)) return address(frame, *element);
    }
    auto found = frame.find(value);
    return found == frame.end() ? Value{} : found->second;
  }

  Value address(const Frame& frame, const llvm::GEPOperator& element) {
    Value pointer = read(frame, element.getPointerOperand());
    for (auto at = llvm::gep_type_begin(element), end = llvm::gep_type_end(element); at != end; ++at) {
      Value index = read(frame, at.getOperand());
      if (pointer.is != Value::Is::Pointer || index.is != Value::Is::Integer) return {};
      if (auto* structure = at.getStructTypeOrNull())
        pointer.number += layout_.getStructLayout(structure)->getElementOffset(index.number);
      else pointer.number += index.number * int64_t(at.getSequentialElementStride(layout_));
    }
    return pointer;
  }

  void touch(Kind kind, const Value& pointer, uint64_t bytes) {
    if (pointer.is != Value::Is::Pointer) throw Stop{};
    if (pointer.object.starts_with("own ") || pointer.object.starts_with("struct ")) return;
    for (uint64_t byte = 0; byte < bytes; ++byte)
      touched_.insert({kind, pointer.object, pointer.number + int64_t(byte)});
  }

  Value load(const Value& pointer, llvm::Type* type) {
    touch(Kind::Load, pointer, layout_.getTypeStoreSize(type));
    if (pointer.object.starts_with("struct ")) {
      const std::string name = pointer.object.substr(7) + ".o" + std::to_string(pointer.number);
      if (type->isPointerTy()) return {Value::Is::Pointer, 0, name};
      return type->isIntegerTy() ? integer(size(name), bits(type)) : Value{};
    }
    auto found = own_.find({pointer.object, pointer.number});
    return pointer.object.starts_with("own ") && found != own_.end() ? found->second : Value{};
  }

  void store(const Value& pointer, Value value, uint64_t bytes) {
    touch(Kind::Store, pointer, bytes);
    if (pointer.object.starts_with("own ")) own_[{pointer.object, pointer.number}] = std::move(value);
  }

  void copy(const Value& to, const Value& from, uint64_t bytes) {
    touch(Kind::Load, from, bytes), touch(Kind::Store, to, bytes);
    if (!to.object.starts_with("own ")) return;
    for (uint64_t byte = 0; byte < bytes; ++byte) {
      own_.erase({to.object, to.number + int64_t(byte)});
      auto found = own_.find({from.object, from.number + int64_t(byte)});
      if (from.object.starts_with("own ") && found != own_.end())
        own_[{to.object, to.number + int64_t(byte)}] = found->second;
    }
    // Members of a structure are read from it under the copy's name, too.
    if (from.object.starts_with("struct ") && from.number == 0 && to.number == 0) aliases_[to.object] = from.object;
  }

  Value binary(const llvm::BinaryOperator& operation, const Value& a, const Value& b) {
    if (a.is != Value::Is::Integer || b.is != Value::Is::Integer) return {};
    const unsigned width = bits(operation.getType());
    const uint64_t x = unsigned_of(a.number, width), y = unsigned_of(b.number, width);
    switch (operation.getOpcode()) {
      case llvm::Instruction::Add: return integer(int64_t(x + y), width);
      case llvm::Instruction::Sub: return integer(int64_t(x - y), width);
      case llvm::Instruction::Mul: return integer(int64_t(x * y), width);
      case llvm::Instruction::And: return integer(int64_t(x & y), width);
      case llvm::Instruction::Or: return integer(int64_t(x | y), width);
      case llvm::Instruction::Xor: return integer(int64_t(x ^ y), width);
      case llvm::Instruction::Shl: return integer(int64_t(x << y), width);
      case llvm::Instruction::LShr: return integer(int64_t(x >> y), width);
      case llvm::Instruction::AShr: return integer(a.number >> y, width);
      default: break;
    }
    if (y == 0) throw Stop{};
    switch (operation.getOpcode()) {
      case llvm::Instruction::UDiv: return integer(int64_t(x / y), width);
      case llvm::Instruction::URem: return integer(int64_t(x % y), width);
      case llvm::Instruction::SDiv: return integer(a.number / b.number, width);
      case llvm::Instruction::SRem: return integer(a.number % b.number, width);
      default: return {};
    }
  }

  Value call(llvm::Function& function, const std::vector<Value>& arguments, int depth) {
    if (depth > 20) throw Stop{};
    Frame frame;
    for (auto& argument : function.args()) frame[&argument] = arguments[argument.getArgNo()];
    const llvm::BasicBlock *from = nullptr, *block = &function.getEntryBlock();
    while (true) {
      Frame merged;
      for (auto& phi : block->phis()) merged[&phi] = read(frame, phi.getIncomingValueForBlock(from));
      for (auto& [phi, value] : merged) frame[phi] = value;
      const llvm::BasicBlock* next = nullptr;
      for (auto& instruction : *block) {
        if (llvm::isa<llvm::PHINode>(instruction)) continue;
        if (++steps_ > kMostSteps) throw Stop{};
        if (auto* back = llvm::dyn_cast<llvm::ReturnInst>(&instruction))
          return back->getReturnValue() ? read(frame, back->getReturnValue()) : Value{};
        if (instruction.isTerminator()) next = successor(frame, instruction);
        else frame[&instruction] = result(frame, instruction, depth);
      }
      from = block, block = next;
    }
  }

  const llvm::BasicBlock* successor(const Frame& frame, const llvm::Instruction& end) {
    auto decided = [&](const llvm::Value* value) {
      Value read_value = read(frame, value);
      if (read_value.is != Value::Is::Integer) throw Stop{};
      return read_value.number;
    };
    if (end.getNumSuccessors() == 1) return end.getSuccessor(0);
    if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&end)) {
      const int64_t value = decided(choice->getCondition());
      for (auto& entry : choice->cases())
        if (entry.getCaseValue()->getSExtValue() == value) return entry.getCaseSuccessor();
      return choice->getDefaultDest();
    }
    if (end.getNumSuccessors() != 2) throw Stop{};
    return end.getSuccessor(decided(end.getOperand(0)) != 0 ? 0 : 1);
  }

  Value result(const Frame& frame, const llvm::Instruction& instruction, int depth) {
    auto operand = [&](unsigned i) { return read(frame, instruction.getOperand(i)); };
    auto* type = instruction.getType();
    if (llvm::isa<llvm::AllocaInst>(instruction)) return {Value::Is::Pointer, 0, "own " + std::to_string(++variables_)};
    if (auto* element = llvm::dyn_cast<llvm::GEPOperator>(&instruction)) return address(frame, *element);
    if (llvm::isa<llvm::LoadInst>(instruction)) return load(resolved(operand(0)), type);
    if (auto* write = llvm::dyn_cast<llvm::StoreInst>(&instruction))
      return store(operand(1), operand(0), layout_.getTypeStoreSize(write->getValueOperand()->getType())), Value{};
    if (llvm::isa<llvm::AtomicRMWInst>(instruction))
      return touch(Kind::Atomic, operand(0), layout_.getTypeStoreSize(type)), Value{};
    if (llvm::isa<llvm::AddrSpaceCastInst, llvm::FreezeInst>(instruction)) return operand(0);
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) {
      Value value = operand(0);
      if (value.is != Value::Is::Integer || !type->isIntegerTy()) return {};
      if (llvm::isa<llvm::ZExtInst>(cast))
        return integer(int64_t(unsigned_of(value.number, bits(cast->getSrcTy()))), bits(type));
      return integer(value.number, bits(type));
    }
    if (auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
      return type->isIntegerTy() ? binary(*operation, operand(0), operand(1)) : Value{};
    if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) {
      Value a = operand(0), b = operand(1);
      if (a.is != Value::Is::Integer || b.is != Value::Is::Integer) return {};
      const unsigned width = bits(compare->getOperand(0)->getType());
      return integer(llvm::ICmpInst::compare(llvm::APInt(width, unsigned_of(a.number, width)),
                                             llvm::APInt(width, unsigned_of(b.number, width)), compare->getPredicate()),
                     32);
    }
    if (llvm::isa<llvm::SelectInst>(instruction)) {
      Value chosen = operand(0);
      return chosen.is == Value::Is::Integer ? operand(chosen.number != 0 ? 1 : 2) : Value{};
    }
    if (auto* called = llvm::dyn_cast<llvm::CallBase>(&instruction)) return called_result(frame, *called, depth);
    return {};
  }

  /// A copied structure's members are those of the parameter.
  Value resolved(Value pointer) const {
    auto found = aliases_.find(pointer.object);
    if (found != aliases_.end() && !own_.contains({pointer.object, pointer.number})) pointer.object = found->second;
    return pointer;
  }

  Value called_result(const Frame& frame, const llvm::CallBase& called, int depth) {
    auto operand = [&](unsigned i) { return read(frame, called.getArgOperand(i)); };
    auto* callee = called.getCalledFunction();
    if (!callee) throw Stop{};
    if (auto* memory = llvm::dyn_cast<llvm::AnyMemTransferInst>(&called)) {
      auto* length = llvm::dyn_cast<llvm::ConstantInt>(memory->getLength());
      if (!length) throw Stop{};
      return copy(operand(0), resolved(operand(1)), length->getZExtValue()), Value{};
    }
    if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&called))
      if (auto where = position(*intrinsic)) return integer(size(*where->as_variable()), 32);
    const std::string name = callee->getName().str();
    const bool larger = name == "__nv_max", smaller = name == "__nv_min";
    if (larger || smaller) {
      Value a = operand(0), b = operand(1);
      if (a.is != Value::Is::Integer || b.is != Value::Is::Integer) return {};
      return integer(larger ? std::max(a.number, b.number) : std::min(a.number, b.number), 32);
    }
    if (callee->isDeclaration()) return {};
    std::vector<Value> arguments;
    for (unsigned i = 0; i < called.arg_size(); ++i) arguments.push_back(resolved(operand(i)));
    return call(*callee, arguments, depth + 1);
  }

  const llvm::DataLayout& layout_;
  const Bindings& values_;
  std::set<TouchedByte>& touched_;
  long& steps_;
  int variables_ = 0;
  std::map<std::pair<std::string, int64_t>, Value> own_;
  std::map<std::string, std::string> aliases_;
};

}  // namespace

std::optional<std::set<TouchedByte>> interpret(const std::string& source, const LaunchShape& launch,
                                               const Bindings& sizes) {
  llvm::LLVMContext context;
  auto ir = compile_to_device_ir(context, source, {});
  if (!ir.ok()) return std::nullopt;
  Bindings values = sizes;
  for (int axis = 0; axis < 3; ++axis) {
    auto blocks = launch.grid[axis] ? launch.grid[axis]->evaluate(sizes) : Result<int64_t>(int64_t(2));
    if (!blocks.ok() || *blocks < 1) return std::nullopt;
    const std::string letter(1, "xyz"[axis]);
    values["nctaid." + letter] = *blocks, values["ntid." + letter] = along(launch.block, axis);
  }
  std::set<TouchedByte> touched;
  long steps = 0;
  try {
    for (auto& function : *ir->module) {
      if (function.isDeclaration() || function.getCallingConv() != llvm::CallingConv::PTX_Kernel) continue;
      for (int64_t block = 0, count = values["nctaid.x"] * values["nctaid.y"] * values["nctaid.z"]; block < count;
           ++block)
        for (uint32_t thread = 0; thread < launch.block.count(); ++thread) {
          values["bid.x"] = block % values["nctaid.x"],
          values["bid.y"] = block / values["nctaid.x"] % values["nctaid.y"];
          values["bid.z"] = block / values["nctaid.x"] / values["nctaid.y"];
          values["tid.x"] = thread % launch.block.x, values["tid.y"] = thread / launch.block.x % launch.block.y;
          values["tid.z"] = thread / launch.block.x / launch.block.y;
          Thread(ir->module->getDataLayout(), values, touched, steps).run(function);
        }
    }
  } catch (const Stop&) {
    return std::nullopt;
  }
  return touched;
}

}  // namespace kernelift::legality
