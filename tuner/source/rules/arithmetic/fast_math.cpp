// fast_math: single-precision functions and divisions as the hardware does them, right to a few units in the last place
// instead of one: `expf(x)` becomes `__expf(x)`, `a / b` `__fdividef(a, b)`. That is what nvcc's -use_fast_math does to a whole
// file; here it is one kernel's functions, its divisions, or both, and verification says whether its results bear it.
#include <clang/AST/Expr.h>

#include "tuner/source/rules/rule.h"

namespace kernelift {
namespace {

struct Intrinsic {
  const char *slow, *fast;
};
constexpr Intrinsic kIntrinsics[] = {{"expf", "__expf"},   {"exp10f", "__exp10f"}, {"logf", "__logf"}, {"log2f", "__log2f"},
                                     {"log10f", "__log10f"}, {"powf", "__powf"},   {"sinf", "__sinf"}, {"cosf", "__cosf"},
                                     {"tanf", "__tanf"}};
/// The overloads of <cmath> take these names for floats too.
constexpr Intrinsic kOverloads[] = {{"exp", "__expf"}, {"log", "__logf"}, {"pow", "__powf"}, {"sin", "__sinf"}, {"cos", "__cosf"}};

const char* fast_version(const KernelSource& source, const clang::CallExpr* call) {
  auto* callee = call->getDirectCallee();
  if (!callee || !callee->getIdentifier() || call->isTypeDependent()) return nullptr;
  auto single = [&](clang::QualType type) { return source.context().hasSameUnqualifiedType(type, source.context().FloatTy); };
  if (!single(callee->getReturnType())) return nullptr;
  for (auto* parameter : callee->parameters())
    if (!single(parameter->getType())) return nullptr;
  for (auto& one : kIntrinsics)
    if (callee->getName() == one.slow) return one.fast;
  for (auto& one : kOverloads)
    if (callee->getName() == one.slow) return one.fast;
  return nullptr;
}

void replace_functions(const KernelSource& source, const clang::Stmt* body, std::vector<TextEdit>& edits) {
  walk(body, [&](const clang::Stmt* statement) {
    auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
    if (!call) return true;
    auto name = source.span(call->getCallee());
    auto* callee = call->getDirectCallee();
    if (!name || !callee || !callee->getIdentifier()) return true;
    if (const char* fast = fast_version(source, call)) {
      edits.push_back({name->begin, name->end, fast});
    } else if (callee->getName() == "tanhf" && call->getNumArgs() == 1) {
      auto close = source.offset(call->getRParenLoc());
      auto argument = source.span(call->getArg(0));
      if (!close || !argument) return true;
      // Exact to 2^-22 of one, not of the value: for small ones verification decides.
      edits.push_back({name->begin, argument->begin, "(1.0f - __fdividef(2.0f, __expf(2.0f * ("});
      edits.push_back({*close, *close + 1, ")) + 1.0f))"});
    }
    return true;
  });
}

void replace_divisions(const KernelSource& source, const clang::Stmt* body, std::vector<TextEdit>& edits) {
  walk(body, [&](const clang::Stmt* statement) {
    auto* division = llvm::dyn_cast<clang::BinaryOperator>(statement);
    if (!division || division->getOpcode() != clang::BO_Div || division->getType()->isDependentType() ||
        !source.context().hasSameUnqualifiedType(division->getType(), source.context().FloatTy))
      return true;
    auto range = source.span(division);
    auto operation = source.offset(division->getOperatorLoc());
    // A constant's reciprocal is multiplied with already; what is above it in the tree is left for the next time.
    if (!range || !operation || (!division->getRHS()->isValueDependent() && division->getRHS()->isEvaluatable(source.context()))) return true;
    edits.push_back({range->begin, range->begin, "__fdividef("});
    edits.push_back({*operation, *operation + 1, ","});
    edits.push_back({range->end, range->end, ")"});
    return false;
  });
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext&, const Bindings& values) {
  int64_t pieces = values.at("pieces");
  Opportunity found;
  found.place = "whole text";
  // Divisions first: what is inserted where a function's name begins comes before the name.
  if (pieces & 2)
    for (auto* function : source.functions()) replace_divisions(source, function->getBody(), found.edits);
  size_t divisions = found.edits.size();
  if (pieces & 1)
    for (auto* function : source.functions()) replace_functions(source, function->getBody(), found.edits);
  if (pieces == 3 && (divisions == 0 || found.edits.size() == divisions)) return {};  // The same as one of the pieces alone.
  if (found.edits.empty()) return {};
  return {found};
}

}  // namespace

const Rule kFastMath = {"fast_math", "single-precision functions (1), divisions (2) or both (3) as the hardware does them",
                        "float operands; the results bear a few units in the last place", {{"pieces", {1, 2, 3}}}, find, {Bound::Compute}};

}  // namespace kernelift
