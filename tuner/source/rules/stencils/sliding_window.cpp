// sliding_window: iterations of a loop read what earlier ones have read, as when a thread goes through the planes of a
// volume (2.5-D streaming),
//   for (int k = 1; k < n - 1; ++k) out[k * plane + at] = a[(k - 1) * plane + at] + a[(k + 1) * plane + at] + …;
// The values stay in registers, and each iteration loads the newest alone:
//   float a_window[3];
//   for (int k = 1; k < n - 1; ++k) {
//     if (k == 1) { a_window[0] = a[(k - 1) * plane + at];  a_window[1] = a[k * plane + at]; }
//     a_window[2] = a[(k + 1) * plane + at];
//     out[k * plane + at] = a_window[0] + a_window[2] + …;
//     a_window[0] = a_window[1];  a_window[1] = a_window[2];
//   }
// Compilers must not do that where what the loop stores may overlap what it reads.
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/loop_range.h"
#include "tuner/source/rules/stencils/register_window.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kMostInWindow = 48;  ///< Of a thread, in registers.

bool counts_by_one(const clang::ForStmt* loop, const clang::VarDecl* counter, const KernelSource& source) {
  if (auto* unary = llvm::dyn_cast_or_null<clang::UnaryOperator>(loop->getInc()))
    return unary->isIncrementOp() && named_variable(unary->getSubExpr()) == counter;
  auto* add = llvm::dyn_cast_or_null<clang::CompoundAssignOperator>(loop->getInc());
  clang::Expr::EvalResult by;
  return add && add->getOpcode() == clang::BO_AddAssign && named_variable(add->getLHS()) == counter &&
         !add->getRHS()->isValueDependent() && add->getRHS()->EvaluateAsInt(by, source.context()) &&
         by.Val.getInt() == 1;
}

/// An iteration may end before its last statement, and the loop go on.
bool skips_statements(const KernelSource& source, const clang::ForStmt* loop) {
  bool skips = false;
  walk(loop->getBody(), [&](const clang::Stmt* statement) {
    skips |= llvm::isa<clang::GotoStmt, clang::LabelStmt, clang::LambdaExpr>(statement);
    if (!llvm::isa<clang::ContinueStmt>(statement)) return !skips;
    auto* up = source.parent(statement);
    while (up && !llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(up)) up = source.parent(up);
    return !(skips |= up == loop);
  });
  return skips;
}

/// Whether all statements begin lines, which are moved by no edit.
bool on_own_lines(const KernelSource& source, const clang::CompoundStmt* body) {
  return std::ranges::all_of(body->body(), [&](auto* statement) {
    auto span = source.span(statement);
    return span && source.first_on_line(span->begin);
  });
}

std::optional<Opportunity> in_loop(const KernelSource& source, const RuleContext& facts,
                                   const clang::FunctionDecl* kernel, const clang::ForStmt* loop) {
  auto range = LoopRange::of(loop);
  auto* body = llvm::dyn_cast<clang::CompoundStmt>(loop->getBody());
  auto* around = source.parent(loop);
  auto span = source.span(loop);
  if (!range || !range->counter || !range->first || !body || body->body_empty() || !around || !span ||
      !llvm::isa<clang::CompoundStmt>(around) || !source.first_on_line(span->begin) ||
      !counts_by_one(loop, range->counter, source) || skips_statements(source, loop) || !on_own_lines(source, body) ||
      changed_within(body).contains(range->counter))
    return std::nullopt;
  const IndexSums sums(source, kernel->getBody(), range->counter);
  const auto reads = shifted_reads(source, sums, kernel->getBody(), {body->body_begin(), body->body_end()});
  const std::string first = source.spelled(range->first), counter = range->counter->getNameAsString(),
                    name = source.name(loop);
  auto decline = [&](const std::string& why) {
    if (facts.declined) facts.declined(kSlidingWindow, name + ": " + why);
    return std::nullopt;
  };
  if (reads.runs.empty()) return std::nullopt;
  auto windows = RegisterWindows::of(source, reads.runs, "window");
  if (!windows || windows->values(0) > kMostInWindow) return std::nullopt;
  if (windows->has_gaps()) return decline("it reads " + windows->arrays() + " at distances larger than one");
  if (first.empty() || !is_invariant(range->first, changed_within(loop)))
    return decline("its first iteration cannot be told from the others");
  Opportunity found;
  found.place = name;
  std::set<std::string> apart;
  for (auto* read : windows->reads()) {
    auto* array = named_variable(llvm::cast<clang::ArraySubscriptExpr>(read)->getBase());
    if (!touches_other_memory(loop, array)) continue;
    if (!facts.is_unaliased(source, array, loop))
      return decline("`" + array->getNameAsString() + "` may overlap what the kernel stores");
    apart.insert(array->getNameAsString());
  }
  if (!apart.empty()) found.premises.push_back(facts.no_overlap(apart));

  const std::string indent = source.indentation(span->begin),
                    inner = source.indentation(source.span(body->body_front())->begin);
  auto lines = [](const std::string& at, const std::vector<std::string>& all) {
    std::string out;
    for (auto& line : all) out += at + line + "\n";
    return out;
  };
  const size_t begin = source.line_begin(span->begin);
  found.edits.push_back({begin, begin,
                         indent + "// What iterations over " + counter + " share of " + windows->arrays() +
                             " stays in registers.\n" + lines(indent, windows->declarations(0))});
  const auto all = windows->reads();
  for (auto* statement : body->body()) {
    bool uses = false;
    walk(statement, [&](const clang::Stmt* one) { return !(uses |= std::ranges::find(all, one) != all.end()); });
    if (!uses) continue;
    const size_t at = source.line_begin(source.span(statement)->begin);
    found.edits.push_back({at, at, lines(inner, windows->loads("", counter, first))});
    break;
  }
  for (auto& use : windows->uses("")) found.edits.push_back(use);
  auto end = source.statement_end(body->body_back());
  auto close = source.offset(body->getRBracLoc());
  if (!end || !close || !source.first_on_line(*close)) return std::nullopt;
  const size_t last = source.line_begin(*close);
  found.edits.push_back({last, last, lines(inner, windows->shifts(source.fresh_name("v")))});
  return found;
}

std::vector<Opportunity> find_sliding_window(const KernelSource& source, const RuleContext& facts, const Bindings&) {
  std::vector<Opportunity> found;
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel) return {};
  for (auto* loop : loops_in(kernel))
    if (auto opportunity = in_loop(source, facts, kernel, loop)) found.push_back(std::move(*opportunity));
  return found;
}

}  // namespace

const Rule kSlidingWindow = {
    "sliding_window",
    "keep what successive iterations of a loop read again in registers (2.5-D streaming)",
    "a loop that counts by one and reads one array at successive distances from its counter, under no condition; the "
    "kernel stores to no such array",
    {},
    find_sliding_window,
    {Bound::Memory, Bound::Latency},
    0.15};

}  // namespace kernelift::tuner
