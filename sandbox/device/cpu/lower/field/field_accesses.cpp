// See function_field.h.
#include <llvm/Analysis/ValueTracking.h>

#include "sandbox/device/cpu/lower/field/function_field.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

/// A local array of which no float is ever stored or read, and nothing copied.
bool is_of_integers(const Value* pointer) {
  return all_of(pointer->users(), [&](const User* user) {
    if (isa<GetElementPtrInst, PHINode>(user)) return isa<GetElementPtrInst>(user) && is_of_integers(user);
    if (auto* load = dyn_cast<LoadInst>(user)) return load->getType()->isIntOrPtrTy();
    if (auto* store = dyn_cast<StoreInst>(user))
      return store->getPointerOperand() == pointer && store->getValueOperand()->getType()->isIntOrPtrTy();
    const auto* call = dyn_cast<IntrinsicInst>(user);
    return call && call->isLifetimeStartOrEnd();
  });
}

/// Of plain integers, in memory that holds nothing else.
bool is_table(const Value* object) {
  const auto* global = dyn_cast<GlobalVariable>(object);
  return global && global->isConstant();
}

}  // namespace

/// The fields of thread and block by which lowered code finds them, tables of the code, and integers of the thread's
/// own.
bool FunctionField::holds_no_states(Value* pointer) const {
  SmallVector<const Value*, 4> objects;
  getUnderlyingObjects(pointer, objects, nullptr, /*MaxLookup=*/0);
  return all_of(objects, [&](const Value* object) {
    if (is_table(object) || object == thread_) return true;
    if (const auto* load = dyn_cast<LoadInst>(object)) return load->getPointerOperand() == thread_;  // The block.
    return isa<AllocaInst>(object) && is_of_integers(object);
  });
}

Value* FunctionField::at_offset(Value* pointer, unsigned bytes) {
  return bytes == 0 ? pointer : builder_.CreateConstGEP1_64(builder_.getInt8Ty(), pointer, bytes);
}

FunctionField::Numbers FunctionField::load_numbers(Value* pointer, Type* type, const Instruction& at) {
  Numbers made;
  const unsigned bytes = bytes_of(type);
  Value* where = site(&at, kBitsUsed);
  for (unsigned i = 0; i < elements_of(type); ++i)
    made.push_back(call_service(builder_, Service::field_load,
                                {thread_, at_offset(pointer, i * bytes), builder_.getInt32(bytes), where}));
  return made;
}

void FunctionField::store_numbers(Value* pointer, Type* type, const Numbers& stored, const Instruction& at) {
  const unsigned bytes = bytes_of(type);
  Value* where = site(&at, kBitsUsed);
  for (unsigned i = 0; i < stored.size(); ++i)
    call_service(builder_, Service::field_store,
                 {thread_, at_offset(pointer, i * bytes), builder_.getInt32(bytes), stored[i], where});
}

FunctionField::Numbers FunctionField::load_states(Value* pointer, unsigned words, const Instruction& at) {
  Numbers made;
  Value* where = site(&at, kBitsUsed);
  for (unsigned i = 0; i < words; ++i)
    made.push_back(call_service(builder_, Service::field_load_word, {thread_, at_offset(pointer, 4 * i), where}));
  return made;
}

void FunctionField::store_states(Value* pointer, const Numbers& stored, const Instruction& at) {
  Value* where = site(&at, kBitsUsed);
  for (unsigned i = 0; i < stored.size(); ++i)
    call_service(builder_, Service::field_store_word, {thread_, at_offset(pointer, 4 * i), stored[i], where});
}

void FunctionField::touch(Value* pointer, Value* bytes, bool wrote, const Instruction& at) {
  call_service(builder_, Service::field_touch,
               {thread_, pointer, builder_.CreateZExtOrTrunc(bytes, builder_.getInt64Ty()), builder_.getInt32(wrote),
                site(&at, kBitsUsed)});
}

void FunctionField::touch(Value* pointer, Type* type, bool wrote, const Instruction& at) {
  touch(pointer, builder_.getInt64(module_.getDataLayout().getTypeStoreSize(type).getFixedValue()), wrote, at);
}

void FunctionField::visit_load(LoadInst& load) {
  Value* pointer = load.getPointerOperand();
  Type* type = load.getType();
  if (has_numbers(type)) {
    numbers_[&load] = holds_no_states(pointer) ? numbers_by_bits(&load) : load_numbers(pointer, type, load);
    return;
  }
  if (bits_.carries(&load)) numbers_[&load] = load_states(pointer, CarriedBits::words(type), load);
  const bool is_read = !load.use_empty() && (!bits_.carries(&load) || bits_.is_used(&load));
  if (is_read && !holds_no_states(pointer)) touch(pointer, type, false, load);
}

void FunctionField::visit_store(StoreInst& store) {
  Value *pointer = store.getPointerOperand(), *value = store.getValueOperand();
  if (has_numbers(value->getType())) return store_numbers(pointer, value->getType(), numbers(value), store);
  if (bits_.carries(value)) return store_states(pointer, states(value), store);
  if (!holds_no_states(pointer)) touch(pointer, value->getType(), true, store);
}

void FunctionField::visit_change(AtomicRMWInst& change) {
  Value *pointer = change.getPointerOperand(), *value = change.getValOperand();
  Type* type = change.getType();
  before(change);
  if (has_numbers(type)) {
    const Numbers old = load_numbers(pointer, type, change);
    after(change);
    Numbers stored;
    for (unsigned i = 0; i < old.size(); ++i) {
      Value *a = element(&change, i), *b = element(value, i), *with = numbers(value)[i], *made = with;
      switch (change.getOperation()) {
        case AtomicRMWInst::Xchg: break;
        case AtomicRMWInst::FAdd: made = field_.add({old[i], a}, {with, b}, builder_.CreateFAdd(a, b)); break;
        case AtomicRMWInst::FSub: made = field_.subtract({old[i], a}, {with, b}, builder_.CreateFSub(a, b)); break;
        default:
          decide(change, "the comparison");
          const bool least = change.getOperation() == AtomicRMWInst::FMin;
          Value* wins = least ? builder_.CreateFCmpOLT(a, b) : builder_.CreateFCmpOGT(a, b);
          made = picked(builder_.CreateSelect(wins, a, b), a, b, old[i], with);
      }
      stored.push_back(made);
    }
    numbers_[&change] = old;
    return store_numbers(pointer, type, stored, change);
  }
  if (bits_.carries(&change)) numbers_[&change] = load_states(pointer, CarriedBits::words(type), change);
  if (!change.use_empty() || change.getOperation() != AtomicRMWInst::Xchg) touch(pointer, type, false, change);
  after(change);
  if (bits_.carries(value)) store_states(pointer, states(value), change);
  else touch(pointer, type, true, change);
}

/// Threads run one after another here, so that it fails only where it would with nobody in between.
void FunctionField::visit_exchange(AtomicCmpXchgInst& exchange) {
  Value *pointer = exchange.getPointerOperand(), *value = exchange.getNewValOperand();
  const unsigned words = CarriedBits::words(value->getType());
  before(exchange);
  if (words == 0 || (!bits_.carries(value) && !bits_.carries(exchange.getCompareOperand()))) {
    touch(pointer, value->getType(), false, exchange);
    after(exchange);
    return touch(pointer, value->getType(), true, exchange);
  }
  const Numbers old = exchanged_[&exchange] = load_states(pointer, words, exchange);
  after(exchange);
  Value* success = builder_.CreateExtractValue(&exchange, 1);
  Numbers stored;
  const Numbers given = states(value);
  for (unsigned i = 0; i < words; ++i) stored.push_back(builder_.CreateSelect(success, given[i], old[i]));
  store_states(pointer, stored, exchange);
}

void FunctionField::visit_memory(MemIntrinsic& copy) {
  auto* transfer = dyn_cast<MemTransferInst>(&copy);
  if (!transfer) return touch(copy.getRawDest(), copy.getLength(), true, copy);
  const auto* length = dyn_cast<ConstantInt>(copy.getLength());
  before(copy);
  if (!length || length->getZExtValue() % 4 == 0) {
    call_service(builder_, Service::field_copy,
                 {thread_, transfer->getRawDest(), transfer->getRawSource(),
                  builder_.CreateZExtOrTrunc(copy.getLength(), builder_.getInt64Ty()), site(&copy, kBitsUsed)});
    return;
  }
  touch(transfer->getRawSource(), copy.getLength(), false, copy);
  after(copy);
  touch(copy.getRawDest(), copy.getLength(), true, copy);
}

}  // namespace kernelift::cpu
