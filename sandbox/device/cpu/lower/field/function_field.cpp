// See function_field.h. Where a float becomes an integer or a condition, or is of a type without numbers (half
// precision), the run notes that recorded values decided; what is then made of it is taken from its bits.
#include "sandbox/device/cpu/lower/field/function_field.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/xxhash.h>

#include "sandbox/device/cpu/prime_field.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

bool asks_for_nan(const FCmpInst& comparison) {
  return comparison.getPredicate() == FCmpInst::FCMP_ORD || comparison.getPredicate() == FCmpInst::FCMP_UNO;
}

/// Of what a header's function does the place where it was called.
std::string place_in_kernel(const Instruction& at) {
  const DISubprogram* kernel = at.getFunction()->getSubprogram();
  const DILocation* line = at.getDebugLoc();
  while (kernel && line && line->getInlinedAt() && line->getFilename() != kernel->getFilename())
    line = line->getInlinedAt();
  if (!line) return place_of(at);
  return sys::path::filename(line->getFilename()).str() + ":" + std::to_string(line->getLine());
}

Constant* index_like(Value* index, unsigned number) { return ConstantInt::get(index->getType(), number); }

}  // namespace

bool has_numbers(const Type* type) {
  const Type* element = type->getScalarType();
  return (element->isFloatTy() || element->isDoubleTy()) && !isa<ScalableVectorType>(type);
}

unsigned elements_of(const Type* type) {
  const auto* vector = dyn_cast<FixedVectorType>(type);
  return vector ? vector->getNumElements() : 1;
}

unsigned bytes_of(const Type* type) { return type->getScalarType()->isDoubleTy() ? 8 : 4; }

bool holds_floats(const Type* type) {
  return type->isFPOrFPVectorTy() || any_of(type->subtypes(), [](const Type* part) { return holds_floats(part); });
}

FunctionField::FunctionField(DeviceModule& device, Function& function, NumberKind numbers)
    : device_(device),
      module_(*device.module),
      function_(function),
      thread_(DeviceModule::thread_of(function)),
      bits_(function),
      builder_(function.getContext()),
      field_(builder_, numbers) {
  for (Kernel& kernel : device.kernels)
    if (kernel.body == &function) kernel_ = &kernel;
}

void FunctionField::insert() {
  SmallVector<Instruction*, 64> all;
  for (BasicBlock* block : ReversePostOrderTraversal<Function*>(&function_))
    for (Instruction& instruction : *block) all.push_back(&instruction);
  for (Argument& argument : function_.args()) take_argument(argument);
  for (Instruction* instruction : all) visit(*instruction);
  for (auto& [phi, made] : phis_) complete(*phi, made);
  if (!meant_call_) return;
  const SmallVector<uint64_t> list(doubtful_.begin(), doubtful_.end());
  Constant* words = ConstantDataArray::get(module_.getContext(), list);
  meant_call_->setArgOperand(
      1, new GlobalVariable(module_, words->getType(), true, GlobalValue::PrivateLinkage, words, "kl.constants"));
  meant_call_->setArgOperand(2, builder_.getInt64(list.size()));
}

FunctionField::Numbers FunctionField::numbers(Value* value) {
  if (auto found = numbers_.find(value); found != numbers_.end()) return found->second;
  Numbers made;
  if (auto* constant = dyn_cast<Constant>(value)) {
    for (unsigned i = 0; i < elements_of(value->getType()); ++i)
      made.push_back(number_of(value->getType()->isVectorTy() ? constant->getAggregateElement(i) : constant));
  } else {
    made.assign(elements_of(value->getType()), builder_.getInt64(0));  // Of code that is never reached.
  }
  return made;
}

Value* FunctionField::number_of(Constant* constant) {
  auto* real = dyn_cast_or_null<ConstantFP>(constant);
  if (!real) return builder_.getInt64(0);
  if (field_.is_real()) return field_.of_value(real);
  const bool single = constant->getType()->isFloatTy();
  const APFloat& exactly = real->getValueAPF();
  const double value = single ? double(exactly.convertToFloat()) : exactly.convertToDouble();
  const uint64_t image = prime_field::of_double(value);
  const prime_field::Meant meant = prime_field::meant_by(value, single);
  if (!meant.surely) doubtful_.insert(image);
  if (meant.surely && meant.image == image) return builder_.getInt64(image);
  return builder_.CreateSelect(constants_meant(), builder_.getInt64(meant.image), builder_.getInt64(image));
}

/// Whether the run takes constants for what was meant by them; asked once, where the function begins.
Value* FunctionField::constants_meant() {
  if (meant_) return meant_;
  IRBuilder<> builder(&function_.getEntryBlock(), function_.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  meant_call_ = call_service(builder, Service::field_constants_meant,
                             {thread_, ConstantPointerNull::get(builder.getPtrTy()), builder.getInt64(0)});
  return meant_ = builder.CreateIsNotNull(meant_call_);
}

FunctionField::Numbers FunctionField::numbers_by_bits(Value* value) {
  Numbers made;
  const unsigned bytes = bytes_of(value->getType());
  for (unsigned i = 0; i < elements_of(value->getType()); ++i) {
    if (field_.is_real()) {
      made.push_back(field_.of_value(element(value, i)));
      continue;
    }
    Value* bits = builder_.CreateBitCast(element(value, i), builder_.getIntNTy(8 * bytes));
    made.push_back(call_service(builder_, Service::field_of_bits,
                                {builder_.CreateZExt(bits, builder_.getInt64Ty()), builder_.getInt32(bytes)}));
  }
  return made;
}

Value* FunctionField::element(Value* value, unsigned index) {
  return value->getType()->isVectorTy() ? builder_.CreateExtractElement(value, index) : value;
}

Constant* FunctionField::text(StringRef words) {
  Constant*& known = texts_[words];
  if (known) return known;
  Constant* bytes = ConstantDataArray::getString(module_.getContext(), words);
  return known = new GlobalVariable(module_, bytes->getType(), true, GlobalValue::PrivateLinkage, bytes, "kl.place");
}

/// A kl_field_site; LLVM's default struct layout for the host is C's. `at` null: the function as a whole.
Value* FunctionField::site(const Instruction* at, StringRef what) {
  const std::string place = at ? place_in_kernel(*at) : readable_name(function_.getName());
  Constant* made = ConstantStruct::getAnon({text(what), text(place)});
  return new GlobalVariable(module_, made->getType(), true, GlobalValue::PrivateLinkage, made, "kl.site");
}

void FunctionField::decide(const Instruction& at, StringRef what) {
  call_service(builder_, Service::field_decide, {thread_, site(&at, what)});
}

void FunctionField::after(Instruction& at) {
  if (at.isTerminator()) return before(at);
  builder_.SetInsertPoint(at.getNextNode());
  builder_.SetCurrentDebugLocation(at.getDebugLoc());
}

void FunctionField::take_argument(Argument& argument) {
  if (!has_numbers(argument.getType())) return;
  builder_.SetInsertPoint(&function_.getEntryBlock(), function_.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  if (!kernel_) {  // The call has noted it.
    numbers_[&argument] = numbers_by_bits(&argument);
    return;
  }
  const unsigned bytes = bytes_of(argument.getType());
  const uint64_t offset = kernel_->parameters[argument.getArgNo() - 1].offset;
  Numbers made;
  for (unsigned i = 0; i < elements_of(argument.getType()); ++i)
    made.push_back(call_service(
        builder_, Service::field_parameter,
        {thread_, builder_.getInt64(offset + i * bytes), builder_.getInt32(bytes), site(nullptr, kBitsUsed)}));
  numbers_[&argument] = made;
}

void FunctionField::visit(Instruction& at) {
  if (auto* phi = dyn_cast<PHINode>(&at)) return visit_phi(*phi);
  after(at);
  if (auto* load = dyn_cast<LoadInst>(&at)) return visit_load(*load);
  if (auto* store = dyn_cast<StoreInst>(&at)) return visit_store(*store);
  if (auto* change = dyn_cast<AtomicRMWInst>(&at)) return visit_change(*change);
  if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&at)) return visit_exchange(*exchange);
  if (auto* copy = dyn_cast<MemIntrinsic>(&at)) return visit_memory(*copy);
  if (bits_.carries(&at)) {
    numbers_[&at] = carried(at);
    return;
  }
  if (auto* call = dyn_cast<CallBase>(&at)) return visit_call(*call);
  if (auto* comparison = dyn_cast<FCmpInst>(&at)) {
    if (!asks_for_nan(*comparison)) decide(at, "the comparison");
    return;
  }
  if (isa<FPToSIInst, FPToUIInst>(at)) return decide(at, kToInteger);
  if (isa<FPTruncInst>(at) && !has_numbers(at.getType())) return decide(at, "the conversion to half precision");
  if (isa<BitCastInst>(at) && has_numbers(at.getOperand(0)->getType()) && !has_numbers(at.getType()))
    return decide(at, kBitsUsed);
  if (has_numbers(at.getType())) numbers_[&at] = arithmetic(at);
  else if (at.getType()->isAggregateType() && holds_floats(at.getType())) decide(at, "a struct of floats in registers");
}

FunctionField::Numbers FunctionField::arithmetic(Instruction& at) {
  auto each = [&](auto one) {
    Numbers made;
    for (unsigned i = 0; i < elements_of(at.getType()); ++i) made.push_back(one(i));
    return made;
  };
  SmallVector<Numbers, 3> of;
  for (Value* operand : at.operands()) of.push_back(has_numbers(operand->getType()) ? numbers(operand) : Numbers());
  auto a = [&](unsigned i) { return numbered(at.getOperand(0), i); };
  auto b = [&](unsigned i) { return numbered(at.getOperand(1), i); };
  switch (at.getOpcode()) {
    case Instruction::FNeg: return each([&](unsigned i) { return field_.negative(of[0][i]); });
    case Instruction::FAdd: return each([&](unsigned i) { return field_.add(a(i), b(i), element(&at, i)); });
    case Instruction::FSub: return each([&](unsigned i) { return field_.subtract(a(i), b(i), element(&at, i)); });
    case Instruction::FMul: return each([&](unsigned i) { return field_.multiply(a(i), b(i), element(&at, i)); });
    case Instruction::FDiv: return each([&](unsigned i) { return divide(a(i), b(i), element(&at, i)); });
    case Instruction::FRem:
      return each([&](unsigned i) { return apply("fmod", a(i), b(i).number, element(&at, i), at); });
    case Instruction::FPTrunc: return each([&](unsigned i) { return field_.converted(of[0][i], element(&at, i)); });
    case Instruction::Freeze: return of[0];
    case Instruction::FPExt: return of[0].empty() ? numbers_by_bits(&at) : of[0];
    case Instruction::SIToFP:
    case Instruction::UIToFP:
      return each([&](unsigned i) {
        return field_.of_integer(element(at.getOperand(0), i), at.getOpcode() == Instruction::SIToFP, element(&at, i));
      });
    case Instruction::Select:
      return each([&](unsigned i) { return builder_.CreateSelect(element(at.getOperand(0), i), of[1][i], of[2][i]); });
    case Instruction::BitCast: {
      Value* from = at.getOperand(0);
      if (!of[0].empty() && bytes_of(from->getType()) == bytes_of(at.getType())) return of[0];
      return bits_.carries(from) ? numbers_of_states(states(from), &at) : numbers_by_bits(&at);
    }
    case Instruction::ExtractElement: return {chosen(of[0], at.getOperand(1))};
    case Instruction::InsertElement: return inserted(at);
    case Instruction::ShuffleVector: return shuffled(cast<ShuffleVectorInst>(at), of[0], of[1], 1);
    default: decide(at, "an operation that field runs do not know"); return numbers_by_bits(&at);
  }
}

FunctionField::Numbers FunctionField::inserted(Instruction& at) {
  Numbers made = numbers(at.getOperand(0));
  Value *part = number(at.getOperand(1)), *index = at.getOperand(2);
  for (unsigned i = 0; i < made.size(); ++i)
    made[i] = builder_.CreateSelect(builder_.CreateICmpEQ(index, index_like(index, i)), part, made[i]);
  return made;
}

Value* FunctionField::chosen(const Numbers& from, Value* index) {
  Value* made = from.front();
  for (unsigned i = 1; i < from.size(); ++i)
    made = builder_.CreateSelect(builder_.CreateICmpEQ(index, index_like(index, i)), from[i], made);
  return made;
}

/// `parts`: of each element, one for numbers.
FunctionField::Numbers FunctionField::shuffled(ShuffleVectorInst& at, const Numbers& first, const Numbers& second,
                                               unsigned parts) {
  Numbers both = first, made;
  both.append(second.begin(), second.end());
  for (int from : at.getShuffleMask())
    for (unsigned part = 0; part < parts; ++part)
      made.push_back(from < 0 ? builder_.getInt64(0) : both[unsigned(from) * parts + part]);
  return made;
}

Value* FunctionField::divide(Numbered a, Numbered b, Value* result) {
  if (field_.is_real()) return field_.divide(a, b, result);
  return call_service(builder_, Service::field_divide, {thread_, a.number, b.number});
}

Value* FunctionField::apply(StringRef function, Numbered a, Value* b, Value* result, const Instruction& at) {
  if (field_.is_real()) return function == "sqrt" ? field_.root(a, result) : field_.of_function(result);
  return call_service(
      builder_, Service::field_apply,
      {thread_, builder_.getInt64(xxh3_64bits(function)), a.number, b ? b : builder_.getInt64(0), site(&at, function)});
}

void FunctionField::visit_phi(PHINode& phi) {
  const bool carries = bits_.carries(&phi);
  if (!carries && !has_numbers(phi.getType())) return;
  Numbers made;
  builder_.SetInsertPoint(&phi);
  for (unsigned i = 0; i < (carries ? CarriedBits::words(phi.getType()) : elements_of(phi.getType())); ++i)
    made.push_back(builder_.CreatePHI(builder_.getInt64Ty(), phi.getNumIncomingValues()));
  numbers_[&phi] = made;
  phis_.push_back({&phi, made});
}

void FunctionField::complete(PHINode& phi, const Numbers& made) {
  DenseMap<BasicBlock*, Numbers> known;  // A block may be there more than once, with one value.
  for (unsigned from = 0; from < phi.getNumIncomingValues(); ++from) {
    BasicBlock* block = phi.getIncomingBlock(from);
    builder_.SetInsertPoint(block->getTerminator());
    auto [given, first] = known.try_emplace(block);
    if (first)
      given->second = bits_.carries(&phi) ? states(phi.getIncomingValue(from)) : numbers(phi.getIncomingValue(from));
    for (unsigned i = 0; i < made.size(); ++i) cast<PHINode>(made[i])->addIncoming(given->second[i], block);
  }
}

}  // namespace kernelift::cpu
