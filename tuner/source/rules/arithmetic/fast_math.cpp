// fast_math: single-precision functions and divisions by the hardware's approximations, which are correct to a few
// units in the last place instead of one: `expf(x)` becomes `__expf(x)`, `a / b` `__fdividef(a, b)`, `a / sqrtf(b)` `a
// * rsqrtf(b)`. nvcc's -use_fast_math does that for a whole file; this rule does it for one kernel's functions, its
// divisions, or both, and verification decides whether the results are accurate enough. The functions' error grows with
// their arguments (__sinf's past pi), and only the recorded arguments were tried: that is a premise. Values that become
// integers are left alone, and operands whose type is an alias or a macro, which may be double in another build.
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/arithmetic/rounding.h"
#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift::tuner {
namespace {

struct Intrinsic {
  const char *slow, *fast;
};
constexpr Intrinsic kIntrinsics[] = {{"expf", "__expf"},   {"exp10f", "__exp10f"}, {"logf", "__logf"},
                                     {"log2f", "__log2f"}, {"log10f", "__log10f"}, {"powf", "__powf"},
                                     {"sinf", "__sinf"},   {"cosf", "__cosf"},     {"tanf", "__tanf"}};
/// Overloads of <cmath> for float.
constexpr Intrinsic kOverloads[] = {
    {"exp", "__expf"}, {"log", "__logf"}, {"pow", "__powf"}, {"sin", "__sinf"}, {"cos", "__cosf"}};

/// The name of a function from floats to a float; empty for any other.
llvm::StringRef name_of_single(const KernelSource& source, const clang::CallExpr* call) {
  auto* callee = call->getDirectCallee();
  if (!callee || !callee->getIdentifier() || call->isTypeDependent()) return {};
  auto single = [&](clang::QualType type) {
    return source.context().hasSameUnqualifiedType(type, source.context().FloatTy);
  };
  if (!single(callee->getReturnType())) return {};
  for (auto* parameter : callee->parameters())
    if (!single(parameter->getType())) return {};
  return callee->getName();
}

bool is_root(llvm::StringRef name) { return name == "sqrtf" || name == "sqrt"; }

const char* fast_version(llvm::StringRef name) {
  for (auto& one : kIntrinsics)
    if (name == one.slow) return one.fast;
  for (auto& one : kOverloads)
    if (name == one.slow) return one.fast;
  return nullptr;
}

/// Replaces the call's name and closing parenthesis.
bool replace_call(const KernelSource& source, const clang::CallExpr* call, const std::string& open,
                  const std::string& close, std::vector<TextEdit>& edits) {
  auto name = source.span(call->getCallee());
  auto end = source.offset(call->getRParenLoc());
  auto argument = call->getNumArgs() == 1 ? source.span(call->getArg(0)) : std::nullopt;
  if (!name || !end || !argument) return false;
  edits.push_back({name->begin, argument->begin, open});
  edits.push_back({*end, *end + 1, close});
  return true;
}

/// Whether a value with this use may change by a few units in the last place; sets `compares` if it is compared.
bool tolerates_rounding(RoundedUse then, bool& compares) {
  compares |= then == RoundedUse::Compared;
  return then != RoundedUse::Truncated;
}

/// `taken`: calls that are part of a division that was replaced.
void replace_functions(const KernelSource& source, const clang::Stmt* body, const std::set<const clang::Expr*>& taken,
                       bool& compares, std::vector<TextEdit>& edits) {
  walk(body, [&](const clang::Stmt* statement) {
    auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
    if (!call || taken.contains(call)) return true;
    auto name = source.span(call->getCallee());
    llvm::StringRef callee = name_of_single(source, call);
    const char* fast = fast_version(callee);
    if (name && source.spelled(call->getCallee()) == "sincosf" && call->getNumArgs() == 3) {
      const RoundedUse both = std::max(use_of_stored(source, call->getArg(1)), use_of_stored(source, call->getArg(2)));
      if (tolerates_rounding(both, compares)) edits.push_back({name->begin, name->end, "__sincosf"});
      return true;
    }
    // `expf` has single precision for every argument; `exp` is overloaded.
    if (!name || !(fast || callee == "tanhf" || is_root(callee)) ||
        (!callee.ends_with("f") && !only_plain_floats(source, call)))
      return true;
    if (!tolerates_rounding(use_of(source, call), compares)) return true;
    if (fast) edits.push_back({name->begin, name->end, fast});
    // The absolute error is 2^-22; whether that is enough for small values is left to verification.
    else if (callee == "tanhf")
      replace_call(source, call, "(1.0f - __fdividef(2.0f, __expf(2.0f * (", ")) + 1.0f))", edits);
    // The root of zero stays zero: rsqrtf(0) is infinite, and 1 / infinity is 0.
    else if (is_root(callee)) replace_call(source, call, "__fdividef(1.0f, rsqrtf(", "))", edits);
    return true;
  });
}

void replace_divisions(const KernelSource& source, const clang::Stmt* body, std::set<const clang::Expr*>& taken,
                       bool& compares, std::vector<TextEdit>& edits) {
  walk(body, [&](const clang::Stmt* statement) {
    auto* division = llvm::dyn_cast<clang::BinaryOperator>(statement);
    if (!division || division->getOpcode() != clang::BO_Div || division->getType()->isDependentType() ||
        !source.context().hasSameUnqualifiedType(division->getType(), source.context().FloatTy))
      return true;
    auto range = source.span(division);
    auto operation = source.offset(division->getOperatorLoc());
    // The compiler multiplies by a constant's reciprocal already. Enclosing divisions are left for the next application
    // of the rule.
    if (!range || !operation || !only_plain_floats(source, division) ||
        (!division->getRHS()->isValueDependent() && division->getRHS()->isEvaluatable(source.context())))
      return true;
    if (!tolerates_rounding(use_of(source, division), compares)) return true;
    auto* root = llvm::dyn_cast<clang::CallExpr>(division->getRHS()->IgnoreParenImpCasts());
    auto name = root && is_root(name_of_single(source, root)) ? source.span(root->getCallee()) : std::nullopt;
    if (name) {
      edits.push_back({*operation, *operation + 1, "*"});
      edits.push_back({name->begin, name->end, "rsqrtf"});
      taken.insert(root);
      return false;
    }
    edits.push_back({range->begin, range->begin, "__fdividef("});
    edits.push_back({*operation, *operation + 1, ","});
    edits.push_back({range->end, range->end, ")"});
    return false;
  });
}

std::vector<Opportunity> find_fast_math(const KernelSource& source, const RuleContext&, const Bindings& values) {
  int64_t operations = values.at("operations");
  static constexpr const char* kOperations[] = {"", "functions", "divisions", "functions and divisions"};
  Opportunity found;
  found.place = "whole text", found.summary = kOperations[operations];
  // Divisions first: text that they insert at a function's name must precede that name.
  std::set<const clang::Expr*> taken;
  bool compares = false;
  if (operations & 2)
    for (auto* function : source.functions())
      replace_divisions(source, function->getBody(), taken, compares, found.edits);
  size_t divisions = found.edits.size();
  if (operations & 1)
    for (auto* function : source.functions())
      replace_functions(source, function->getBody(), taken, compares, found.edits);
  if (operations == 3 && (divisions == 0 || found.edits.size() == divisions))
    return {};  // The same as one of the operations alone.
  if (found.edits.empty()) return {};
  if (found.edits.size() > divisions)
    found.premises.push_back({"the functions' arguments stay in the range of the recorded launches"});
  // __fdividef is 0 for divisors past 2^126. A quotient by a root became a product.
  const bool divides = std::any_of(found.edits.begin(), found.edits.begin() + static_cast<long>(divisions),
                                   [](auto& edit) { return edit.text == "__fdividef("; });
  if (divides) found.premises.push_back({"no divisor is larger than 8e37"});
  if (compares) found.effects.push_back(kComparesRounded);
  return {found};
}

}  // namespace

const Rule kFastMath = {"fast_math",
                        "single-precision functions (1), divisions (2) or both (3) by the hardware's approximations",
                        "float operands; the results tolerate an error of a few units in the last place",
                        {{"operations", {1, 2, 3}}},
                        find_fast_math,
                        {Bound::Compute}};

}  // namespace kernelift::tuner
