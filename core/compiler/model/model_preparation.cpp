// See model_preparation.h. No pass here may merge or split accesses: each one of the source stays one, except where
// values move to registers.
#include "core/compiler/model/model_preparation.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/UnrollLoop.h>

#include "core/compiler/model/numbers/kept_values.h"
#include "core/compiler/model/source_line.h"

namespace kernelift {
namespace {

constexpr unsigned kMostCopies = 64;         ///< Iterations of a loop that is unrolled to be understood.
constexpr unsigned kRunsOnce = 2;            ///< Times that the header of a loop is reached that runs once at most.
constexpr size_t kMostInstructions = 20000;  ///< A larger kernel is not unrolled.

void set_block(llvm::Function& kernel, const Dim3& block) {
  for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(kernel))) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call) continue;
    uint32_t size = 0;
    switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x: size = block.x; break;
      case llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_y: size = block.y; break;
      case llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_z: size = block.z; break;
      default: continue;
    }
    call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), size));
    call->eraseFromParent();
  }
}

/// CUDA's integer max and min, which scalar evolution knows under LLVM's names only.
void use_intrinsics(llvm::Function& kernel) {
  const std::pair<const char*, llvm::Intrinsic::ID> known[] = {
      {"__nv_max", llvm::Intrinsic::smax},  {"__nv_llmax", llvm::Intrinsic::smax},
      {"__nv_min", llvm::Intrinsic::smin},  {"__nv_llmin", llvm::Intrinsic::smin},
      {"__nv_umax", llvm::Intrinsic::umax}, {"__nv_ullmax", llvm::Intrinsic::umax},
      {"__nv_umin", llvm::Intrinsic::umin}, {"__nv_ullmin", llvm::Intrinsic::umin}};
  for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(kernel))) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    auto* callee = call ? call->getCalledFunction() : nullptr;
    if (!callee) continue;
    for (auto& [name, id] : known) {
      if (callee->getName() != name) continue;
      llvm::IRBuilder<> builder(call);
      call->replaceAllUsesWith(builder.CreateBinaryIntrinsic(id, call->getArgOperand(0), call->getArgOperand(1)));
      call->eraseFromParent();
      break;
    }
  }
}

/// Everything that the kernel calls and whose body is there becomes part of it.
void inline_calls(llvm::Module& module, llvm::Function& kernel) {
  for (auto& function : module) {
    if (function.isDeclaration() || &function == &kernel) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    if (!function.hasFnAttribute(llvm::Attribute::NoReturn)) function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  kernel.removeFnAttr(llvm::Attribute::OptimizeNone);
  for (auto& function : module)
    for (auto& instruction : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) call->removeFnAttr(llvm::Attribute::NoInline);
}

/// A structure that the kernel gets by value and changes is a variable of each thread. What is only read stays where it
/// is: its members are parameters. EXPECTS: objects that only hold a structure's address for a while are registers, as
/// PyTorch's accessor of a tensor's row, which points at the sizes in the tensor's own. True: some have memory now.
bool give_changed_structures_memory(llvm::Function& kernel) {
  bool any = false;
  for (auto& argument : kernel.args()) {
    if (!argument.hasByValAttr()) continue;
    llvm::SmallVector<llvm::Value*> open{&argument};
    llvm::SmallPtrSet<llvm::Value*, 8> seen;
    bool changed = false;
    while (!open.empty() && !changed) {
      auto* pointer = open.pop_back_val();
      if (!seen.insert(pointer).second) continue;
      for (auto& use : pointer->uses()) {
        auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        if (llvm::isa<llvm::GetElementPtrInst, llvm::AddrSpaceCastInst, llvm::PHINode, llvm::SelectInst>(user))
          open.push_back(user);
        else if (auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(user))
          changed |= copy->getRawDest() == use.get();
        else changed |= user->mayWriteToMemory();  // Or its address is kept somewhere.
      }
    }
    if (!changed) continue;
    llvm::IRBuilder<> builder(&*kernel.getEntryBlock().getFirstInsertionPt());
    const auto align = argument.getParamAlign().valueOrOne();
    auto* own = builder.CreateAlloca(argument.getParamByValType());
    own->setAlignment(align);
    argument.replaceAllUsesWith(own);
    const uint64_t bytes = kernel.getParent()->getDataLayout().getTypeAllocSize(argument.getParamByValType());
    builder.CreateMemCpy(own, align, &argument, align, bytes);
    any = true;
  }
  return any;
}

bool steps_in_packed_structure(const llvm::Value* pointer) {
  while (auto* step = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
    auto* structure = llvm::dyn_cast<llvm::StructType>(step->getSourceElementType());
    if (structure && structure->isPacked()) return true;
    pointer = step->getPointerOperand()->stripPointerCasts();
  }
  return false;
}

/// clang reads a vector from an array of the device code element by element, since it sees how the array is aligned;
/// other compilers take the vector's alignment for granted. Where the array's own does not suffice, it is noted.
void use_natural_alignment(llvm::Function& kernel, std::set<std::string>& unmodelled) {
  auto needs = [&](llvm::Value* pointer, llvm::Align align, llvm::Align natural) -> std::optional<llvm::Align> {
    pointer = pointer->stripPointerCasts();
    auto* array = llvm::dyn_cast<llvm::GlobalVariable>(llvm::getUnderlyingObject(pointer));
    if (!array || array->hasPrivateLinkage() || natural <= align || steps_in_packed_structure(pointer))
      return std::nullopt;
    if (array->getAlign().valueOrOne() >= natural) return natural;
    unmodelled.insert("accesses to " + llvm::demangle(array->getName().str()) + " that are aligned to " +
                      std::to_string(natural.value()) + " bytes");
    return std::nullopt;
  };
  const llvm::DataLayout& layout = kernel.getParent()->getDataLayout();
  for (auto& instruction : llvm::instructions(kernel)) {
    if (auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(&instruction)) {
      const auto to = copy->getDestAlign().valueOrOne(), from = copy->getSourceAlign().valueOrOne();
      if (auto align = needs(copy->getRawDest(), to, from)) copy->setDestAlignment(*align);
      if (auto align = needs(copy->getRawSource(), from, to)) copy->setSourceAlignment(*align);
    } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      if (auto align = needs(load->getPointerOperand(), load->getAlign(), layout.getABITypeAlign(load->getType())))
        load->setAlignment(*align);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      const auto natural = layout.getABITypeAlign(store->getValueOperand()->getType());
      if (auto align = needs(store->getPointerOperand(), store->getAlign(), natural)) store->setAlignment(*align);
    }
  }
}

/// The numbers and pointers that a variable of the type is made of, with their offsets; false: many, or others.
bool add_parts(llvm::Type* type, uint64_t offset, const llvm::DataLayout& layout,
               llvm::SmallVectorImpl<std::pair<llvm::Type*, uint64_t>>& parts) {
  constexpr size_t kMost = 4;  // Of larger ones, elements are chosen by an index, in memory.
  if (type->isIntegerTy() || type->isPointerTy() || type->isFloatingPointTy()) {
    parts.emplace_back(type, offset);
    return parts.size() <= kMost;
  }
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
    const uint64_t stride = layout.getTypeAllocSize(array->getElementType());
    for (uint64_t i = 0; i < array->getNumElements(); ++i)
      if (!add_parts(array->getElementType(), offset + i * stride, layout, parts)) return false;
    return true;
  }
  auto* structure = llvm::dyn_cast<llvm::StructType>(type);
  for (unsigned i = 0; structure && i < structure->getNumElements(); ++i)
    if (!add_parts(structure->getElementType(i), offset + layout.getStructLayout(structure)->getElementOffset(i),
                   layout, parts))
      return false;
  return structure && !structure->isOpaque();
}

/// Integers, floats and pointers that no path has set yet have a value that nobody knows. Passes take it to be whatever
/// suits them, which no two of them need to agree upon.
void give_unset_variables_values(llvm::Function& kernel) {
  for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(kernel))) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (!variable || variable->isArrayAllocation()) continue;
    llvm::SmallVector<std::pair<llvm::Type*, uint64_t>> parts;
    if (!add_parts(variable->getAllocatedType(), 0, kernel.getParent()->getDataLayout(), parts)) continue;
    llvm::IRBuilder<> builder(variable->getNextNode());
    for (auto& [type, offset] : parts) {
      std::string name;
      llvm::raw_string_ostream(name) << kUnsetValue << *type;
      auto value = kernel.getParent()->getOrInsertFunction(name, llvm::FunctionType::get(type, false));
      auto* function = llvm::cast<llvm::Function>(value.getCallee());
      function->setDoesNotAccessMemory(), function->setDoesNotThrow(), function->setWillReturn();
      auto* place = offset == 0 ? variable : builder.CreatePtrAdd(variable, builder.getInt64(offset));
      builder.CreateStore(builder.CreateCall(value), place);
    }
  }
}

/// What the kernel writes to; nullopt: some address is of unknown origin. Arguments are taken to be different memory,
/// as everywhere in a model.
std::optional<llvm::SmallPtrSet<const llvm::Value*, 8>> written_objects(llvm::Function& kernel) {
  llvm::SmallPtrSet<const llvm::Value*, 8> written;
  for (auto& instruction : llvm::instructions(kernel)) {
    if (!instruction.mayWriteToMemory()) continue;
    auto add = [&](const llvm::Value* pointer) {
      auto* object = llvm::getUnderlyingObject(pointer);
      if (!llvm::isa<llvm::Argument, llvm::AllocaInst, llvm::GlobalVariable>(object)) return false;
      written.insert(object);
      return true;
    };
    if (auto* pointer = llvm::getPointerOperand(&instruction)) {
      if (!add(pointer)) return std::nullopt;
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      for (auto& argument : call->args())
        if (argument->getType()->isPointerTy() && !add(argument)) return std::nullopt;
    } else if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      if (!add(atomic->getPointerOperand())) return std::nullopt;
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      if (!add(exchange->getPointerOperand())) return std::nullopt;
    }
  }
  return written;
}

/// Values that are the same in all iterations are computed before the loop, parameters at the kernel's start: only
/// there does scalar evolution know them. Loads of other memory stay where they are. True: a load was moved.
bool hoist(llvm::Function& kernel, llvm::LoopInfo& loops) {
  auto* start = &*kernel.getEntryBlock().getFirstInsertionPt();
  for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(kernel))) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (!load || load->getParent() == start->getParent()) continue;
    llvm::APInt offset(64, 0);
    auto* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(kernel.getParent()->getDataLayout(),
                                                                              offset, /*AllowNonInbounds=*/true);
    auto* argument = llvm::dyn_cast<llvm::Argument>(base);
    if (!argument || !argument->hasByValAttr()) continue;
    llvm::IRBuilder<> builder(start);
    auto* from = builder.CreatePtrAdd(argument, builder.getInt64(offset.getSExtValue()));
    auto* early = builder.CreateAlignedLoad(load->getType(), from, load->getAlign());
    load->replaceAllUsesWith(early);
    load->eraseFromParent();
  }
  const auto written = written_objects(kernel);
  bool moved = false;
  const auto all = loops.getLoopsInPreorder();
  for (auto* loop : llvm::reverse(all))
    for (auto* block : loop->blocks())
      for (auto& instruction : llvm::make_early_inc_range(*block)) {
        bool changed = false;
        if (!loop->getLoopPreheader() || instruction.getType()->isVoidTy()) continue;
        loop->makeLoopInvariant(&instruction, changed);
        // The header is reached whenever the loop is: a division by a parameter is done before it as well.
        if (!changed && block == loop->getHeader() && llvm::isa<llvm::BinaryOperator>(instruction) &&
            loop->hasLoopInvariantOperands(&instruction))
          instruction.moveBefore(loop->getLoopPreheader()->getTerminator()->getIterator());
        // So is the load of a bound from memory that the kernel does not write.
        auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
        if (load && block == loop->getHeader() && written && !load->isVolatile() &&
            loop->isLoopInvariant(load->getPointerOperand()) &&
            llvm::isa<llvm::Argument>(llvm::getUnderlyingObject(load->getPointerOperand())) &&
            !written->contains(llvm::getUnderlyingObject(load->getPointerOperand()))) {
          load->moveBefore(loop->getLoopPreheader()->getTerminator()->getIterator());
          moved = true;
        }
      }
  return moved;
}

/// A counter that no affine expression describes, as in `for (s = 128; s > 0; s /= 2)`, has known values in a loop
/// with a known number of iterations once that is unrolled.
bool has_other_counter(llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  for (auto& phi : loop.getHeader()->phis()) {
    if (!phi.getType()->isIntegerTy()) continue;
    auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(&phi));
    if (recurrence && recurrence->isAffine()) continue;
    if (llvm::isa<llvm::ConstantInt>(phi.getIncomingValueForBlock(loop.getLoopPreheader()))) return true;
  }
  return false;
}

/// The least and the largest value where an instruction of `block` computes it. In the body of a loop whose header
/// tests the counter, that is not what it is after the last iteration, as scalar evolution's own range is.
llvm::ConstantRange range_in(const llvm::BasicBlock* block, const llvm::SCEV* value, llvm::ScalarEvolution& evolution) {
  const auto own = evolution.getSignedRange(value);
  const unsigned bits = own.getBitWidth();
  auto of = [&](const llvm::SCEV* part) { return range_in(block, part, evolution); };
  if (auto* sum = llvm::dyn_cast<llvm::SCEVAddExpr>(value)) {
    auto all = of(sum->getOperand(0));
    for (auto* summand : sum->operands().drop_front()) all = all.add(of(summand));
    return all.intersectWith(own, llvm::ConstantRange::Signed);
  }
  if (auto* cast = llvm::dyn_cast<llvm::SCEVIntegralCastExpr>(value); cast && cast->getSCEVType() != llvm::scTruncate) {
    const auto narrow = of(cast->getOperand());
    const bool is_signed = cast->getSCEVType() == llvm::scSignExtend;
    return (is_signed ? narrow.signExtend(bits) : narrow.zeroExtend(bits))
        .intersectWith(own, llvm::ConstantRange::Signed);
  }
  auto* counted = llvm::dyn_cast<llvm::SCEVAddRecExpr>(value);
  if (!counted || !counted->isAffine() || !counted->getLoop()->contains(block)) return own;
  // Behind the header's test an iteration is one for which it held.
  auto* loop = counted->getLoop();
  auto* tests = block == loop->getHeader() || !loop->isLoopExiting(loop->getHeader())
                    ? nullptr
                    : llvm::dyn_cast<llvm::SCEVConstant>(
                          evolution.getExitCount(loop, loop->getHeader(), llvm::ScalarEvolution::ConstantMaximum));
  if (!tests || tests->isZero() || tests->getAPInt().getActiveBits() >= std::min(bits, 32U)) return own;
  const llvm::ConstantRange iterations(llvm::APInt(bits, 0), tests->getAPInt().zextOrTrunc(bits));
  return of(counted->getStart())
      .add(iterations.multiply(of(counted->getStepRecurrence(evolution))))
      .intersectWith(own, llvm::ConstantRange::Signed);
}

/// The elements of a thread's own array become values, once each iteration that chooses one is written out: integers
/// and pointers, which may be part of an address. Sums in an array stay where they are, and one access does for all.
/// Not where an element may lie beyond the array: that is for the model to show.
bool indexes_local_array(llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  bool indexes = false;
  const llvm::DataLayout& layout = loop.getHeader()->getModule()->getDataLayout();
  for (auto* block : loop.blocks())
    for (auto& instruction : *block) {
      auto* pointer = llvm::getLoadStorePointerOperand(&instruction);
      auto* array = pointer ? llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer)) : nullptr;
      if (!array) continue;
      auto size = array->getAllocationSize(layout);
      auto* offset =
          evolution.getMinusSCEV(evolution.getSCEV(const_cast<llvm::Value*>(pointer)), evolution.getSCEV(array));
      if (!size || llvm::isa<llvm::SCEVCouldNotCompute>(offset)) return false;
      const auto range = range_in(block, offset, evolution);
      const int64_t bytes = layout.getTypeStoreSize(llvm::getLoadStoreType(&instruction)).getFixedValue();
      if (range.getSignedMin().isNegative() || range.getSignedMax().sgt(int64_t(size->getFixedValue()) - bytes))
        return false;
      const auto* type = llvm::getLoadStoreType(&instruction);
      indexes |=
          (type->isIntOrIntVectorTy() || type->isPtrOrPtrVectorTy()) && !evolution.isLoopInvariant(offset, &loop);
    }
  return indexes;
}

/// Writes out the iterations of the innermost loop that has to be; false: there is none. `once`: only loops that run
/// once at most, as those in which a block fills a tile that has no more elements than the block has threads.
bool unroll_one(llvm::Function& kernel, llvm::FunctionAnalysisManager& analyses, bool once) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(kernel);
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(kernel);
  const auto all = loops.getLoopsInPreorder();
  for (auto* loop : llvm::reverse(all)) {
    if (!loop->getLoopPreheader() || !loop->isLoopSimplifyForm()) continue;
    unsigned trips = evolution.getSmallConstantTripCount(loop);
    if (trips == 0) trips = evolution.getSmallConstantMaxTripCount(loop);
    if (trips == 0 || trips > (once ? kRunsOnce : kMostCopies)) continue;
    if (!once && !has_other_counter(*loop, evolution) && !indexes_local_array(*loop, evolution)) continue;
    llvm::UnrollLoopOptions options{};
    options.Count = trips, options.Force = true, options.AllowExpensiveTripCount = true;
    options.UnrollRemainder = false, options.ForgetAllSCEV = true;
    auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(kernel);
    auto& assumptions = analyses.getResult<llvm::AssumptionAnalysis>(kernel);
    auto& target = analyses.getResult<llvm::TargetIRAnalysis>(kernel);
    llvm::OptimizationRemarkEmitter remarks(&kernel);
    // UnrollLoop takes it for granted: a value that is used behind a loop in another form would be the first one there.
    llvm::formLCSSARecursively(*loop->getOutermostLoop(), dominators, &loops, &evolution);
    auto done = llvm::UnrollLoop(loop, options, &loops, &evolution, &dominators, &assumptions, &target, &remarks, true);
    if (done == llvm::LoopUnrollResult::Unmodified) continue;
    analyses.invalidate(kernel, llvm::PreservedAnalyses::none());
    return true;
  }
  return false;
}

void note_overruns(llvm::Function& kernel, std::vector<unsigned>& lines) {
  const llvm::DataLayout& layout = kernel.getParent()->getDataLayout();
  for (auto& instruction : llvm::instructions(kernel)) {
    auto* pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (!pointer) continue;
    llvm::APInt offset(64, 0);
    auto* array = llvm::dyn_cast<llvm::AllocaInst>(
        pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true));
    auto size = array ? array->getAllocationSize(layout) : std::nullopt;
    if (!size) continue;
    const int64_t begin = offset.getSExtValue();
    const auto bytes = layout.getTypeStoreSize(llvm::getLoadStoreType(&instruction));
    if (begin < 0 || begin + int64_t(bytes.getFixedValue()) > int64_t(size->getFixedValue()))
      lines.push_back(line_of(instruction));
  }
}

/// A number that is known not to be negative is the same extended either way. Scalar evolution forgets what is known.
void extend_by_sign(llvm::Function& kernel) {
  for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(kernel))) {
    auto* extended = llvm::dyn_cast<llvm::ZExtInst>(&instruction);
    if (!extended || !extended->hasNonNeg()) continue;
    auto* by_sign = llvm::CastInst::Create(llvm::Instruction::SExt, extended->getOperand(0), extended->getType(), "",
                                           extended->getIterator());
    by_sign->setDebugLoc(extended->getDebugLoc());
    extended->replaceAllUsesWith(by_sign);
    extended->eraseFromParent();
  }
}

}  // namespace

Preparation prepare_for_model(llvm::Module& module, llvm::Function& kernel, const std::optional<Dim3>& block) {
  llvm::LoopAnalysisManager loop_analyses;
  llvm::FunctionAnalysisManager analyses;
  llvm::CGSCCAnalysisManager graph_analyses;
  llvm::ModuleAnalysisManager module_analyses;
  llvm::PassBuilder passes;
  passes.registerModuleAnalyses(module_analyses);
  passes.registerCGSCCAnalyses(graph_analyses);
  passes.registerFunctionAnalyses(analyses);
  passes.registerLoopAnalyses(loop_analyses);
  passes.crossRegisterProxies(loop_analyses, analyses, graph_analyses, module_analyses);

  Preparation done;
  done.written = written_facts(kernel);
  inline_calls(module, kernel);
  llvm::ModulePassManager inliner;
  inliner.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  inliner.run(module, module_analyses);
  // An access through a null pointer is one, and nothing follows from it.
  kernel.addFnAttr(llvm::Attribute::NullPointerIsValid);
  give_unset_variables_values(kernel);
  use_natural_alignment(kernel, done.written.unmodelled);
  if (block) set_block(kernel, *block);
  use_intrinsics(kernel);

  const auto cfg_options = llvm::SimplifyCFGOptions().hoistCommonInsts(false).sinkCommonInsts(false);
  auto move_to_registers = [&] {
    llvm::FunctionPassManager first;
    first.addPass(llvm::EarlyCSEPass());
    // The copy of a loop's body behind its last iteration is never reached, and touches nothing.
    first.addPass(llvm::SimplifyCFGPass(cfg_options));
    analyses.invalidate(kernel, first.run(kernel, analyses));
    note_overruns(kernel, done.overruns);
    llvm::FunctionPassManager registers;
    registers.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    registers.addPass(llvm::EarlyCSEPass());
    registers.addPass(llvm::LoopSimplifyPass());
    analyses.invalidate(kernel, registers.run(kernel, analyses));
  };
  auto simplify = [&] {
    // Before instructions are combined: the increment of such a counter becomes an `or`, which is no recurrence.
    bool unrolled = false;
    while (unroll_one(kernel, analyses, /*once=*/true)) unrolled = true;
    if (unrolled) move_to_registers();
    llvm::FunctionPassManager steps;
    steps.addPass(llvm::SimplifyCFGPass(cfg_options));
    steps.addPass(llvm::InstCombinePass());
    steps.addPass(llvm::SimplifyCFGPass(cfg_options));
    steps.addPass(llvm::InferAddressSpacesPass(0));
    steps.addPass(llvm::LoopSimplifyPass());
    analyses.invalidate(kernel, steps.run(kernel, analyses));
    done.moved_loads |= hoist(kernel, analyses.getResult<llvm::LoopAnalysis>(kernel));
    analyses.invalidate(kernel, llvm::PreservedAnalyses::none());
  };
  move_to_registers();
  if (give_changed_structures_memory(kernel)) move_to_registers();
  simplify();
  bool unrolled = false;
  while (kernel.getInstructionCount() < kMostInstructions && unroll_one(kernel, analyses, /*once=*/false))
    unrolled = true;
  if (unrolled) move_to_registers(), simplify();
  extend_by_sign(kernel);
  keep_values(kernel);
  return done;
}

}  // namespace kernelift
