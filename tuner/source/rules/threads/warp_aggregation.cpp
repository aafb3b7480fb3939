// warp_aggregation: if all threads of a warp add to one address, the memory system executes the additions one after the
// other. With this rule the warp combines its values by shuffles, and one lane performs the atomic operation:
//   atomicAdd(total, x);
// becomes, where all 32 lanes are active,
//   float partial = x;
//   for (int offset = 16; offset > 0; offset /= 2) partial += __shfl_xor_sync(0xffffffffu, partial, offset);
//   if (lane == 0) atomicAdd(total, partial);
// and stays unchanged where they are not. Only atomics whose result is unused, on an address that is uniform in the
// block by its text. Sums are rounded in another order, as atomic sums are anyway.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift::tuner {
namespace {

constexpr int kMostInitialisers = 4;  ///< Depth of initialisers that are examined.

/// Uniform in a block: computed from parameters, constants, the block's index, and variables that are initialised from
/// such values and never changed.
bool is_uniform(const KernelSource& source, const clang::FunctionDecl* kernel, const clang::Expr* expression,
                const std::set<const clang::VarDecl*>& changed, int depth) {
  bool uniform = true;
  walk(expression, [&](const clang::Stmt* statement) {
    if (llvm::isa<clang::PseudoObjectExpr>(statement)) {
      uniform &= source.spelled(statement).starts_with("block") || source.spelled(statement).starts_with("grid");
    } else if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement)) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
      if (!variable || !variable->hasLocalStorage())
        return uniform;  // A constant, or a variable in shared or global memory.
      // A lambda's parameter differs between calls.
      const bool parameter = llvm::isa<clang::ParmVarDecl>(variable);
      bool known = parameter ? variable->getDeclContext() == kernel
                             : variable->getInit() && depth > 0 &&
                                   is_uniform(source, kernel, variable->getInit(), changed, depth - 1);
      uniform &= known && !changed.contains(variable);
    } else if (auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement)) {
      // `&total[block]` is a uniform address; the value stored at an address need not be uniform.
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

/// Statement that combines two partial results; empty for other functions.
std::string combined(const std::string& function, const std::string& partial, const std::string& other) {
  if (function == "atomicAdd") return partial + " += " + other;
  if (function == "atomicMax") return partial + " = max(" + partial + ", " + other + ")";
  if (function == "atomicMin") return partial + " = min(" + partial + ", " + other + ")";
  return {};
}

std::vector<Opportunity> find_warp_aggregation(const KernelSource& source, const RuleContext& facts, const Bindings&) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || facts.hip) return {};
  std::set<const clang::VarDecl*> assigned;  // Other than by their declarations.
  walk(kernel->getBody(), [&](const clang::Stmt* statement) {
    if (llvm::isa<clang::BinaryOperator, clang::UnaryOperator, clang::CallExpr>(statement))
      assigned.merge(changed_within(statement));
    return true;
  });
  Opportunity found;
  size_t count = 0;
  std::string partial = source.fresh_name("partial"), offset = source.fresh_name("offset");
  walk(kernel->getBody(), [&](const clang::Stmt* statement) {
    auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
    std::string function = call ? source.spelled(call->getCallee()) : "";
    auto range = call ? source.span(call) : std::nullopt;
    auto end = range ? source.statement_end(call) : std::nullopt;
    if (!end || call->getNumArgs() != 2 || combined(function, "a", "b").empty() || !source.value_is_unused(call))
      return true;
    std::string place = source.spelled(call->getArg(0)), value = source.spelled(call->getArg(1));
    clang::QualType pointer = call->getArg(0)->IgnoreImpCasts()->getType();
    if (!pointer->isPointerType() || place.empty() || value.empty() ||
        !is_uniform(source, kernel, call->getArg(0), assigned, kMostInitialisers))
      return true;
    clang::QualType type = pointer->getPointeeType();
    auto variables = variables_in(call->getArg(0));
    if (std::any_of(variables.begin(), variables.end(), [&](auto* one) { return spelled_by_macro(source, one); }))
      return true;
    if (type.isVolatileQualified() || !(type->isArithmeticType() || type->isTemplateTypeParmType())) return true;
    std::string name = type.getAsString(source.context().getPrintingPolicy());
    std::string lane = "(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32";
    found.edits.push_back(
        {range->begin, *end,
         "{ " + name + " " + partial + " = " + value + "; if (__activemask() == 0xffffffffu) { for (int " + offset +
             " = 16; " + offset + " > 0; " + offset + " /= 2) " +
             combined(function, partial, "__shfl_xor_sync(0xffffffffu, " + partial + ", " + offset + ")") + "; if (" +
             lane + " == 0) " + function + "(" + place + ", " + partial + "); } else " + function + "(" + place + ", " +
             partial + "); }"});
    ++count;
    return false;
  });
  if (count == 0) return {};
  found.place = std::to_string(count) + (count == 1 ? " place" : " places");
  return {found};
}

}  // namespace

const Rule kWarpAggregation = {"warp_aggregation",
                               "combine a warp's values before one lane adds them to memory",
                               "CUDA; an atomic whose result is not used, on one address for the whole block",
                               {},
                               find_warp_aggregation,
                               {Bound::Memory, Bound::Latency},
                               0.3};

}  // namespace kernelift::tuner
