// See model_builder.h. Walks the prepared kernel's instructions in the order of its blocks.
#include "core/compiler/model/model_builder.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include "core/compiler/model/data_reader.h"
#include "core/compiler/model/model_preparation.h"
#include "core/compiler/model/parameter_members.h"
#include "core/compiler/model/position.h"
#include "core/compiler/model/product_width.h"
#include "core/compiler/model/source_line.h"
#include "core/compiler/model/value_reader.h"
#include "core/compiler/model/whole_code.h"
#include "core/model/launch/limits.h"

namespace kernelift {
namespace {

using Access = KernelModel::Access;

/// KernelModel::Barrier::apart of the mask that a warp's barrier is given: all lanes, or `bits << (threadIdx.x & m)`.
std::optional<uint32_t> lanes_apart(const llvm::CallBase& call) {
  using namespace llvm::PatternMatch;
  if (call.arg_empty()) return std::nullopt;
  const bool mask_is_last = call.getCalledFunction()->getName().starts_with("llvm.nvvm.redux");
  auto* mask = call.getArgOperand(mask_is_last ? call.arg_size() - 1 : 0);
  if (match(mask, m_AllOnes())) return 0;
  const llvm::APInt *bits = nullptr, *apart = nullptr;
  llvm::Value* thread = nullptr;
  if (!match(mask, m_Shl(m_APInt(bits), m_And(m_Value(thread), m_APInt(apart))))) return std::nullopt;
  auto* place = llvm::dyn_cast<llvm::IntrinsicInst>(thread);
  if (!place || position(*place) != Expression::variable("tid.x")) return std::nullopt;
  const uint64_t set = bits->getZExtValue(), by = apart->getZExtValue();
  if (by >= kWarpSize) return std::nullopt;
  for (uint64_t lane = 0; lane < kWarpSize; ++lane)
    for (uint64_t other = 0; other < kWarpSize; ++other)
      if (((set << (lane & by) >> other) & 1) != ((lane & by) == (other & by))) return std::nullopt;
  return by;
}

class Walk {
 public:
  Walk(llvm::Function& kernel, ValueReader& values, KernelModel& model)
      : layout_(kernel.getParent()->getDataLayout()), values_(values), model_(model) {
    for (auto& block : kernel)
      for (auto& instruction : block) visit(instruction);
    for (auto& access : model_.accesses)
      if (access.kind != Access::Kind::Load) values_.note_written(access.object);
    read_data(kernel, values_, model_);
    changed_ = values_.settle_terms();
  }
  /// ValueReader::settle_terms().
  const std::set<size_t>& changed() const { return changed_; }

 private:
  void visit(llvm::Instruction& instruction) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      touch(Access::Kind::Load, instruction, load->getPointerOperand(), size(load->getType()));
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      touch(Access::Kind::Store, instruction, store->getPointerOperand(), size(store->getValueOperand()->getType()));
    } else if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      touch(Access::Kind::Atomic, instruction, atomic->getPointerOperand(), size(atomic->getType()));
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      touch(Access::Kind::Atomic, instruction, exchange->getPointerOperand(),
            size(exchange->getNewValOperand()->getType()));
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      visit_call(*call);
    }
  }

  void visit_call(llvm::CallBase& call) {
    if (call.isInlineAsm()) return gap(call, "inline assembly");
    auto* callee = call.getCalledFunction();
    if (!callee) return gap(call, "a call through a pointer");
    if (auto* memory = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&call)) return visit_memory(*memory);
    llvm::StringRef name = callee->getName();
    if (name.starts_with("llvm.nvvm.barrier.cta.")) {
      if (name.contains(".count")) return gap(call, "a barrier for some of a block's threads");
      add_barrier(call, /*of_warp=*/false);
    } else if (name.starts_with("llvm.nvvm.bar.warp") || name.starts_with("llvm.nvvm.shfl.sync") ||
               name.starts_with("llvm.nvvm.vote") || name.starts_with("llvm.nvvm.match") ||
               name.starts_with("llvm.nvvm.redux")) {
      add_barrier(call, /*of_warp=*/true);
    } else if (callee->isIntrinsic() && name.contains("atomic")) {
      touch(Access::Kind::Atomic, call, call.getArgOperand(0), size(call.getType()));
    } else if (callee->isIntrinsic() && (name.contains("ldg") || name.contains("ldu"))) {
      touch(Access::Kind::Load, call, call.getArgOperand(0), size(call.getType()));
    } else if (callee->isIntrinsic()) {
      // Reads of registers, shuffles and votes, fences, mathematics, and marks for the optimiser touch no memory.
      const bool touches = !call.doesNotAccessMemory() && !call.onlyAccessesInaccessibleMemory() &&
                           llvm::any_of(call.args(), [](auto& argument) { return argument->getType()->isPointerTy(); });
      if (touches && !llvm::isa<llvm::LifetimeIntrinsic, llvm::AssumeInst>(call)) gap(call, "a call of " + name.str());
    } else if (is_libdevice(*callee)) {
      // Some return a second result through a pointer, to a variable of the thread.
      for (auto& argument : call.args())
        if (argument->getType()->isPointerTy() && !llvm::isa<llvm::AllocaInst>(argument->stripPointerCasts()))
          return gap(call, "a call of " + name.str());
    } else if (name != "vprintf" && name != "__assertfail") {
      gap(call, "a call of " + name.str());
    }
  }

  void add_barrier(llvm::CallBase& call, bool of_warp) {
    model_.barriers.push_back({of_warp, of_warp ? lanes_apart(call) : 0, line_of(call),
                               values_.reached(call.getParent()), values_.counters(call.getParent()),
                               values_.time(call)});
  }

  void visit_memory(llvm::AnyMemIntrinsic& memory) {
    auto* length = llvm::dyn_cast<llvm::ConstantInt>(memory.getLength());
    if (!length) return gap(memory, "a copy of a number of bytes that is known only when it runs");
    touch(Access::Kind::Store, memory, memory.getRawDest(), length->getZExtValue());
    if (auto* transfer = llvm::dyn_cast<llvm::AnyMemTransferInst>(&memory))
      touch(Access::Kind::Load, memory, transfer->getRawSource(), length->getZExtValue());
  }

  void touch(Access::Kind kind, llvm::Instruction& instruction, llvm::Value* pointer, uint64_t bytes) {
    llvm::APInt offset(64, 0);
    auto* base = llvm::dyn_cast<llvm::Argument>(
        pointer->stripAndAccumulateConstantOffsets(layout_, offset, /*AllowNonInbounds=*/true));
    if (base && base->hasByValAttr()) return;  // The launch's parameters.
    Address to = values_.address(pointer, instruction.getParent());
    model_.accesses.push_back({kind, to.object, static_cast<unsigned>(bytes), line_of(instruction), to.offset,
                               values_.reached(instruction.getParent()), values_.counters(instruction.getParent()),
                               values_.time(instruction), alignment(instruction, pointer), operation(instruction)});
  }

  /// KernelModel::Access::operation.
  static std::string operation(const llvm::Instruction& instruction) {
    std::string type;
    llvm::raw_string_ostream(type) << ' ' << *instruction.getType();
    if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
      return llvm::AtomicRMWInst::getOperationName(atomic->getOperation()).str() + type;
    if (llvm::isa<llvm::AtomicCmpXchgInst>(instruction)) return "compare and exchange" + type;
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    const auto name = call ? call->getCalledFunction()->getName() : "";
    return name.contains("atomic") ? name.str() : "";
  }

  void gap(llvm::Instruction& instruction, std::string what) {
    model_.gaps.push_back({line_of(instruction), std::move(what)});
  }

  /// What the code that is generated relies on. A copy by bytes is made of accesses that are aligned as both sides say.
  unsigned alignment(llvm::Instruction& instruction, llvm::Value* pointer) const {
    if (auto* memory = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&instruction)) {
      auto* transfer = llvm::dyn_cast<llvm::AnyMemTransferInst>(memory);
      const bool is_source = transfer && pointer == transfer->getRawSource();
      return (is_source ? transfer->getSourceAlign() : memory->getDestAlign()).valueOrOne().value();
    }
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->getAlign().value();
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return store->getAlign().value();
    if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return atomic->getAlign().value();
    if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) return exchange->getAlign().value();
    return size(instruction.getType());
  }

  uint64_t size(llvm::Type* type) const { return layout_.getTypeStoreSize(type); }

  const llvm::DataLayout& layout_;
  ValueReader& values_;
  KernelModel& model_;
  std::set<size_t> changed_;
};

constexpr uint64_t kMostThreads = 1024;  ///< Of a block on any GPU.

/// What parameter_members.h attached.
std::vector<KernelModel::Member> members_of(const llvm::Function& kernel) {
  std::vector<KernelModel::Member> members;
  auto* rows = kernel.getMetadata(kMembersMetadata);
  for (unsigned i = 0; rows && i < rows->getNumOperands(); ++i) {
    auto* row = llvm::cast<llvm::MDNode>(rows->getOperand(i));
    auto word = [&](unsigned at) { return llvm::cast<llvm::MDString>(row->getOperand(at))->getString().str(); };
    KernelModel::Member member{.parameter = std::stoul(word(0)),
                               .offset = static_cast<uint32_t>(std::stoul(word(1))),
                               .type = word(2),
                               .path = word(3)};
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace

Result<KernelModel> build_kernel_model(llvm::Module& module, const std::string& kernel,
                                       const std::optional<Dim3>& block) {
  llvm::Function* function = module.getFunction(kernel);
  if (!function || function->isDeclaration()) return refused("there is no kernel " + kernel + " in the device code");
  const Preparation prepared = prepare_for_model(module, *function, block);
  llvm::TargetLibraryInfoImpl library_impl(module.getTargetTriple());
  llvm::TargetLibraryInfo library(library_impl);
  llvm::AssumptionCache assumptions(*function);
  llvm::DominatorTree dominators(*function);
  llvm::PostDominatorTree postdominators(*function);
  llvm::LoopInfo loops(dominators);
  llvm::ScalarEvolution evolution(*function, library, assumptions, dominators, loops);
  KernelModel model;
  // Which objects are written is known once all is read, and may show that it was read wrongly.
  for (std::set<size_t> changed;;) {
    model = {};
    model.members = members_of(*function);
    for (unsigned line : prepared.overruns)
      model.gaps.push_back({line, "an access beyond the end of a thread's array"});
    for (unsigned line : prepared.written.promises)
      model.gaps.push_back({line, "a promise to the compiler (__builtin_assume, __builtin_unreachable)"});
    ValueReader values(*function, evolution, loops, dominators, postdominators, model, changed);
    const Walk walk(*function, values, model);
    if (walk.changed().empty()) break;
    changed.insert(walk.changed().begin(), walk.changed().end());
  }
  model.unmodelled = prepared.written.unmodelled;
  if (block && block->count() > std::min(kMostThreads, prepared.written.most_threads.value_or(kMostThreads)))
    model.gaps.push_back({0, "a launch of more threads than a block may have here"});
  ProductWidths products = product_widths(*function);
  model.narrow_products = std::move(products.narrow), model.wide_products = std::move(products.wide);
  if (prepared.overruns.empty()) model.whole_code = whole_code(*function, block);
  model.needs_different_memory =
      prepared.moved_loads || llvm::any_of(function->args(), [](auto& argument) { return argument.hasNoAliasAttr(); });
  return model;
}

}  // namespace kernelift
