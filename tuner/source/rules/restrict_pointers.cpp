// restrict_pointers: tells the compiler that the kernel's pointers do not overlap (`__restrict__`), so that it can move
// and share loads; with `ldg`, arrays that the kernel never writes are read through the read-only cache (`__ldg`). Only
// pointers qualify into whose memory no other argument points, by the recorded launches and by the launch sites' text.
// Another launch may still pass overlapping pointers, so the step has that premise. `const` is not added, because it
// would change the kernel's mangled name.
#include <clang/AST/Expr.h>

#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {
namespace {

/// Whether every use of the pointer reads an element; fills `reads`.
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

std::vector<Opportunity> find_restrict_pointers(const KernelSource& source, const RuleContext& facts,
                                                const Bindings& values) {
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
    if (parameter->getOriginalType()->isArrayType()) continue;  // C++ has no qualified form of `float a[]`.
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
                                "pointers into whose memory no other argument of a recorded launch points",
                                {{"ldg", {0, 1}}},
                                find_restrict_pointers,
                                {Bound::Memory, Bound::Latency}};

}  // namespace kernelift::tuner
