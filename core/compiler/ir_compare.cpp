// Compared: signatures, calling conventions, attributes (launch bounds are attributes), every instruction with its
// flags and operands, constants to the bit, types by structure (named structs differ in name when both modules live in
// one context), callees and variables with their initialisers, alignment and address space, and metadata that
// optimisers obey (loop hints, ranges, alias classes, NVVM annotations). Not compared: names of locals, debug
// locations, source locations of inline assembly. A variable that the host can write must have the same name:
// exchanging two tables of the same type gives a different program.
//
// Kernels are compared from one function outwards, because internal functions of a slice may have other names than in
// the unit. Modules of one unit are compared symbol by symbol: there a name is what a symbol is known by, and each
// symbol that differs is wanted, not only the first.
#include "core/compiler/ir_compare.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <deque>
#include <map>
#include <set>

namespace kernelift {
namespace {

using namespace llvm;

std::string text_of(const Value& value) {
  std::string text;
  raw_string_ostream stream(text);
  value.print(stream);
  size_t begin = text.find_first_not_of(' ');
  return text.substr(begin == std::string::npos ? 0 : begin, 160);
}

class Comparison {
 public:
  std::optional<std::string> run(const Function& left, const Function& right) {
    if (!same_global(&left, &right)) return difference_.empty() ? "the kernels' declarations differ" : difference_;
    while (!pending_.empty()) {
      auto [a, b] = pending_.front();
      pending_.pop_front();
      if (!same_body(*a, *b)) return "in " + a->getName().str() + ": " + difference_;
    }
    return std::nullopt;
  }

  /// The difference of two symbols of one name, which may be declarations; nothing if there is none.
  std::optional<std::string> compare_symbols(const GlobalValue& a, const GlobalValue& b) {
    begin();
    if (!same_linkage(a, b) || !same_definition(a, b))
      return difference_.empty() ? "it is declared differently" : difference_;
    return std::nullopt;
  }
  /// The same for what belongs to no symbol.
  std::optional<std::string> compare_rest(const Module& a, const Module& b) {
    begin();
    if (a.getModuleInlineAsm() != b.getModuleInlineAsm()) return "assembly at file scope";
    std::set<StringRef> names;
    for (auto* module : {&a, &b})
      for (auto& list : module->named_metadata()) names.insert(list.getName());
    for (StringRef name : names) {
      auto *left = a.getNamedMetadata(name), *right = b.getNamedMetadata(name);
      bool same = left && right && left->getNumOperands() == right->getNumOperands();
      for (unsigned i = 0; same && i < left->getNumOperands(); ++i)
        same = same_metadata(left->getOperand(i), right->getOperand(i));
      if (!same) return "metadata " + name.str();
    }
    return std::nullopt;
  }

 private:
  /// Forgets what was paired: a pair that was assumed equal in a comparison that failed need not be.
  void begin() {
    by_name_ = true;
    values_.clear(), structs_.clear(), nodes_.clear(), contents_.clear(), difference_.clear();
  }

  bool same_linkage(const GlobalValue& a, const GlobalValue& b) {
    auto *left = dyn_cast<GlobalObject>(&a), *right = dyn_cast<GlobalObject>(&b);
    if (a.getLinkage() != b.getLinkage() || a.getVisibility() != b.getVisibility() ||
        a.getDLLStorageClass() != b.getDLLStorageClass() || a.isDSOLocal() != b.isDSOLocal() ||
        a.getThreadLocalMode() != b.getThreadLocalMode() || a.getPartition() != b.getPartition() ||
        a.hasComdat() != b.hasComdat())
      return differ("its linkage differs");
    if (a.hasComdat() && (a.getComdat()->getName() != b.getComdat()->getName() ||
                          a.getComdat()->getSelectionKind() != b.getComdat()->getSelectionKind()))
      return differ("its comdat differs");
    if (left && right && left->getSection() != right->getSection()) return differ("its section differs");
    return true;
  }

  bool same_definition(const GlobalValue& a, const GlobalValue& b) {
    if (a.getValueID() != b.getValueID()) return differ("a symbol of another kind");
    if (auto* left = dyn_cast<GlobalAlias>(&a))
      return same_value(left->getAliasee(), cast<GlobalAlias>(b).getAliasee()) || differ("an alias of another symbol");
    if (auto* left = dyn_cast<GlobalIFunc>(&a))
      return same_value(left->getResolver(), cast<GlobalIFunc>(b).getResolver()) || differ("another resolver");
    if (!same_object(a, b)) return false;
    auto* left = dyn_cast<Function>(&a);
    return !left || left->isDeclaration() || same_body(*left, cast<Function>(b));
  }

  bool differ(const std::string& what) {
    if (difference_.empty()) difference_ = what;
    return false;
  }
  bool differ(const std::string& what, const Value& a, const Value& b) {
    return differ(what + ": `" + text_of(a) + "` against `" + text_of(b) + "`");
  }

  // --- types -------------------------------------------------------------------------------------------------------
  bool same_type(Type* a, Type* b) {
    if (a == b) return true;
    if (!a || !b || a->getTypeID() != b->getTypeID() || a->getNumContainedTypes() != b->getNumContainedTypes())
      return false;
    if (auto* left = dyn_cast<StructType>(a)) {
      auto* right = cast<StructType>(b);
      auto [known, fresh] = structs_.try_emplace(left, right);
      if (!fresh) return known->second == right;
      if (left->isPacked() != right->isPacked() || left->isOpaque() != right->isOpaque()) return false;
    } else if (auto* left = dyn_cast<ArrayType>(a)) {
      if (left->getNumElements() != cast<ArrayType>(b)->getNumElements()) return false;
    } else if (auto* left = dyn_cast<VectorType>(a)) {
      if (left->getElementCount() != cast<VectorType>(b)->getElementCount()) return false;
    } else if (auto* left = dyn_cast<FunctionType>(a)) {
      if (left->isVarArg() != cast<FunctionType>(b)->isVarArg()) return false;
    } else {
      return false;  // Scalar types are unique in a context.
    }
    for (unsigned i = 0; i < a->getNumContainedTypes(); ++i)
      if (!same_type(a->getContainedType(i), b->getContainedType(i))) return false;
    return true;
  }

  // --- attributes --------------------------------------------------------------------------------------------------
  bool same_attribute(Attribute a, Attribute b) {
    if (a == b) return true;
    return a.isTypeAttribute() && b.isTypeAttribute() && a.getKindAsEnum() == b.getKindAsEnum() &&
           same_type(a.getValueAsType(), b.getValueAsType());
  }
  bool same_attributes(AttributeList a, AttributeList b, const char* of) {
    if (a == b) return true;
    unsigned sets = std::max(a.getNumAttrSets(), b.getNumAttrSets());
    for (unsigned i = 0; i < sets; ++i) {
      auto index = i + AttributeList::FunctionIndex;  // Wraps around to the return value and parameters.
      AttributeSet left = a.getAttributes(index), right = b.getAttributes(index);
      if (left == right) continue;
      auto one = left.begin(), other = right.begin();
      for (; one != left.end() && other != right.end(); ++one, ++other)
        if (!same_attribute(*one, *other))
          return differ(std::string("attributes of ") + of + " differ: " + one->getAsString() + " against " +
                        other->getAsString());
      if (one != left.end() || other != right.end())
        return differ(std::string("attributes of ") + of + " differ: " + left.getAsString() + " against " +
                      right.getAsString());
    }
    return true;
  }

  // --- metadata ----------------------------------------------------------------------------------------------------
  bool same_metadata(const Metadata* a, const Metadata* b) {
    if (a == b) return true;
    if (!a || !b || a->getMetadataID() != b->getMetadataID()) return false;
    if (isa<DILocation>(a) || isa<DINode>(a)) return true;  // Source locations do not change the program.
    if (auto* left = dyn_cast<MDString>(a)) {
      StringRef one = left->getString(), other = cast<MDString>(b)->getString();
      return one == other || (other.contains("kernelift_application_main") && plain_name(one) == plain_name(other));
    }
    if (auto* left = dyn_cast<ConstantAsMetadata>(a))
      return same_value(left->getValue(), cast<ConstantAsMetadata>(b)->getValue());
    if (auto* left = dyn_cast<LocalAsMetadata>(a))
      return same_value(left->getValue(), cast<LocalAsMetadata>(b)->getValue());
    auto* left = dyn_cast<MDNode>(a);
    if (!left) return false;
    auto* right = cast<MDNode>(b);
    auto [known, fresh] = nodes_.try_emplace(left, right);
    if (!fresh) return known->second == right;
    std::vector<const Metadata*> one = operands(*left), other = operands(*right);
    if (one.size() != other.size()) return false;
    for (size_t i = 0; i < one.size(); ++i)
      if (!same_metadata(one[i], other[i])) return false;
    return true;
  }
  /// With debug information, loop metadata includes the loop's source location, which is left out.
  static std::vector<const Metadata*> operands(const MDNode& node) {
    std::vector<const Metadata*> all;
    for (auto& operand : node.operands())
      if (!operand || !isa<DILocation>(operand.get())) all.push_back(operand.get());
    return all;
  }
  bool same_attached(const Instruction& a, const Instruction& b) {
    static const std::set<std::string> kIgnored = {"dbg", "srcloc", "heapallocsite", "annotation", "DIAssignID"};
    auto relevant = [](const Instruction& instruction) {
      SmallVector<std::pair<unsigned, MDNode*>, 4> all;
      std::map<std::string, MDNode*> kept;
      instruction.getAllMetadata(all);
      SmallVector<StringRef, 32> names;
      instruction.getContext().getMDKindNames(names);
      for (auto& [kind, node] : all)
        if (!kIgnored.count(names[kind].str())) kept[names[kind].str()] = node;
      return kept;
    };
    if (!a.hasMetadata() && !b.hasMetadata()) return true;
    auto left = relevant(a), right = relevant(b);
    if (left.size() != right.size()) return differ("metadata differs", a, b);
    for (auto one = left.begin(), other = right.begin(); one != left.end(); ++one, ++other)
      if (one->first != other->first || !same_metadata(one->second, other->second))
        return differ("!" + one->first + " metadata differs", a, b);
    return true;
  }

  // --- values ------------------------------------------------------------------------------------------------------
  bool same_value(const Value* a, const Value* b) {
    if (!a || !b) return a == b;
    if (auto known = values_.find(a); known != values_.end()) return known->second == b;
    if (a->getValueID() != b->getValueID() || !same_type(a->getType(), b->getType())) return false;
    if (auto* left = dyn_cast<GlobalValue>(a)) return same_global(left, cast<GlobalValue>(b));
    if (auto* left = dyn_cast<Constant>(a)) return same_constant(left, cast<Constant>(b));
    if (auto* left = dyn_cast<InlineAsm>(a)) {
      auto* right = cast<InlineAsm>(b);
      return left->getAsmString() == right->getAsmString() &&
             left->getConstraintString() == right->getConstraintString() &&
             left->hasSideEffects() == right->hasSideEffects() && left->isAlignStack() == right->isAlignStack() &&
             left->getDialect() == right->getDialect() && left->canThrow() == right->canThrow();
    }
    if (auto* left = dyn_cast<MetadataAsValue>(a))
      return same_metadata(left->getMetadata(), cast<MetadataAsValue>(b)->getMetadata());
    return false;  // Locals are paired before they are used, or are forward references, which the caller defers.
  }

  bool same_constant(const Constant* a, const Constant* b) {
    if (a == b) return true;  // Simple constants are unique in a context.
    if (auto* left = dyn_cast<BlockAddress>(a)) {
      auto* right = cast<BlockAddress>(b);
      auto place = [](const BlockAddress& of) {
        return std::distance(of.getFunction()->begin(), of.getBasicBlock()->getIterator());
      };
      return same_global(left->getFunction(), right->getFunction()) && place(*left) == place(*right);
    }
    if (isa<ConstantData>(a)) {
      // The types may be equal only by structure; zero, undef and data arrays of such types are equal values too.
      if (auto* left = dyn_cast<ConstantDataSequential>(a))
        return left->getRawDataValues() == cast<ConstantDataSequential>(b)->getRawDataValues();
      return isa<ConstantAggregateZero>(a) || isa<UndefValue>(a);
    }
    if (auto* left = dyn_cast<ConstantExpr>(a)) {
      auto* right = cast<ConstantExpr>(b);
      if (left->getOpcode() != right->getOpcode() ||
          left->getRawSubclassOptionalData() != right->getRawSubclassOptionalData())
        return false;
      if (auto* address = dyn_cast<GEPOperator>(left)) {
        auto* other = cast<GEPOperator>(right);
        if (!same_type(address->getSourceElementType(), other->getSourceElementType())) return false;
      }
    } else if (!isa<ConstantAggregate>(a)) {
      return false;  // Constants that clang does not make.
    }
    if (a->getNumOperands() != b->getNumOperands()) return false;
    for (unsigned i = 0; i < a->getNumOperands(); ++i)
      if (!same_value(a->getOperand(i), b->getOperand(i))) return false;
    return true;
  }

  /// A symbol that is used: by name it is the same if its name is, because each symbol is compared for itself.
  bool same_named(const GlobalValue* a, const GlobalValue* b) {
    if (a->hasPrivateLinkage() != b->hasPrivateLinkage()) return false;
    if (!a->hasPrivateLinkage()) return a->getName() == b->getName();
    auto [known, fresh] = contents_.try_emplace({a, b}, true);
    if (fresh) known->second = same_definition(*a, *b);
    return contents_.at({a, b});
  }

  bool same_global(const GlobalValue* a, const GlobalValue* b) {
    if (by_name_) return same_named(a, b);
    auto [known, fresh] = values_.try_emplace(a, b);
    if (!fresh) return known->second == b || differ("two uses of one symbol have become uses of two", *a, *b);
    if (!paired_.insert(b).second) return differ("uses of two symbols have become uses of one", *a, *b);
    bool visible = !a->hasLocalLinkage() || !b->hasLocalLinkage();
    if (visible && a->getName() != b->getName())
      return differ("another symbol: " + a->getName().str() + " against " + b->getName().str());
    return same_object(*a, *b);
  }

  /// Everything but the body of a function.
  bool same_object(const GlobalValue& a, const GlobalValue& b) {
    if (a.hasLocalLinkage() != b.hasLocalLinkage() || a.getAddressSpace() != b.getAddressSpace() ||
        a.isDeclaration() != b.isDeclaration() || a.isThreadLocal() != b.isThreadLocal() ||
        a.getUnnamedAddr() != b.getUnnamedAddr())
      return differ("symbol " + a.getName().str() + " is declared differently");
    if (auto* left = dyn_cast<Function>(&a)) {
      auto* right = dyn_cast<Function>(&b);
      return right ? same_declaration(*left, *right) : differ("a function against a variable");
    }
    auto* left = dyn_cast<GlobalVariable>(&a);
    auto* right = dyn_cast<GlobalVariable>(&b);
    if (!left || !right) return differ("symbol " + a.getName().str() + " is of another kind");
    if (!same_type(left->getValueType(), right->getValueType()) || left->isConstant() != right->isConstant() ||
        left->getAlign() != right->getAlign() || left->isExternallyInitialized() != right->isExternallyInitialized())
      return differ("variable " + a.getName().str() + " is declared differently", a, b);
    if (left->hasInitializer() && !same_value(left->getInitializer(), right->getInitializer()))
      return differ("variable " + a.getName().str() + " has another initial value", a, b);
    return same_annotations(a, b);
  }

  bool same_declaration(const Function& a, const Function& b) {
    if (!same_type(a.getFunctionType(), b.getFunctionType()) || a.getCallingConv() != b.getCallingConv())
      return differ("function " + a.getName().str() + " has another type or calling convention");
    if (!same_attributes(a.getAttributes(), b.getAttributes(), ("function " + a.getName().str()).c_str())) return false;
    if (!same_annotations(a, b)) return false;
    if (by_name_)
      for (auto has : {&Function::hasPersonalityFn, &Function::hasPrefixData, &Function::hasPrologueData})
        if ((a.*has)() != (b.*has)()) return differ("function " + a.getName().str() + " is declared differently");
    if (by_name_ && a.hasPersonalityFn() && !same_value(a.getPersonalityFn(), b.getPersonalityFn()))
      return differ("function " + a.getName().str() + " has another personality");
    if (!by_name_ && !a.isDeclaration()) pending_.push_back({&a, &b});
    return true;
  }

  /// nvvm.annotations is a list of (symbol, name, value, …) beside the symbols.
  bool same_annotations(const GlobalValue& a, const GlobalValue& b) {
    auto of = [](const GlobalValue& value) {
      std::set<std::pair<std::string, int64_t>> all;
      auto* list = value.getParent()->getNamedMetadata("nvvm.annotations");
      for (unsigned i = 0; list && i < list->getNumOperands(); ++i) {
        auto* entry = list->getOperand(i);
        auto* symbol =
            entry->getNumOperands() ? dyn_cast_or_null<ValueAsMetadata>(entry->getOperand(0).get()) : nullptr;
        if (!symbol || symbol->getValue() != &value) continue;
        for (unsigned j = 1; j + 1 < entry->getNumOperands(); j += 2) {
          auto* name = dyn_cast<MDString>(entry->getOperand(j));
          auto* number = mdconst::dyn_extract<ConstantInt>(entry->getOperand(j + 1));
          if (name && number) all.insert({name->getString().str(), number->getSExtValue()});
        }
      }
      return all;
    };
    return of(a) == of(b) || differ("NVVM annotations of " + a.getName().str() + " differ");
  }

  // --- bodies ------------------------------------------------------------------------------------------------------
  bool same_body(const Function& a, const Function& b) {
    if (a.arg_size() != b.arg_size() || a.size() != b.size())
      return differ(std::to_string(a.size()) + " basic blocks against " + std::to_string(b.size()));
    for (unsigned i = 0; i < a.arg_size(); ++i) values_[a.getArg(i)] = b.getArg(i);
    // All values are paired by position first, so that operands can be looked up forwards and backwards.
    for (auto left = a.begin(), right = b.begin(); left != a.end(); ++left, ++right) {
      values_[&*left] = &*right;
      if (left->size() != right->size())
        return differ("a basic block of " + std::to_string(left->size()) + " instructions against " +
                      std::to_string(right->size()));
      for (auto one = left->begin(), other = right->begin(); one != left->end(); ++one, ++other)
        values_[&*one] = &*other;
    }
    for (auto left = a.begin(), right = b.begin(); left != a.end(); ++left, ++right)
      for (auto one = left->begin(), other = right->begin(); one != left->end(); ++one, ++other)
        if (!same_instruction(*one, *other)) return false;
    return true;
  }

  bool same_instruction(const Instruction& a, const Instruction& b) {
    if (a.getOpcode() != b.getOpcode() || a.getNumOperands() != b.getNumOperands() ||
        !same_type(a.getType(), b.getType()))
      return differ("another instruction", a, b);
    // This field has nuw, nsw, exact, inbounds, disjoint and all fast-math flags.
    if (a.getRawSubclassOptionalData() != b.getRawSubclassOptionalData()) return differ("other flags", a, b);
    if (!same_special_state(a, b)) return differ("another instruction", a, b);
    for (unsigned i = 0; i < a.getNumOperands(); ++i)
      if (!same_value(a.getOperand(i), b.getOperand(i))) return differ("another operand", a, b);
    return same_attached(a, b);
  }

  /// What an instruction has beside its operands and flags. What has types is compared here, by structure; for all else
  /// LLVM's own comparison is asked too, so that state is not lost which a later LLVM moves out of the operands.
  bool same_special_state(const Instruction& a, const Instruction& b) {
    if (auto* left = dyn_cast<AllocaInst>(&a)) {
      auto& right = cast<AllocaInst>(b);
      return same_type(left->getAllocatedType(), right.getAllocatedType()) && left->getAlign() == right.getAlign() &&
             left->isUsedWithInAlloca() == right.isUsedWithInAlloca() && left->isSwiftError() == right.isSwiftError();
    }
    if (auto* left = dyn_cast<GetElementPtrInst>(&a))
      return same_type(left->getSourceElementType(), cast<GetElementPtrInst>(b).getSourceElementType());
    if (auto* left = dyn_cast<CallBase>(&a)) return same_call(*left, cast<CallBase>(b));
    return a.hasSameSpecialState(&b) && same_state_of_kind(a, b);
  }

  /// What hasSameSpecialState() leaves out, or did in earlier versions: cases of a switch, clean-ups, a phi's blocks.
  bool same_state_of_kind(const Instruction& a, const Instruction& b) {
    if (auto* left = dyn_cast<SwitchInst>(&a)) {
      auto &one = *left, &other = cast<SwitchInst>(b);
      if (one.getNumCases() != other.getNumCases()) return false;
      for (auto i = one.case_begin(), j = other.case_begin(); i != one.case_end(); ++i, ++j)
        if (!same_value(i->getCaseValue(), j->getCaseValue()) ||
            !same_value(i->getCaseSuccessor(), j->getCaseSuccessor()))
          return false;
    }
    if (auto* left = dyn_cast<LandingPadInst>(&a)) return left->isCleanup() == cast<LandingPadInst>(b).isCleanup();
    if (auto* left = dyn_cast<PHINode>(&a)) {
      auto& right = cast<PHINode>(b);
      for (unsigned i = 0; i < left->getNumIncomingValues(); ++i)
        if (!same_value(left->getIncomingBlock(i), right.getIncomingBlock(i))) return false;
    }
    return true;
  }

  bool same_call(const CallBase& a, const CallBase& b) {
    if (a.getCallingConv() != b.getCallingConv() || !same_type(a.getFunctionType(), b.getFunctionType())) return false;
    if (!same_attributes(a.getAttributes(), b.getAttributes(), "a call")) return false;
    auto* one = dyn_cast<CallInst>(&a);
    if (one && one->getTailCallKind() != cast<CallInst>(b).getTailCallKind()) return false;
    auto* left = dyn_cast<CallBrInst>(&a);
    if (left && left->getNumIndirectDests() != cast<CallBrInst>(b).getNumIndirectDests()) return false;
    if (a.getNumOperandBundles() != b.getNumOperandBundles()) return false;
    for (unsigned i = 0; i < a.getNumOperandBundles(); ++i) {
      auto one = a.getOperandBundleAt(i), other = b.getOperandBundleAt(i);
      if (one.getTagName() != other.getTagName() || one.Inputs.size() != other.Inputs.size()) return false;
    }
    return true;
  }

  bool by_name_ = false;  ///< Symbols are the same if their names are.
  std::map<std::pair<const GlobalValue*, const GlobalValue*>, bool> contents_;  ///< Of constants without a name.
  std::map<const Value*, const Value*> values_;
  std::set<const Value*> paired_;
  std::map<StructType*, StructType*> structs_;
  std::map<const MDNode*, const MDNode*> nodes_;
  std::deque<std::pair<const Function*, const Function*>> pending_;
  std::string difference_;
};

}  // namespace

std::optional<std::string> first_difference(const Function& left, const Function& right) {
  return Comparison().run(left, right);
}

std::vector<SymbolDifference> differing_symbols(const Module& left, const Module& right) {
  using Kind = SymbolDifference::Kind;
  std::vector<SymbolDifference> all;
  Comparison comparison;
  auto is_compared = [](const GlobalValue& value) { return !value.hasPrivateLinkage(); };
  for (auto& value : left.global_values()) {
    if (!is_compared(value)) continue;
    auto* other = right.getNamedValue(value.getName());
    if (!other || other->isDeclaration() != value.isDeclaration()) {
      if (!value.isDeclaration()) all.push_back({Kind::Removed, value.getName().str(), {}});
      continue;
    }
    if (auto what = comparison.compare_symbols(value, *other))
      all.push_back({Kind::Changed, value.getName().str(), *what});
  }
  for (auto& value : right.global_values()) {
    if (!is_compared(value) || value.isDeclaration()) continue;
    auto* other = left.getNamedValue(value.getName());
    if (!other || other->isDeclaration()) all.push_back({Kind::Added, value.getName().str(), {}});
  }
  if (auto what = comparison.compare_rest(left, right)) all.push_back({Kind::Changed, {}, *what});
  return all;
}

std::string plain_name(llvm::StringRef mangled) {
  std::string text = llvm::demangle(mangled.str());
  const std::string renamed = "kernelift_application_main(";
  for (size_t at; (at = text.find(renamed)) != std::string::npos;) {
    size_t end = at + renamed.size();
    for (int depth = 1; depth > 0 && end < text.size(); ++end)
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    text.replace(at, end - at, "main");
  }
  return text;
}

}  // namespace kernelift
