// PTX special registers as values of the block context. Those that cannot change are read once, at the function's
// entry, which lets the optimiser (and the region cutter, which recomputes them after a barrier) see one value.
#include <llvm/IR/MDBuilder.h>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/context_layout.h"
#include "sandbox/device/cpu/lower/intrinsics.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

using namespace llvm;

Value* SpecialRegisters::read(StringRef name, IRBuilderBase& at) {
  if (name == "clock" || name == "clock64" || name == "clock_hi") {
    Value* cycles = at.CreateIntrinsic(Intrinsic::readcyclecounter, {});
    if (name == "clock64") return cycles;
    return at.CreateTrunc(name == "clock" ? cycles : at.CreateLShr(cycles, 32), at.getInt32Ty());
  }
  if (name == "globaltimer" || name == "globaltimer_lo" || name == "globaltimer.lo" || name == "globaltimer_hi") {
    Value* time = call_service(at, Service::global_timer, {});
    if (name == "globaltimer") return time;
    return at.CreateTrunc(name == "globaltimer_hi" ? at.CreateLShr(time, 32) : time, at.getInt32Ty());
  }
  Value*& value = known_[name.str()];
  if (!value) {
    BasicBlock& entry = function_.getEntryBlock();
    IRBuilder<> builder(&entry, entry.begin());
    while (builder.GetInsertPoint() != entry.end() && isa<AllocaInst>(*builder.GetInsertPoint()))
      builder.SetInsertPoint(&entry, std::next(builder.GetInsertPoint()));
    value = entry_value(name, builder);
  }
  return value;
}

Value* SpecialRegisters::entry_value(StringRef name, IRBuilderBase& builder) {
  Value* thread = DeviceModule::thread_of(function_);
  static const std::map<StringRef, unsigned> kThread = {
      {"tid.x", ThreadField::tid_x}, {"tid.y", ThreadField::tid_y}, {"tid.z", ThreadField::tid_z}};
  static const std::map<StringRef, unsigned> kBlock = {
      {"ctaid.x", BlockField::ctaid_x},   {"ctaid.y", BlockField::ctaid_y},   {"ctaid.z", BlockField::ctaid_z},
      {"ntid.x", BlockField::ntid_x},     {"ntid.y", BlockField::ntid_y},     {"ntid.z", BlockField::ntid_z},
      {"nctaid.x", BlockField::nctaid_x}, {"nctaid.y", BlockField::nctaid_y}, {"nctaid.z", BlockField::nctaid_z},
      {"smid", BlockField::processor}};
  if (auto field = kThread.find(name); field != kThread.end()) {
    Value* id = load_thread_field(builder, thread, field->second);
    // A thread index is below 1024; saying so lets 32-bit index arithmetic widen.
    MDBuilder ranges(builder.getContext());
    cast<LoadInst>(id)->setMetadata(LLVMContext::MD_range, ranges.createRange(APInt(32, 0), APInt(32, 1024)));
    return id;
  }
  if (auto field = kBlock.find(name); field != kBlock.end()) return block_field_of(builder, thread, field->second);
  if (name == "warpsize" || name == "WARP_SZ") return builder.getInt32(KL_WARP_SIZE);
  if (name == "tid.w" || name == "ctaid.w" || name == "gridid") return builder.getInt32(0);
  if (name == "ntid.w" || name == "nctaid.w") return builder.getInt32(1);
  Value* linear = load_thread_field(builder, thread, ThreadField::linear);
  Value* lane = builder.CreateAnd(linear, KL_WARP_SIZE - 1);
  if (name == "laneid") return lane;
  if (name == "warpid") return builder.CreateLShr(linear, 5);
  Value* bit = builder.CreateShl(builder.getInt32(1), lane);
  Value* below = builder.CreateSub(bit, builder.getInt32(1));
  if (name == "lanemask_eq" || name == "lanemask.eq") return bit;
  if (name == "lanemask_lt" || name == "lanemask.lt") return below;
  if (name == "lanemask_le" || name == "lanemask.le") return builder.CreateOr(below, bit);
  if (name == "lanemask_ge" || name == "lanemask.ge") return builder.CreateNot(below);
  if (name == "lanemask_gt" || name == "lanemask.gt") return builder.CreateNot(builder.CreateOr(below, bit));
  if (name == "nwarpid") {
    Value* threads = builder.CreateMul(builder.CreateMul(block_field_of(builder, thread, BlockField::ntid_x),
                                                         block_field_of(builder, thread, BlockField::ntid_y)),
                                       block_field_of(builder, thread, BlockField::ntid_z));
    return builder.CreateLShr(builder.CreateAdd(threads, builder.getInt32(31)), 5);
  }
  return nullptr;
}

}  // namespace kernelift::cpu
