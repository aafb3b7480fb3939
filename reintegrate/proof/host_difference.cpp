// A kernel's stub is known by what it does, not by its name alone: it pops the launch's configuration and launches. A
// shadow of a device variable is known by having no value: nothing in the host program reads it except by its address.
#include "reintegrate/proof/host_difference.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>

#include "core/compiler/ir_compare.h"
#include "core/compiler/launch_cut.h"

namespace kernelift::reintegrate {
namespace {

using namespace llvm;
using Kind = SymbolDifference::Kind;

/// The symbols that a function uses, constants without a name by their content, and whatever else lets code reach
/// beyond its arguments; each with how often.
std::map<std::string, int> uses_of(const Function& function) {
  std::map<std::string, int> uses;
  std::vector<const Constant*> open;
  for (auto& instruction : instructions(function)) {
    for (auto& operand : instruction.operands())
      if (auto* constant = dyn_cast<Constant>(operand)) open.push_back(constant);
    if (auto* call = dyn_cast<CallBase>(&instruction)) {
      if (call->isInlineAsm()) ++uses["assembly"];
      else if (!call->getCalledFunction()) ++uses["a call through a pointer"];
    }
    if (isa<IntToPtrInst>(instruction)) ++uses["an address made of a number"];
    if (instruction.isVolatile()) ++uses["a volatile access"];
  }
  std::set<const Constant*> seen;
  while (!open.empty()) {
    const Constant* constant = open.back();
    open.pop_back();
    if (auto* global = dyn_cast<GlobalValue>(constant)) {
      if (!global->hasPrivateLinkage()) {
        if (!global->getName().starts_with("llvm.")) ++uses[global->getName().str()];
        continue;
      }
      auto* variable = dyn_cast<GlobalVariable>(global);
      auto* text =
          variable && variable->hasInitializer() ? dyn_cast<ConstantDataArray>(variable->getInitializer()) : nullptr;
      if (text) ++uses["data " + text->getRawDataValues().str()];
    }
    if (auto* expression = dyn_cast<ConstantExpr>(constant);
        expression && expression->getOpcode() == Instruction::IntToPtr)
      ++uses["an address made of a number"];
    if (!seen.insert(constant).second) continue;
    for (auto& operand : constant->operands())
      if (auto* inner = dyn_cast<Constant>(operand)) open.push_back(inner);
  }
  return uses;
}

bool is_stub(const GlobalValue* value) {
  auto* function = dyn_cast_or_null<Function>(value);
  if (!function || function->isDeclaration() || !function->getName().contains("__device_stub__")) return false;
  for (auto& [used, times] : uses_of(*function))
    if (used != "__cudaPopCallConfiguration" && used != "cudaLaunchKernel" && used != "cudaLaunchKernel_ptsz" &&
        used != function->getName())
      return false;
  return !function->hasSection();
}

bool is_shadow(const GlobalValue* value) {
  auto* variable = dyn_cast_or_null<GlobalVariable>(value);
  return variable && variable->hasInitializer() && isa<UndefValue>(variable->getInitializer()) &&
         !variable->hasSection() && !variable->isThreadLocal() && variable->hasLocalLinkage();
}

/// By its name a variable is a static one, one in an unnamed namespace, or one of a function: `_ZN3detL4madeE`.
bool is_named_as_local(StringRef symbol) {
  if (!symbol.consume_front("_Z")) return false;
  if (symbol.starts_with("L") || symbol.starts_with("Z") || symbol.contains("_GLOBAL__N_")) return true;
  if (!symbol.consume_front("N")) return false;
  for (unsigned size = 0; !symbol.consumeInteger(10, size);
       symbol = symbol.drop_front(std::min<size_t>(size, symbol.size()))) {}
  return symbol.starts_with("L");
}

/// True if the function uses nothing that it did not use before.
bool uses_nothing_new(const GlobalValue* before, const GlobalValue* after) {
  auto *left = dyn_cast_or_null<Function>(before), *right = dyn_cast_or_null<Function>(after);
  if (!left || !right || left->isDeclaration() || right->isDeclaration() ||
      left->getFunctionType() != right->getFunctionType() || left->getLinkage() != right->getLinkage() ||
      left->getAttributes() != right->getAttributes() || left->getSection() != right->getSection())
    return false;
  auto known = uses_of(*left);
  return std::ranges::all_of(uses_of(*right), [&](auto& use) { return known.contains(use.first); });
}

HostChange described(const SymbolDifference& difference) {
  std::string what = difference.kind == Kind::Added     ? "the patch adds it"
                     : difference.kind == Kind::Removed ? "it is gone with the patch"
                                                        : difference.what;
  return {demangle(difference.symbol), what};
}

/// The name of a stub of the kernel `kernel` as one of `other`; empty: it is none.
std::string stub_of(const Function& function, const std::string& kernel, const std::string& other) {
  std::string name = demangle(function.getName().str());
  const std::string stub = "__device_stub__" + kernel;
  const size_t at = name.find(stub), behind = at + stub.size();
  if (at == name.npos || behind >= name.size() || (name[behind] != '(' && name[behind] != '<')) return {};
  return name.replace(at, stub.size(), "__device_stub__" + other);
}

/// Launches of `beside` become launches of the kernel that it stands beside: what chooses between the two is then dead
/// code. The stubs that stand beside; false: one of them is not as it should be. A unit that only launches declares
/// both. An instance of a template that nothing launches any more has no stub: the one beside it takes its place.
bool choose_the_original(const Module& without, Module& with, const std::string& kernel, const std::string& beside,
                         std::set<const GlobalValue*>& stubs) {
  std::vector<std::pair<Function*, std::string>> all;
  for (Function& function : with)
    if (std::string name = stub_of(function, beside, kernel); !name.empty()) all.push_back({&function, name});
  for (auto& [added, signature] : all) {
    auto is_original = [&](const Function& function) { return demangle(function.getName().str()) == signature; };
    const auto here = std::ranges::find_if(with, is_original);
    if (const auto before = std::ranges::find_if(without, is_original); here == with.end() && before != without.end()) {
      if (before->getFunctionType() != added->getFunctionType() || !is_stub(added) || !is_stub(&*before)) return false;
      added->setName(before->getName());
      added->setLinkage(before->getLinkage()), added->setDSOLocal(before->isDSOLocal());
      if (auto* group = before->getComdat()) added->setComdat(with.getOrInsertComdat(group->getName()));
      continue;
    }
    Function* original = here == with.end() ? nullptr : &*here;
    if (!original || original->getType() != added->getType() ||
        original->getFunctionType() != added->getFunctionType() || added->isDeclaration() != original->isDeclaration())
      return false;
    if (!added->isDeclaration() &&
        (!is_stub(added) || (!added->hasLocalLinkage() && added->getLinkage() != original->getLinkage())))
      return false;
    // A stub tells the runtime of itself by its own address.
    Function* stub = added;
    added->replaceUsesWithIf(original, [&](Use& use) {
      auto* user = dyn_cast<Instruction>(use.getUser());
      return !user || user->getFunction() != stub;
    });
    stubs.insert(added);
  }
  return true;
}

/// clang repeats a stub's attribute about its work groups at direct calls, and cannot where a launch chooses. It has no
/// meaning on the host.
void drop_attribute_of_work_groups(Module& module) {
  for (Function& function : module)
    for (auto& instruction : instructions(function))
      if (auto* call = dyn_cast<CallBase>(&instruction)) call->removeFnAttr("uniform-work-group-size");
}

}  // namespace

std::optional<HostChange> change_by_candidate(const Module& without, const Module& with, bool relocatable,
                                              std::set<std::string>* permitted) {
  for (auto& difference : differing_symbols(without, with)) {
    const GlobalValue *before = without.getNamedValue(difference.symbol),
                      *after = with.getNamedValue(difference.symbol);
    bool gone = difference.kind == Kind::Removed, fresh = difference.kind == Kind::Added;
    if (difference.symbol.empty()) return described(difference);
    // A stub or shadow that is gone was used by nothing, or its users differ.
    if ((gone || is_stub(after)) && (fresh || is_stub(before))) {
      if (fresh && !after->hasLocalLinkage())
        return HostChange{demangle(difference.symbol),
                          "the patch adds a kernel, which other files and libraries could call instead of a function "
                          "of that name; a static one, or one in an unnamed namespace, they could not"};
      continue;
    }
    if ((gone || is_shadow(after)) && (fresh || is_shadow(before))) {
      if (fresh && relocatable && !is_named_as_local(difference.symbol))
        return HostChange{demangle(difference.symbol),
                          "the patch adds a device variable that relocatable code makes a global name of the program; "
                          "a static one, or one in an unnamed namespace, would not be"};
      continue;
    }
    if (permitted && difference.kind == Kind::Changed && uses_nothing_new(before, after)) {
      permitted->insert(demangle(difference.symbol));
      continue;
    }
    return described(difference);
  }
  return std::nullopt;
}

std::optional<HostChange> change_beyond_launches(Module& without, Module& with, const std::string& kernel,
                                                 const std::string& beside) {
  std::set<const GlobalValue*> second;
  if (!beside.empty() && !choose_the_original(without, with, kernel, beside, second))
    return HostChange{beside, "it is not the kernel's own stub under another name"};
  if (!beside.empty()) drop_attribute_of_work_groups(without), drop_attribute_of_work_groups(with);
  std::vector<SymbolDifference> all = differing_symbols(without, with);
  if (all.empty()) return std::nullopt;
  for (auto& difference : all)
    if (difference.kind != Kind::Changed || difference.symbol.empty()) {
      // Geometry may use a further inline function of a header: dim3's constructor.
      auto* added = difference.kind == Kind::Added ? with.getFunction(difference.symbol) : nullptr;
      if (added && second.contains(added)) continue;
      if (!added || !StringRef(difference.symbol).starts_with("_ZN4dim3")) return described(difference);
    }
  cut_launches(without), cut_launches(with);
  std::set<std::string> differed;
  for (auto& difference : all) differed.insert(difference.symbol);
  for (auto& difference : differing_symbols(without, with))
    if (difference.kind == Kind::Changed && differed.contains(difference.symbol)) return described(difference);
  return std::nullopt;
}

std::optional<HostChange> change_beyond_launcher(Module& without, Module& with, const std::string& launcher) {
  std::set<std::string> redirected;
  for (auto& difference : differing_symbols(without, with)) {
    auto *before = without.getNamedValue(difference.symbol), *after = with.getNamedValue(difference.symbol);
    if (difference.symbol.empty()) return described(difference);
    bool inlined = [](auto* value) {
      return value->hasLinkOnceODRLinkage() || value->hasWeakODRLinkage();
    }(difference.kind == Kind::Removed ? before : after);
    // The header instantiates templates of its own and of the standard library.
    if (difference.kind == Kind::Added && (inlined || is_in_namespace(difference.symbol, launcher))) continue;
    if (difference.kind == Kind::Removed && inlined) continue;
    if (difference.kind != Kind::Changed || !isa<Function>(before)) return described(difference);
    redirected.insert(difference.symbol);
  }
  remove_launches(without, launcher), remove_launches(with, launcher);
  for (auto& difference : differing_symbols(without, with))
    if (difference.kind == Kind::Changed && redirected.contains(difference.symbol)) return described(difference);
  return std::nullopt;
}

}  // namespace kernelift::reintegrate
