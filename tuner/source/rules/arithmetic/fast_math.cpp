// fast_math: single-precision functions and divisions as the hardware does them, right to a few units in the last place
// instead of one: `expf(x)` becomes `__expf(x)`, `a / b` `__fdividef(a, b)`, `a / sqrtf(b)` `a * rsqrtf(b)`. That is
// what nvcc's -use_fast_math does to a whole file; here it is one kernel's functions, its divisions, or both, and
// verification says whether its results bear it. The functions' error grows with their arguments (__sinf's past pi), of
// which only the recorded ones were tried: the label says so. What is cut to an integer is left alone; and so is an
// operand whose type is an alias or a macro, which may be a double another time.
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/arithmetic/rounding.h"
#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift {
namespace {

struct Intrinsic {
  const char *slow, *fast;
};
constexpr Intrinsic kIntrinsics[] = {{"expf", "__expf"},   {"exp10f", "__exp10f"}, {"logf", "__logf"},
                                     {"log2f", "__log2f"}, {"log10f", "__log10f"}, {"powf", "__powf"},
                                     {"sinf", "__sinf"},   {"cosf", "__cosf"},     {"tanf", "__tanf"}};
/// The overloads of <cmath> take these names for floats too.
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

/// `call`'s name and closing parenthesis replaced.
bool wrap(const KernelSource& source, const clang::CallExpr* call, const std::string& open, const std::string& close,
          std::vector<TextEdit>& edits) {
  auto name = source.span(call->getCallee());
  auto end = source.offset(call->getRParenLoc());
  auto argument = call->getNumArgs() == 1 ? source.span(call->getArg(0)) : std::nullopt;
  if (!name || !end || !argument) return false;
  edits.push_back({name->begin, argument->begin, open});
  edits.push_back({*end, *end + 1, close});
  return true;
}

/// Few units in the last place are nothing to a value of which that becomes; `compares` where it is compared.
bool bears_it(Rounded then, bool& compares) {
  compares |= then == Rounded::Compared;
  return then != Rounded::Cut;
}

/// Those `taken` are part of a division that was replaced.
void replace_functions(const KernelSource& source, const clang::Stmt* body, const std::set<const clang::Expr*>& taken,
                       bool& compares, std::vector<TextEdit>& edits) {
  walk(body, [&](const clang::Stmt* statement) {
    auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
    if (!call || taken.contains(call)) return true;
    auto name = source.span(call->getCallee());
    llvm::StringRef callee = name_of_single(source, call);
    const char* fast = fast_version(callee);
    if (name && source.spelled(call->getCallee()) == "sincosf" && call->getNumArgs() == 3) {
      const Rounded both = std::max(what_becomes_of_what_is_at(source, call->getArg(1)),
                                    what_becomes_of_what_is_at(source, call->getArg(2)));
      if (bears_it(both, compares)) edits.push_back({name->begin, name->end, "__sincosf"});
      return true;
    }
    // `expf` is of single precision whatever it is given, `exp` is an overload.
    if (!name || !(fast || callee == "tanhf" || is_root(callee)) ||
        (!callee.ends_with("f") && !only_plain_floats(source, call)))
      return true;
    if (!bears_it(what_becomes_of(source, call), compares)) return true;
    if (fast) edits.push_back({name->begin, name->end, fast});
    // Exact to 2^-22 of one, not of the value: for small ones verification decides.
    else if (callee == "tanhf") wrap(source, call, "(1.0f - __fdividef(2.0f, __expf(2.0f * (", ")) + 1.0f))", edits);
    // The root of zero stays zero: its reciprocal root is infinite.
    else if (is_root(callee)) wrap(source, call, "__fdividef(1.0f, rsqrtf(", "))", edits);
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
    // A constant's reciprocal is multiplied with already; what is above it in the tree is left for the next time.
    if (!range || !operation || !only_plain_floats(source, division) ||
        (!division->getRHS()->isValueDependent() && division->getRHS()->isEvaluatable(source.context())))
      return true;
    if (!bears_it(what_becomes_of(source, division), compares)) return true;
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

std::vector<Opportunity> find(const KernelSource& source, const RuleContext&, const Bindings& values) {
  int64_t pieces = values.at("operations");
  static constexpr const char* kPieces[] = {"", "functions", "divisions", "functions and divisions"};
  Opportunity found;
  found.place = "whole text", found.summary = kPieces[pieces];
  // Divisions first: what is inserted where a function's name begins comes before the name.
  std::set<const clang::Expr*> taken;
  bool compares = false;
  if (pieces & 2)
    for (auto* function : source.functions())
      replace_divisions(source, function->getBody(), taken, compares, found.edits);
  size_t divisions = found.edits.size();
  if (pieces & 1)
    for (auto* function : source.functions())
      replace_functions(source, function->getBody(), taken, compares, found.edits);
  if (pieces == 3 && (divisions == 0 || found.edits.size() == divisions))
    return {};  // The same as one of the pieces alone.
  if (found.edits.empty()) return {};
  if (found.edits.size() > divisions)
    found.premises.push_back({"the functions' arguments stay in the range of the recorded launches"});
  // Past 2^126 __fdividef is 0. A quotient by a root became a product.
  const bool divides = std::any_of(found.edits.begin(), found.edits.begin() + static_cast<long>(divisions),
                                   [](auto& edit) { return edit.text == "__fdividef("; });
  if (divides) found.premises.push_back({"no divisor is larger than 8e37"});
  if (compares) found.effects.push_back(kComparesRounded);
  return {found};
}

}  // namespace

const Rule kFastMath = {"fast_math",
                        "single-precision functions (1), divisions (2) or both (3) as the hardware does them",
                        "float operands; the results bear a few units in the last place",
                        {{"operations", {1, 2, 3}}},
                        find,
                        {Bound::Compute}};

}  // namespace kernelift
