// See written_facts.h.
#include "core/compiler/model/written_facts.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/raw_ostream.h>

#include "core/base/hash.h"
#include "core/compiler/model/effects/fence_order.h"
#include "core/compiler/model/parameter_members.h"
#include "core/compiler/model/source_line.h"
#include "core/model/kernel/kernel_model.h"

namespace kernelift {
namespace {

bool is_promise(const llvm::Instruction& instruction) {
  if (auto* assumed = llvm::dyn_cast<llvm::AssumeInst>(&instruction))
    return !llvm::isa<llvm::ConstantInt>(assumed->getArgOperand(0));
  if (!llvm::isa<llvm::UnreachableInst>(instruction)) return false;
  // Without a line it is clang's own, behind its lists of all ways out of a block.
  auto* before = llvm::dyn_cast_or_null<llvm::CallBase>(instruction.getPrevNode());
  return instruction.getDebugLoc() && !(before && before->doesNotReturn());
}

/// A barrier of the whole block, which the model has.
bool is_block_barrier(llvm::StringRef name, const llvm::CallBase& call) {
  auto* number = call.arg_size() > 0 ? llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0)) : nullptr;
  return name.starts_with("llvm.nvvm.barrier0") || (name.contains("barrier.cta") && number && number->isZero());
}

/// With its operands: "llvm.nvvm.barrier.cta.sync.aligned.all(1)".
std::string with_operands(llvm::StringRef name, const llvm::CallBase& call) {
  std::string text;
  for (auto& operand : call.args()) {
    auto* number = llvm::dyn_cast<llvm::ConstantInt>(operand);
    text += (text.empty() ? "" : ", ") + (number ? std::to_string(number->getSExtValue()) : "...");
  }
  return name.str() + "(" + text + ")";
}

void add_call(const llvm::CallBase& call, const llvm::Function& callee, std::set<std::string>& found) {
  const llvm::StringRef name = callee.getName();
  const std::string spelled = llvm::demangle(name.str()), plain = spelled.substr(0, spelled.find('('));
  if (plain.starts_with("atomic") && plain.ends_with("_block")) found.insert(plain);
  if (ends_the_launch(call) || name == "llvm.nvvm.exit") found.insert(plain);
  if (name.contains("barrier") && callee.isIntrinsic() && !is_block_barrier(name, call))
    found.insert(with_operands(name, call));
  if (callee.isIntrinsic() && name.contains("cluster")) found.insert(name.str());
  for (auto& argument : callee.args())
    if (!callee.isDeclaration() && argument.hasNoAliasAttr())
      found.insert("__restrict__ of " + plain + "'s argument " + std::to_string(argument.getArgNo() + 1));
}

/// How floats are computed: it may decide where memory is touched.
void add_arithmetic(const llvm::Instruction& instruction, WrittenFacts& facts) {
  const unsigned code = instruction.getOpcode();
  if (code != llvm::Instruction::FAdd && code != llvm::Instruction::FSub && code != llvm::Instruction::FMul) return;
  auto& found = facts.unmodelled;
  (instruction.hasAllowContract() ? facts.contracted : facts.not_contracted) = line_of(instruction);
  if (!instruction.hasAllowContract()) found.insert("arithmetic that is not contracted");
  if (instruction.hasAllowReassoc()) found.insert("arithmetic that may be reassociated");
  if (instruction.hasNoNaNs() || instruction.hasNoInfs()) found.insert("arithmetic that knows no NaN or infinity");
}

/// Others may see them, and wait for them.
void add_volatile(const llvm::Instruction& instruction, std::set<std::string>& found) {
  const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
  if (!pointer || !instruction.isVolatile()) return;
  constexpr unsigned kShared = 3;  // There the model knows which threads synchronise.
  auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(llvm::getUnderlyingObject(pointer));
  if (!variable || variable->getAddressSpace() != kShared)
    found.insert(llvm::isa<llvm::LoadInst>(instruction) ? "volatile loads" : "volatile stores");
}

/// What variables hold before a launch, where the code says so.
void add_initial_values(const llvm::Value* value, std::set<std::string>& found, int depth = 0) {
  constexpr int kDeepest = 8;
  auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(value);
  if (auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(value); expression && depth < kDeepest)
    for (auto& operand : expression->operands()) add_initial_values(operand, found, depth + 1);
  if (!variable || variable->hasPrivateLinkage() || !variable->hasInitializer()) return;
  const llvm::Constant* initial = variable->getInitializer();
  if (initial->isNullValue() || llvm::isa<llvm::UndefValue>(initial)) return;
  std::string text;
  llvm::raw_string_ostream(text) << *initial;
  found.insert("the values of " + llvm::demangle(variable->getName().str()) + " (" +
               hash_text(text).hex().substr(0, 8) + ")");
}

}  // namespace

bool ends_the_launch(const llvm::CallBase& call) {
  auto* callee = call.getCalledFunction();
  return callee && (call.doesNotReturn() || callee->doesNotReturn() || callee->getName() == "__assertfail");
}

WrittenFacts written_facts(const llvm::Function& kernel) {
  WrittenFacts facts;
  if (auto bounds = kernel.getFnAttribute("nvvm.maxntid"); bounds.isValid()) {
    llvm::SmallVector<llvm::StringRef> axes;
    bounds.getValueAsString().split(axes, ',');
    uint64_t threads = 1;
    for (auto axis : axes)
      if (uint64_t size = 0; !axis.trim().getAsInteger(10, size)) threads *= size;
    facts.most_threads = threads;
  }
  std::set<const llvm::Function*> seen{&kernel};
  for (std::vector<const llvm::Function*> open{&kernel}; !open.empty();) {
    auto& function = *open.back();
    open.pop_back();
    for (auto& instruction : llvm::instructions(function)) {
      if (is_promise(instruction)) facts.promises.push_back(line_of(instruction));
      if (auto fence = fence_kind(instruction)) facts.unmodelled.insert(KernelModel::kFence + *fence);
      add_arithmetic(instruction, facts), add_volatile(instruction, facts.unmodelled);
      for (auto& operand : instruction.operands()) add_initial_values(operand, facts.unmodelled);
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      auto* callee = call ? call->getCalledFunction() : nullptr;
      if (!callee) continue;
      if (seen.insert(callee).second) open.push_back(callee);
      add_call(*call, *callee, facts.unmodelled);
    }
  }
  if (auto clusters = kernel.getFnAttribute(kClusters); clusters.isValid())
    facts.unmodelled.insert("clusters of " + clusters.getValueAsString().str());
  return facts;
}

}  // namespace kernelift
