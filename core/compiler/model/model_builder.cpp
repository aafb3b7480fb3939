// See model_builder.h. Walks the prepared kernel's instructions in the order of its blocks.
#include "core/compiler/model/model_builder.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include "core/compiler/model/compared_parameters.h"
#include "core/compiler/model/conditions.h"
#include "core/compiler/model/data_reader.h"
#include "core/compiler/model/effects/exchange_order.h"
#include "core/compiler/model/effects/fence_order.h"
#include "core/compiler/model/effects/print_texts.h"
#include "core/compiler/model/model_preparation.h"
#include "core/compiler/model/numbers/number_width.h"
#include "core/compiler/model/parameter_members.h"
#include "core/compiler/model/position.h"
#include "core/compiler/model/source_line.h"
#include "core/compiler/model/value_reader.h"
#include "core/compiler/model/whole_code.h"
#include "core/compiler/model/written_facts.h"
#include "core/model/launch/limits.h"

namespace kernelift {
namespace {

using Access = KernelModel::Access;

constexpr const char* kThreadEnds = "llvm.nvvm.exit";

/// The lanes that an operation of a warp is for; null: all.
llvm::Value* mask_of(const llvm::CallBase& call) {
  if (call.arg_empty()) return nullptr;
  const bool mask_is_last = call.getCalledFunction()->getName().starts_with("llvm.nvvm.redux");
  return call.getArgOperand(mask_is_last ? call.arg_size() - 1 : 0);
}

/// Textures and surfaces, which are known by a number: no object of the model.
bool is_of_texture(llvm::StringRef name) {
  return name.contains(".tex.") || name.contains(".tld4.") || name.contains(".suld.") || name.contains(".sust.");
}

/// KernelModel::Barrier::apart of the mask that a warp's barrier is given: all lanes, or `bits << (threadIdx.x & m)`.
std::optional<uint32_t> lanes_apart(const llvm::CallBase& call) {
  using namespace llvm::PatternMatch;
  auto* mask = mask_of(call);
  if (!mask) return std::nullopt;
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
  Walk(llvm::Function& kernel, llvm::ScalarEvolution& evolution, const llvm::LoopInfo& loops,
       const llvm::DominatorTree& dominators, ValueReader& values, KernelModel& model)
      : layout_(kernel.getParent()->getDataLayout()), values_(values), model_(model) {
    for (auto& block : kernel)
      for (auto& instruction : block) visit(instruction);
    std::set<size_t> written;
    for (auto& access : model_.accesses)
      if (access.kind != Access::Kind::Load) values_.note_written(access.object), written.insert(access.object);
    for (auto& [i, used] : stored_) model_.accesses[i].stored = values_.made_of(used.first, used.second);
    for (auto& [i, used] : masks_) model_.barriers[i].lanes = values_.made_of(used.first, used.second);
    for (size_t i : read_only_)
      if (auto& access = model_.accesses[i]; written.contains(access.object))
        model_.gaps.push_back({access.line, "a read-only load of memory that the kernel writes"});
    model_.compared = compared_parameters(kernel);
    read_data(kernel, values_, model_);
    read_narrow_numbers(kernel, evolution, dominators, values_, model_);
    changed_ = values_.settle_terms();
    model_.unmodelled.merge(print_texts(kernel, values_, model_));
    note_fences(kernel, written);
    note_exchange_order(made_by_, exchanges_, loops, model_);
  }
  /// ValueReader::settle_terms().
  const std::set<size_t>& changed() const { return changed_; }

 private:
  void visit(llvm::Instruction& instruction) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      const size_t before = model_.accesses.size();
      touch(Access::Kind::Load, instruction, load->getPointerOperand(), size(load->getType()));
      if (model_.accesses.size() > before && load->hasMetadata(llvm::LLVMContext::MD_invariant_load))
        read_only_.push_back(before);
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
    if (ends_the_launch(call) && name != kThreadEnds) add_end(call, name.str());
    if (name.starts_with("llvm.nvvm.barrier.cta.")) {
      if (name.contains(".count")) return gap(call, "a barrier for some of a block's threads");
      if (!llvm::isa<llvm::ConstantInt>(call.getArgOperand(0))) return gap(call, "a barrier with a number that varies");
      add_barrier(call, /*of_warp=*/false, /*orders_memory=*/true);
    } else if (name.starts_with("llvm.nvvm.bar.warp")) {
      add_barrier(call, /*of_warp=*/true, /*orders_memory=*/true);
    } else if (name.starts_with("llvm.nvvm.shfl.sync") || name.starts_with("llvm.nvvm.vote") ||
               name.starts_with("llvm.nvvm.match") || name.starts_with("llvm.nvvm.redux")) {
      add_barrier(call, /*of_warp=*/true, /*orders_memory=*/false);
    } else if (callee->isIntrinsic() && name.contains("atomic")) {
      touch(Access::Kind::Atomic, call, call.getArgOperand(0), size(call.getType()));
    } else if (callee->isIntrinsic() && (name.contains("ldg") || name.contains("ldu"))) {
      touch(Access::Kind::Load, call, call.getArgOperand(0), size(call.getType()));
      read_only_.push_back(model_.accesses.size() - 1);
    } else if (callee->isIntrinsic() && is_of_texture(name)) {
      gap(call, "a call of " + name.str());
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
    } else if (is_print(*callee)) {
      model_.exchanges.push_back({line_of(call), "a print"});
    } else if (name != "__assertfail" && !name.starts_with(kUnsetValue)) {
      gap(call, "a call of " + name.str());
    }
  }

  void add_barrier(llvm::CallBase& call, bool of_warp, bool orders_memory) {
    const auto apart = of_warp ? lanes_apart(call) : 0;
    auto* mask = of_warp && !apart ? mask_of(call) : nullptr;
    if (mask) masks_.push_back({model_.barriers.size(), {mask, call.getParent()}});
    if (!orders_memory) exchanges_[&call] = model_.barriers.size();
    model_.barriers.push_back({of_warp, orders_memory, apart, "", line_of(call), values_.reached(call.getParent()),
                               values_.counters(call.getParent()), values_.time(call)});
  }

  /// The thread ends the launch: that is something which all of it sees, like an element that it changes.
  void add_end(llvm::CallBase& call, const std::string& name) {
    KernelModel::Object launch{KernelModel::Object::Kind::Variable, "the end of the launch by " + name, 1};
    auto known = std::ranges::find(model_.objects, launch);
    if (known == model_.objects.end()) known = model_.objects.insert(known, std::move(launch));
    model_.accesses.push_back({Access::Kind::Atomic, size_t(known - model_.objects.begin()), 1, line_of(call),
                               number(0), values_.reached(call.getParent()), values_.counters(call.getParent()),
                               values_.time(call), 1, name});
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
                               values_.time(instruction), alignment(instruction, pointer), operation(instruction),
                               reach_of(pointer, layout_)});
    made_by_[&instruction].push_back(model_.accesses.size() - 1);
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
      stored_.push_back({model_.accesses.size() - 1, {store->getValueOperand(), store->getParent()}});
  }

  /// Which of the objects that all threads see, and some write, no fence orders.
  void note_fences(const llvm::Function& kernel, const std::set<size_t>& written) {
    auto touched = [&](const llvm::Instruction& instruction) {
      std::set<std::string> names;
      auto made = made_by_.find(&instruction);
      if (made == made_by_.end()) return names;
      for (size_t access : made->second) {
        const size_t object = model_.accesses[access].object;
        auto& one = model_.objects[object];
        if (written.contains(object) && one.kind != KernelModel::Object::Kind::Local) names.insert(one.name);
      }
      return names;
    };
    for (auto& pair : unfenced(kernel, touched)) model_.unmodelled.insert(KernelModel::kUnfenced + pair);
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
  using Used = std::pair<llvm::Value*, llvm::BasicBlock*>;  ///< A value where it is used.
  std::vector<std::pair<size_t, Used>> stored_, masks_;     ///< By access, and by barrier.
  AccessesOf made_by_;
  BarriersOf exchanges_;           ///< Those that order no memory.
  std::vector<size_t> read_only_;  ///< Accesses that go through a cache which knows of no stores.
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

/// Of a canonical type.
std::optional<unsigned> integer_bits(const std::string& type) {
  static const std::map<std::string, unsigned> kBits = {
      {"bool", 8},           {"char", 8},          {"signed char", 8},
      {"unsigned char", 8},  {"short", 16},        {"unsigned short", 16},
      {"int", 32},           {"unsigned int", 32}, {"long", 64},
      {"unsigned long", 64}, {"long long", 64},    {"unsigned long long", 64}};
  auto found = kBits.find(type);
  return found == kBits.end() ? std::nullopt : std::optional(found->second);
}

/// KernelModel::widths.
std::map<std::string, unsigned> widths_of(const llvm::Function& kernel,
                                          const std::vector<KernelModel::Member>& members) {
  std::map<std::string, unsigned> widths;
  for (auto& argument : kernel.args())
    if (argument.getType()->isIntegerTy())
      widths["arg.a" + std::to_string(argument.getArgNo())] = argument.getType()->getIntegerBitWidth();
  for (auto& member : members)
    if (auto integer = integer_bits(member.type)) widths[member.variable()] = *integer;
  return widths;
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
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(function);
  const bool has_other_cycles = llvm::containsIrreducibleCFG<llvm::BasicBlock*>(order, loops);
  // Which objects are written is known once all is read, and may show that it was read wrongly.
  for (std::set<size_t> changed;;) {
    model = {};
    model.members = members_of(*function);
    for (unsigned line : prepared.overruns)
      model.gaps.push_back({line, "an access beyond the end of a thread's array"});
    for (unsigned line : prepared.written.promises)
      model.gaps.push_back({line, "a promise to the compiler (__builtin_assume, __builtin_unreachable)"});
    if (prepared.written.contracted && prepared.written.not_contracted)
      model.gaps.push_back(
          {*prepared.written.not_contracted, "arithmetic that is not contracted, beside some that is"});
    if (has_other_cycles) model.gaps.push_back({0, "a loop that is entered in several places"});
    ValueReader values(*function, evolution, loops, dominators, postdominators, model, changed);
    const Walk walk(*function, evolution, loops, dominators, values, model);
    if (walk.changed().empty()) break;
    changed.insert(walk.changed().begin(), walk.changed().end());
  }
  model.widths = widths_of(*function, model.members);
  model.unmodelled.insert(prepared.written.unmodelled.begin(), prepared.written.unmodelled.end());
  if (block && block->count() > std::min(kMostThreads, prepared.written.most_threads.value_or(kMostThreads)))
    model.gaps.push_back({0, "a launch of more threads than a block may have here"});
  if (prepared.overruns.empty()) model.whole_code = whole_code(*function, block);
  model.needs_different_memory =
      prepared.moved_loads || llvm::any_of(function->args(), [](auto& argument) { return argument.hasNoAliasAttr(); });
  return model;
}

}  // namespace kernelift
