// See print_texts.h. The front end puts what a print is given into a variable of its own, and calls vprintf.
#include "core/compiler/model/effects/print_texts.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "core/base/hash.h"
#include "core/compiler/model/model_preparation.h"
#include "core/compiler/model/source_line.h"

namespace kernelift {
namespace {

/// The expression with what its terms are made of; nullopt: they do not determine it.
std::optional<std::string> meaning(const KernelModel& model, const Expression& expression) {
  std::string text = expression.text();
  for (auto& name : expression.variables()) {
    if (!name.starts_with("term.")) continue;
    auto* term = model.term(name);
    if (!term || !term->repeats) return std::nullopt;
    text += ", " + name + ": " + compact(to_json(term->value));
    for (auto& argument : term->arguments) {
      auto part = meaning(model, argument);
      if (!part) return std::nullopt;
      text += " of " + *part;
    }
  }
  return text;
}

/// What is there before anything is stored.
bool is_unset(const llvm::StoreInst& store) {
  auto* call = llvm::dyn_cast<llvm::CallBase>(store.getValueOperand());
  return call && call->getCalledFunction() && call->getCalledFunction()->getName().starts_with(kUnsetValue);
}

/// What is stored to the variable behind the call's second argument; nullopt: it is not known.
std::optional<std::string> arguments_of(llvm::CallBase& call, ValueReader& values) {
  auto* buffer = call.getArgOperand(1)->stripPointerCasts();
  if (llvm::isa<llvm::ConstantPointerNull>(buffer)) return "";
  auto* variable = llvm::dyn_cast<llvm::AllocaInst>(buffer);
  if (!variable) return std::nullopt;
  const llvm::DataLayout& layout = call.getModule()->getDataLayout();
  std::string text;
  for (auto& instruction : llvm::instructions(*call.getFunction())) {
    auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    if (!store || llvm::getUnderlyingObject(store->getPointerOperand()) != variable || is_unset(*store)) continue;
    llvm::APInt offset(64, 0);
    auto* base = store->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
    const std::string made = values.made_of(store->getValueOperand(), store->getParent());
    if (base != variable || made.empty()) return std::nullopt;
    text += std::to_string(offset.getSExtValue()) + ": " + made + "; ";
  }
  return text;
}

}  // namespace

bool is_print(const llvm::Function& callee) { return callee.getName() == "vprintf"; }

std::set<std::string> print_texts(llvm::Function& kernel, ValueReader& values, KernelModel& model) {
  std::set<std::string> texts;
  for (auto& instruction : llvm::instructions(kernel)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    auto* callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || !is_print(*callee) || call->arg_size() != 2) continue;
    llvm::StringRef format;
    const bool known = llvm::getConstantStringInfo(call->getArgOperand(0), format);
    const auto when = meaning(model, values.reached(call->getParent())), what = arguments_of(*call, values);
    if (!known || !when || !what) {
      model.gaps.push_back({line_of(*call), "a print that depends on what changes during the launch"});
      continue;
    }
    std::string text = *when + " / " + *what;
    for (auto& counter : values.counters(call->getParent())) text += ", " + counter;
    const std::string entry = std::string(KernelModel::kPrint) + format.rtrim().str() + " (" +
                              hash_text(format.str() + " / " + text).hex().substr(0, 8);
    for (int number = 1; !texts.insert(entry + (number > 1 ? ", " + std::to_string(number) : "") + ")").second;)
      ++number;
  }
  return texts;
}

}  // namespace kernelift
