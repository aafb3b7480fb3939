// Kernels with warp operations: one function that resumes neighbouring lanes of a warp at one suspension, and the plan
// that lets the executor call it. Lanes that move together are one loop; lanes that diverged are several. Inside a
// warp the loop runs row by row of the block, so that tid.x is the loop's own count and memory accesses stay
// unit-stride.
//
//   step(block, suspension, first, count):
//     switch (suspension)
//       case i:  for each row of the block in [first, first + count)
//                  for each x:  suspended[t] = region i of thread t
#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/context_layout.h"
#include "sandbox/device/cpu/lower/services.h"
#include "sandbox/device/cpu/schedule/thread_loops.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

class WarpFunction {
 public:
  WarpFunction(Kernel& kernel, const CutKernel& cut)
      : kernel_(kernel),
        cut_(cut),
        module_(*kernel.body->getParent()),
        context_(module_.getContext()),
        builder_(context_),
        i32_(builder_.getInt32Ty()),
        i64_(builder_.getInt64Ty()),
        pointer_(builder_.getPtrTy()) {}

  void build() {
    kernel_.frame_bytes = cut_.frame_bytes;
    build_step();
    Function& run = *create_run(kernel_);
    builder_.SetInsertPoint(BasicBlock::Create(context_, "entry", &run));
    call_service(builder_, Service::run_warps, {run.getArg(0), plan()});
    builder_.CreateRetVoid();
    kernel_.run = &run;
  }

 private:
  void build_step() {
    step_ = Function::Create(FunctionType::get(i32_, {pointer_, i32_, i32_, i32_}, false), GlobalValue::InternalLinkage,
                             "kl.step." + kernel_.name, module_);
    step_->addFnAttr(Attribute::NoUnwind);
    step_->addParamAttr(0, Attribute::NoAlias);
    builder_.SetInsertPoint(BasicBlock::Create(context_, "entry", step_));
    Value* block = step_->getArg(0);
    StructType* thread = thread_type(context_);
    thread_ = builder_.CreateAlloca(thread, nullptr, "thread");
    builder_.CreateStore(block, builder_.CreateStructGEP(thread, thread_, ThreadField::block));
    width_ = load_block_field(builder_, block, BlockField::ntid_x);
    height_ = load_block_field(builder_, block, BlockField::ntid_y);
    frame_ = load_block_field(builder_, block, BlockField::frame);
    stride_ = load_block_field(builder_, block, BlockField::frame_stride);
    parameters_ = load_parameters(builder_, kernel_, block);
    suspended_ =
        builder_.CreateInBoundsPtrAdd(frame_, builder_.CreateNUWMul(stride_, builder_.getInt64(cut_.suspended_row)));
    end_ = builder_.CreateAdd(step_->getArg(2), step_->getArg(3), "end", true, true);
    BasicBlock* never = BasicBlock::Create(context_, "never", step_);
    SwitchInst* choice = builder_.CreateSwitch(step_->getArg(1), never);
    builder_.SetInsertPoint(never);
    builder_.CreateUnreachable();
    for (unsigned i = 0; i < cut_.regions.size(); ++i) {
      BasicBlock* start = BasicBlock::Create(context_, "region" + Twine(i), step_);
      choice->addCase(builder_.getInt32(i), start);
      build_rows(cut_.regions[i], *start);
    }
  }

  /// The row a thread is in, as (x, y, z) of the thread itself.
  struct Place {
    Value *x, *y, *z;
  };

  /// Blocks of one row, the usual case, need no division.
  Place place_of_thread(Value* linear) {
    BasicBlock* before = builder_.GetInsertBlock();
    BasicBlock* divide = BasicBlock::Create(context_, "divide", step_);
    BasicBlock* placed = BasicBlock::Create(context_, "placed", step_);
    builder_.CreateCondBr(builder_.CreateICmpULT(linear, width_), placed, divide);
    builder_.SetInsertPoint(divide);
    Value* row = builder_.CreateUDiv(linear, width_);
    Value* x = builder_.CreateSub(linear, builder_.CreateMul(row, width_));
    Value* z = builder_.CreateUDiv(row, height_);
    Value* y = builder_.CreateSub(row, builder_.CreateMul(z, height_));
    builder_.CreateBr(placed);
    builder_.SetInsertPoint(placed);
    auto either = [&](Value* first, Value* later, const char* name) {
      PHINode* phi = builder_.CreatePHI(i32_, 2, name);
      phi->addIncoming(first, before);
      phi->addIncoming(later, divide);
      return phi;
    };
    Value* zero = builder_.getInt32(0);
    Value* px = either(linear, x, "x0");
    Value* py = either(zero, y, "y");
    Value* pz = either(zero, z, "z");
    return {px, py, pz};
  }

  void build_rows(const Region& region, BasicBlock& start) {
    builder_.SetInsertPoint(&start);
    BasicBlock* rows = BasicBlock::Create(context_, "row", step_);
    builder_.CreateBr(rows);
    builder_.SetInsertPoint(rows);
    PHINode* linear = builder_.CreatePHI(i32_, 2, "linear");
    linear->addIncoming(step_->getArg(2), &start);
    const Place place = place_of_thread(linear);
    Value* left = builder_.CreateSub(end_, linear, "", true, true);
    Value* in_row = builder_.CreateSub(width_, place.x, "", true, true);
    Value* count = builder_.CreateBinaryIntrinsic(Intrinsic::umin, left, in_row);
    build_lanes(region, place, linear, count);
    Value* next = builder_.CreateAdd(linear, count, "", true, true);
    BasicBlock* leave = BasicBlock::Create(context_, "leave", step_);
    linear->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpULT(next, end_), rows, leave);
    builder_.SetInsertPoint(leave);
    builder_.CreateRet(builder_.getInt32(region.exits.size() == 1 ? region.exits[0] : KL_DIVERGENT));
  }

  void build_lanes(const Region& region, const Place& place, Value* first, Value* count) {
    BasicBlock* before = builder_.GetInsertBlock();
    BasicBlock* lanes = BasicBlock::Create(context_, "lane", step_);
    builder_.CreateBr(lanes);
    builder_.SetInsertPoint(lanes);
    PHINode* index = builder_.CreatePHI(i32_, 2, "i");
    index->addIncoming(builder_.getInt32(0), before);
    Value* linear = builder_.CreateAdd(first, index, "", true, true);
    StructType* thread = thread_type(context_);
    const std::pair<unsigned, Value*> ids[] = {{ThreadField::tid_x, builder_.CreateAdd(place.x, index, "", true, true)},
                                               {ThreadField::tid_y, place.y},
                                               {ThreadField::tid_z, place.z},
                                               {ThreadField::linear, linear}};
    for (auto& [field, value] : ids) builder_.CreateStore(value, builder_.CreateStructGEP(thread, thread_, field));
    Value* wide = builder_.CreateZExt(linear, i64_);
    SmallVector<Value*, 12> arguments = {thread_, frame_, stride_, wide, builder_.getInt32(0)};
    arguments.append(parameters_.begin(), parameters_.end());
    Value* reached = builder_.CreateCall(region.function, arguments);
    tag_with_group(builder_.CreateStore(reached, builder_.CreateInBoundsGEP(i32_, suspended_, wide)), region);
    Value* next = builder_.CreateAdd(index, builder_.getInt32(1), "", true, true);
    BasicBlock* after = BasicBlock::Create(context_, "after", step_);
    BranchInst* latch = builder_.CreateCondBr(builder_.CreateICmpULT(next, count), lanes, after);
    index->addIncoming(next, builder_.GetInsertBlock());
    annotate_thread_loop(latch, region);
    builder_.SetInsertPoint(after);
  }

  /// kl_warp_plan and its kl_suspensions; LLVM's default struct layout for the host is C's.
  Constant* plan() {
    std::vector<Constant*> suspensions;
    for (const Suspension& at : cut_.suspensions) {
      const uint32_t flags = (at.mask ? KL_UNIFORM_MASK : 0) | (at.operand ? KL_UNIFORM_OPERAND : 0);
      suspensions.push_back(ConstantStruct::getAnon({builder_.getInt32(at.wait), builder_.getInt32(at.op),
                                                     builder_.getInt32(flags), at.mask ? at.mask : builder_.getInt32(0),
                                                     at.operand ? at.operand : builder_.getInt64(0),
                                                     global(ConstantDataArray::getString(context_, at.place))}));
    }
    Constant* table =
        global(ConstantArray::get(ArrayType::get(suspensions[0]->getType(), suspensions.size()), suspensions));
    return global(
        ConstantStruct::getAnon({step_, builder_.getInt64(cut_.suspended_row), builder_.getInt64(cut_.mask_row),
                                 builder_.getInt64(cut_.value_row), builder_.getInt64(cut_.operand_row),
                                 builder_.getInt64(cut_.answer_row), table}));
  }

  Constant* global(Constant* value) {
    return new GlobalVariable(module_, value->getType(), true, GlobalValue::PrivateLinkage, value, "kl.plan");
  }

  Kernel& kernel_;
  const CutKernel& cut_;
  Module& module_;
  LLVMContext& context_;
  IRBuilder<> builder_;
  Type *i32_, *i64_, *pointer_;
  Function* step_ = nullptr;
  Value *thread_ = nullptr, *width_ = nullptr, *height_ = nullptr, *frame_ = nullptr, *stride_ = nullptr;
  Value *suspended_ = nullptr, *end_ = nullptr;
  SmallVector<Value*, 8> parameters_;
};

}  // namespace

void build_warp_loops(Kernel& kernel, const CutKernel& cut) { WarpFunction(kernel, cut).build(); }

}  // namespace kernelift::cpu
