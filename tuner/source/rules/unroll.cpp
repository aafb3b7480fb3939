// unroll: `#pragma unroll N` before a loop that has no pragma. Factor 0 unrolls fully (constant bounds only), 1 forbids
// unrolling. Loops inside a loop that must not be unrolled are left alone, because that pragma keeps the code small:
// unroll_and_jam and block_merging write it before their remainder loops.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kLongestFullUnroll = 128;  ///< Iterations; more of them would overflow the instruction cache.

std::optional<int64_t> constant_bound(const KernelSource& source, const clang::ForStmt* loop) {
  auto* condition = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getCond());
  if (!condition || !condition->isComparisonOp() || condition->getRHS()->isValueDependent()) return std::nullopt;
  clang::Expr::EvalResult value;
  if (!condition->getRHS()->EvaluateAsInt(value, source.context())) return std::nullopt;
  return value.Val.getInt().getExtValue();
}

bool stays_small(const KernelSource& source, const clang::Stmt* loop) {
  for (const clang::Stmt* up = source.parent(loop); up; up = source.parent(up)) {
    auto* attributed = llvm::dyn_cast<clang::AttributedStmt>(up);
    if (!attributed) continue;
    for (auto* attribute : attributed->getAttrs()) {
      auto* hint = llvm::dyn_cast<clang::LoopHintAttr>(attribute);
      auto* count = hint && hint->getOption() == clang::LoopHintAttr::UnrollCount ? hint->getValue() : nullptr;
      auto factor =
          count && !count->isValueDependent() ? count->getIntegerConstantExpr(source.context()) : std::nullopt;
      // clang represents a count of 1 as "disable".
      if (hint && ((factor && *factor == 1) || hint->getState() == clang::LoopHintAttr::Disable)) return true;
    }
  }
  return false;
}

std::vector<Opportunity> find_unroll(const KernelSource& source, const RuleContext&, const Bindings& values) {
  std::vector<Opportunity> found;
  int64_t factor = values.at("factor");
  for (auto* function : source.functions())
    for (auto* loop : loops_in(function)) {
      auto begin = source.offset(loop->getForLoc());
      if (!begin || !source.first_on_line(*begin)) continue;
      if (auto* outer = source.parent(loop); outer && llvm::isa<clang::AttributedStmt>(outer)) continue;
      if (stays_small(source, loop)) continue;
      auto bound = constant_bound(source, loop);
      if (factor == 0 && (!bound || *bound > kLongestFullUnroll)) continue;
      if (factor > 1 && bound && factor > *bound) continue;
      std::string pragma = factor == 0 ? "#pragma unroll" : "#pragma unroll " + std::to_string(factor);
      Opportunity opportunity;
      opportunity.place = source.name(loop);
      opportunity.summary = factor == 0 ? "fully" : factor == 1 ? "not at all" : "by " + std::to_string(factor);
      // A pragma needs its own line, before the loop's.
      opportunity.edits.push_back(
          {source.line_begin(*begin), source.line_begin(*begin), source.indentation(*begin) + pragma + "\n"});
      found.push_back(std::move(opportunity));
    }
  return found;
}

}  // namespace

const Rule kUnroll = {"unroll",
                      "unroll a loop by a pragma",
                      "the loop has no pragma yet and begins its line",
                      {{"factor", {4, 8, 2, 0, 16, 1}}},
                      find_unroll,
                      {Bound::Latency}};

}  // namespace kernelift::tuner
