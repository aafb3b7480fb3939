// restrict_pointers: tells the compiler that the kernel's pointers do not overlap (`__restrict__`), so that loads can
// move and be shared; and, as a further step, that arrays never written in the kernel may be read through the read-only
// cache
// (`__ldg`). That holds for pointers whose recorded memory nothing else pointed into, and whose arguments no launch
// site spells alike; the others stay as they are. Another launch may still pass pointers that overlap, so the label
// says what is assumed. `const` is not added: it would change the kernel's name for its callers.
#include <clang/AST/Expr.h>

#include "tuner/source/rules/rule.h"

namespace kernelift {
namespace {

/// Every use is an element read; fills `reads`. False if anything else happens to the pointer.
bool only_read(const KernelSource& source, const clang::Stmt* body, const clang::ParmVarDecl* parameter,
               std::vector<const clang::ArraySubscriptExpr*>& reads) {
  bool only = true;
  walk(body, [&](const clang::Stmt* statement) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    if (!reference || reference->getDecl() != parameter) return true;
    const clang::Stmt* up = source.parent(reference);
    while (up && llvm::isa<clang::ImplicitCastExpr, clang::ParenExpr>(up)) up = source.parent(up);
    auto* subscript = llvm::dyn_cast_or_null<clang::ArraySubscriptExpr>(up);
    const clang::Stmt* use = subscript ? source.parent(subscript) : nullptr;
    while (use && llvm::isa<clang::ParenExpr>(use)) use = source.parent(use);
    auto* load = llvm::dyn_cast_or_null<clang::ImplicitCastExpr>(use);
    if (subscript && load && load->getCastKind() == clang::CK_LValueToRValue) reads.push_back(subscript);
    else only = false;
    return true;
  });
  return only;
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel) return {};
  bool through_cache = values.at("ldg") != 0;
  Opportunity found;
  found.place = "parameters of " + kernel->getNameAsString();
  found.summary = through_cache ? "__restrict__ and __ldg" : "__restrict__";
  size_t pointers = 0, loads = 0;
  std::set<std::string> apart;
  for (auto* parameter : kernel->parameters()) {
    pointers += parameter->getType()->isPointerType();
    if (facts.shared_pointers.contains(parameter->getFunctionScopeIndex())) continue;
    auto name = source.offset(parameter->getLocation());
    if (!parameter->getType()->isPointerType() || !name || parameter->getName().empty()) continue;
    if (parameter->getOriginalType()->isArrayType()) continue;  // `float a[]` has no place for the qualifier in C++.
    if (!parameter->getType().isRestrictQualified()) {
      found.edits.push_back({*name, *name, "__restrict__ "});
      apart.insert(parameter->getNameAsString());
    }
    std::vector<const clang::ArraySubscriptExpr*> reads;
    clang::QualType pointee = parameter->getType()->getPointeeType();
    if (!through_cache || !only_read(source, kernel->getBody(), parameter, reads) || !pointee->isBuiltinType() ||
        pointee.isVolatileQualified() || pointee->isBooleanType())
      continue;
    for (auto* read : reads) {
      auto range = source.span(read);
      if (!range || range->begin < 5 || source.text().substr(range->begin - 1, 1) == "&") continue;
      found.edits.push_back({range->begin, range->begin, "__ldg(&"});
      found.edits.push_back({range->end, range->end, ")"});
      ++loads;
    }
  }
  if (pointers < 2 || found.edits.empty() || (through_cache && !loads)) return {};
  if (!apart.empty()) found.premises.push_back(facts.no_overlap(apart));
  return {found};
}

}  // namespace

const Rule kRestrictPointers = {"restrict_pointers",
                                "mark pointers __restrict__; read never-written arrays through the read-only cache",
                                "of the pointers whose memory nothing else pointed into in any recorded launch",
                                {{"ldg", {0, 1}}},
                                find,
                                {Bound::Memory, Bound::Latency}};

}  // namespace kernelift
