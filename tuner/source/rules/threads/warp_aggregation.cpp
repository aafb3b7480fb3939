// warp_aggregation: where all threads of a warp add to one place, the memory takes them one after the other. Here a
// warp puts its values together by shuffles first, and one of its lanes goes to memory:
//   atomicAdd(total, x);
// becomes, where all 32 lanes have arrived together,
//   float part = x;
//   for (int hop = 16; hop > 0; hop /= 2) part += __shfl_xor_sync(0xffffffffu, part, hop);
//   if (lane == 0) atomicAdd(total, part);
// and stays as it is where they have not. Only atomics whose result nobody uses, on an address that is the same for the
// whole block as far as its words show. Sums are rounded in another order, as atomics round them anyway.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift {
namespace {

constexpr int kInitialisers = 4;  ///< Variables of variables that are looked into.

/// The same for all threads of a block: made of parameters, constants, the block's number and variables set once from
/// such.
bool is_uniform(const KernelSource& source, const clang::FunctionDecl* kernel, const clang::Expr* expression,
                const std::set<const clang::VarDecl*>& changed, int depth) {
  bool uniform = true;
  walk(expression, [&](const clang::Stmt* statement) {
    if (llvm::isa<clang::PseudoObjectExpr>(statement)) {
      uniform &= source.spelled(statement).starts_with("block") || source.spelled(statement).starts_with("grid");
    } else if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement)) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
      if (!variable || !variable->hasLocalStorage())
        return uniform;  // A constant, or an object of the block or the device.
      // A lambda's parameter is another one each time.
      const bool parameter = llvm::isa<clang::ParmVarDecl>(variable);
      bool known = parameter ? variable->getDeclContext() == kernel
                             : variable->getInit() && depth > 0 &&
                                   is_uniform(source, kernel, variable->getInit(), changed, depth - 1);
      uniform &= known && !changed.contains(variable);
    } else if (auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement)) {
      // `&total[block]` is an address; what lies at one that differs, or is changed meanwhile, is not known.
      auto* address = llvm::dyn_cast_or_null<clang::UnaryOperator>(source.parent(subscript));
      uniform &= address && address->getOpcode() == clang::UO_AddrOf;
    } else if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement)) {
      uniform &= unary->getOpcode() == clang::UO_AddrOf || unary->getOpcode() == clang::UO_Minus;
    } else {
      uniform &= llvm::isa<clang::BinaryOperator, clang::CastExpr, clang::ParenExpr, clang::IntegerLiteral>(statement);
    }
    return uniform;
  });
  return uniform;
}

/// How two parts are put together; empty for other functions.
std::string together(const std::string& function, const std::string& part, const std::string& other) {
  if (function == "atomicAdd") return part + " += " + other;
  if (function == "atomicMax") return part + " = max(" + part + ", " + other + ")";
  if (function == "atomicMin") return part + " = min(" + part + ", " + other + ")";
  return {};
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings&) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || facts.hip) return {};
  std::set<const clang::VarDecl*> assigned;  // A declaration alone is no change.
  walk(kernel->getBody(), [&](const clang::Stmt* statement) {
    if (llvm::isa<clang::BinaryOperator, clang::UnaryOperator, clang::CallExpr>(statement))
      assigned.merge(changed_within(statement));
    return true;
  });
  Opportunity found;
  size_t count = 0;
  std::string part = source.fresh_name("partial"), hop = source.fresh_name("offset");
  walk(kernel->getBody(), [&](const clang::Stmt* statement) {
    auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
    std::string function = call ? source.spelled(call->getCallee()) : "";
    auto range = call ? source.span(call) : std::nullopt;
    auto end = range ? source.statement_end(call) : std::nullopt;
    if (!end || call->getNumArgs() != 2 || together(function, "a", "b").empty() || !source.value_is_unused(call))
      return true;
    std::string place = source.spelled(call->getArg(0)), value = source.spelled(call->getArg(1));
    clang::QualType pointer = call->getArg(0)->IgnoreImpCasts()->getType();
    if (!pointer->isPointerType() || place.empty() || value.empty() ||
        !is_uniform(source, kernel, call->getArg(0), assigned, kInitialisers))
      return true;
    clang::QualType type = pointer->getPointeeType();
    auto variables = variables_in(call->getArg(0));
    if (std::any_of(variables.begin(), variables.end(), [&](auto* one) { return spelled_by_macro(source, one); }))
      return true;
    if (type.isVolatileQualified() || !(type->isArithmeticType() || type->isTemplateTypeParmType())) return true;
    std::string name = type.getAsString(source.context().getPrintingPolicy());
    std::string lane = "(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32";
    found.edits.push_back({range->begin, *end,
                           "{ " + name + " " + part + " = " + value +
                               "; if (__activemask() == 0xffffffffu) { for (int " + hop + " = 16; " + hop + " > 0; " +
                               hop + " /= 2) " +
                               together(function, part, "__shfl_xor_sync(0xffffffffu, " + part + ", " + hop + ")") +
                               "; if (" + lane + " == 0) " + function + "(" + place + ", " + part + "); } else " +
                               function + "(" + place + ", " + part + "); }"});
    ++count;
    return false;
  });
  if (count == 0) return {};
  found.place = std::to_string(count) + (count == 1 ? " place" : " places");
  return {found};
}

}  // namespace

const Rule kWarpAggregation = {"warp_aggregation",
                               "put a warp's values together before one lane adds them to memory",
                               "CUDA; an atomic whose result is not used, on one address for the whole block",
                               {},
                               find,
                               {Bound::Memory, Bound::Latency}};

}  // namespace kernelift
