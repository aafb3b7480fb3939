// Memory of PTX: addresses and state spaces, loads, stores, atomic operations and asynchronous copies.
#include "sandbox/device/cpu/lower/ptx/ptx_translator.h"

#include <utility>

namespace kernelift::cpu {

using namespace llvm;

/// Generic and global addresses are one; shared ones count from the block's arena.
bool PtxTranslator::to_address() {
  if (!takes(2)) return false;
  Value* a = in(1, builder_.getInt64Ty());
  if (!a || !now_->has("shared")) return a && out(a);
  Value* base = builder_.CreatePtrToInt(operands_.shared_base(builder_), builder_.getInt64Ty());
  return out(now_->has("to") ? builder_.CreateSub(a, base) : builder_.CreateAdd(a, base));
}

StringRef PtxTranslator::space() {
  for (const std::string& part : now_->opcode)
    for (const char* name : {"global", "shared", "local", "const", "param"})
      if (StringRef(part).split("::").first == name) return name;
  return "";
}
unsigned PtxTranslator::vector_width() { return now_->has("v2") ? 2 : now_->has("v4") ? 4 : now_->has("v8") ? 8 : 1; }
bool PtxTranslator::ordered() {
  return now_->has("acquire") || now_->has("release") || now_->has("acq_rel") || now_->has("sc");
}
bool PtxTranslator::is_atomic() { return ordered() || now_->has("relaxed"); }

/// The whole access as one integer, so that braces split it, and so that an atomic one is seen whole, as on GPUs:
/// what hands a value and its flag to other blocks relies on that.
Type* PtxTranslator::access_type() {
  if (!type() || space() == "param" || space() == "local") return nullptr;
  const unsigned bits = type()->getPrimitiveSizeInBits() * vector_width();
  if (bits % 8 != 0 || (is_atomic() && bits > 128)) return nullptr;
  return vector_width() == 1 && !type()->isVectorTy() ? type() : builder_.getIntNTy(bits);
}
Align PtxTranslator::alignment(Type* access) {
  return Align((is_atomic() ? access : type())->getPrimitiveSizeInBits() / 8);
}

bool PtxTranslator::load() {
  Type* access = access_type();
  if (!access || now_->operands.size() < 2) return false;
  Value* from = operands_.address(builder_, now_->operands[1], space());
  if (!from) return false;
  LoadInst* value = builder_.CreateAlignedLoad(access, from, alignment(access), now_->has("volatile"));
  if (is_atomic()) value->setAtomic(ordered() ? AtomicOrdering::Acquire : AtomicOrdering::Monotonic);
  return out(value, is_signed());
}

bool PtxTranslator::store() {
  Type* access = access_type();
  if (!access || now_->operands.size() < 2) return false;
  Value* to = operands_.address(builder_, now_->operands[0], space());
  Value* value = in(1, access);
  if (!to || !value) return false;
  StoreInst* written = builder_.CreateAlignedStore(value, to, alignment(access), now_->has("volatile"));
  if (is_atomic()) written->setAtomic(ordered() ? AtomicOrdering::Release : AtomicOrdering::Monotonic);
  return true;
}

bool PtxTranslator::atomic() {
  const bool answers = now_->opcode[0] == "atom";
  const size_t first = answers ? 1 : 0;
  if (!type() || type()->isVectorTy() || type()->isIntegerTy(1) || now_->operands.size() < first + 2) return false;
  Value* at = operands_.address(builder_, now_->operands[first], space());
  Value* operand = in(first + 1, type());
  if (!at || !operand) return false;
  const AtomicOrdering order = ordered() ? AtomicOrdering::AcquireRelease : AtomicOrdering::Monotonic;
  Value* old = nullptr;
  if (now_->has("cas")) {
    Value* desired = in(first + 2, type());
    if (!desired || !integral()) return false;
    old = builder_.CreateExtractValue(builder_.CreateAtomicCmpXchg(at, operand, desired, MaybeAlign(), order,
                                                                   ordered() ? AtomicOrdering::Acquire : order),
                                      0);
  } else {
    const bool s = is_signed(), f = floating();
    const std::pair<const char*, AtomicRMWInst::BinOp> kOps[] = {{"add", f ? AtomicRMWInst::FAdd : AtomicRMWInst::Add},
                                                                 {"exch", AtomicRMWInst::Xchg},
                                                                 {"and", AtomicRMWInst::And},
                                                                 {"or", AtomicRMWInst::Or},
                                                                 {"xor", AtomicRMWInst::Xor},
                                                                 {"inc", AtomicRMWInst::UIncWrap},
                                                                 {"dec", AtomicRMWInst::UDecWrap},
                                                                 {"min", f   ? AtomicRMWInst::FMin
                                                                         : s ? AtomicRMWInst::Min
                                                                             : AtomicRMWInst::UMin},
                                                                 {"max", f   ? AtomicRMWInst::FMax
                                                                         : s ? AtomicRMWInst::Max
                                                                             : AtomicRMWInst::UMax}};
    for (const auto& [name, op] : kOps)
      if (now_->has(name) && (!f || op == AtomicRMWInst::Xchg || AtomicRMWInst::isFPOperation(op)))
        old = builder_.CreateAtomicRMW(op, at, operand, MaybeAlign(), order);
  }
  return old && (!answers || out(old));
}

/// cp.async, done at once.
bool PtxTranslator::copy() {
  if (!now_->has("async") || now_->has("bulk") || now_->has("mbarrier")) return false;
  if (now_->has("commit_group") || now_->has("wait_group") || now_->has("wait_all")) return true;
  if (now_->operands.size() < 3 || now_->operands.size() > 4 || !now_->has("global")) return false;
  Value* to = operands_.address(builder_, now_->operands[0], "shared");
  Value* from = operands_.address(builder_, now_->operands[1], "global");
  Value* bytes = in(2, builder_.getInt64Ty());
  if (!to || !from || !bytes || !isa<ConstantInt>(bytes)) return false;
  if (takes(4)) {
    Value* some = in(3, builder_.getInt64Ty());
    if (!some) return false;
    builder_.CreateMemSet(to, builder_.getInt8(0), bytes, Align(1));
    bytes = some;
  }
  return builder_.CreateMemCpy(to, Align(1), from, Align(1), bytes);
}

}  // namespace kernelift::cpu
