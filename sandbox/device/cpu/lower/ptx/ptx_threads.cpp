// What PTX's threads do together: barriers, fences, warp operations, sleeping and ending. They become calls of the same
// nvvm.* functions that compiled CUDA uses, so they mean the same.
#include "sandbox/device/cpu/lower/ptx/ptx_translator.h"

namespace kernelift::cpu {

using namespace llvm;

bool PtxTranslator::barrier() {
  Type* word = builder_.getInt32Ty();
  if (now_->has("warp")) return takes(1) && call("nvvm.bar.warp.sync", builder_.getVoidTy(), {in(0, word)});
  if (now_->has("red") || now_->operands.empty() || now_->operands.size() > 2 || now_->has("cluster")) return false;
  Value* id = in(0, word);
  if (now_->has("arrive"))
    return takes(2) && call("nvvm.barrier.cta.arrive.count", builder_.getVoidTy(), {id, in(1, word)});
  if (!now_->has("sync")) return false;
  if (takes(1)) return call("nvvm.barrier.cta.sync.all", builder_.getVoidTy(), {id});
  return call("nvvm.barrier.cta.sync.count", builder_.getVoidTy(), {id, in(1, word)});
}

bool PtxTranslator::fence() { return builder_.CreateFence(AtomicOrdering::SequentiallyConsistent); }

bool PtxTranslator::shuffle() {
  Type* word = builder_.getInt32Ty();
  if (!now_->has("sync") || !takes(5)) return false;
  std::string how;
  for (const char* mode : {"idx", "up", "down", "bfly"})
    if (now_->has(mode)) how = mode;
  auto* pair = StructType::get(word, builder_.getInt1Ty());
  Value* both = call("nvvm.shfl.sync." + how + ".i32p", pair, {in(4, word), in(1, word), in(2, word), in(3, word)});
  if (how.empty() || !both) return false;
  auto [value, predicate] = StringRef(now_->operands[0]).split('|');
  if (!predicate.empty() && !operands_.write(builder_, predicate.trim(), builder_.CreateExtractValue(both, 1)))
    return false;
  return operands_.write(builder_, value.trim(), builder_.CreateExtractValue(both, 0));
}

bool PtxTranslator::vote() {
  Type* word = builder_.getInt32Ty();
  if (now_->opcode[0] == "activemask") return takes(1) && out(call("nvvm.activemask", word, {}));
  if (!now_->has("sync") || !takes(3)) return false;
  StringRef predicate = now_->operands[1];
  const bool negated = predicate.consume_front("!");
  Value* mine = operands_.read(builder_, predicate, builder_.getInt1Ty());
  if (!mine) return false;
  if (negated) mine = builder_.CreateNot(mine);
  const bool ballot = now_->has("ballot");
  const std::string how = ballot ? "ballot" : now_->has("all") ? "all" : now_->has("any") ? "any" : "uni";
  return out(call("nvvm.vote." + how + ".sync", ballot ? word : builder_.getInt1Ty(), {in(2, word), mine}));
}

bool PtxTranslator::reduce() {
  Type* word = builder_.getInt32Ty();
  if (!takes(3) || !integral() || now_->opcode.size() != 4) return false;
  std::string how = now_->opcode[2];
  if ((how == "min" || how == "max") && !is_signed()) how = "u" + how;
  return out(call("nvvm.redux.sync." + how, word, {in(1, word), in(2, word)}));
}

bool PtxTranslator::match() {
  Type* word = builder_.getInt32Ty();
  const unsigned bits = integral() ? type()->getIntegerBitWidth() : 0;
  if (!takes(3) || !now_->has("any") || (bits != 32 && bits != 64)) return false;
  return out(call("nvvm.match.any.sync.i" + std::to_string(bits), word, {in(2, word), in(1, type())}));
}

bool PtxTranslator::end() {
  if (now_->opcode[0] == "trap") return builder_.CreateIntrinsic(Intrinsic::trap, {});
  return call("nvvm.exit", builder_.getVoidTy(), {});
}
bool PtxTranslator::sleep() {
  return takes(1) && call("nvvm.nanosleep", builder_.getVoidTy(), {in(0, builder_.getInt32Ty())});
}

}  // namespace kernelift::cpu
