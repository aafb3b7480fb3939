// See marching_loop.h.
#include "tuner/source/rules/stencils/marching_loop.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/loop_range.h"
#include "tuner/source/rules/threads/block_index.h"

namespace kernelift::tuner {
namespace {

/// The threads of a block agree on the iterations.
bool is_agreed(const clang::ForStmt* loop, const LoopRange& range, const ConditionReader& reader) {
  auto* unary = llvm::dyn_cast_or_null<clang::UnaryOperator>(loop->getInc());
  auto* add = llvm::dyn_cast_or_null<clang::CompoundAssignOperator>(loop->getInc());
  const bool steps =
      (unary && unary->isIncrementDecrementOp() && named_variable(unary->getSubExpr()) == range.counter) ||
      (add && add->isCompoundAssignmentOp() && named_variable(add->getLHS()) == range.counter &&
       reader.is_uniform(add->getRHS()));
  return steps && named_variable(range.condition->getLHS()) == range.counter &&
         reader.is_uniform(range.condition->getRHS()) && reader.is_uniform(range.first);
}

bool is_harmless(const clang::Stmt* statement) {
  return llvm::isa<clang::DeclStmt>(statement) && !accesses_memory({statement});
}

}  // namespace

std::optional<MarchingLoop> MarchingLoop::of(const KernelSource& source, const clang::CompoundStmt* kernel_body,
                                             const clang::ForStmt* loop, const ConditionReader& reader) {
  auto range = LoopRange::of(loop);
  auto* body = llvm::dyn_cast<clang::CompoundStmt>(loop->getBody());
  auto span = source.span(loop);
  if (!range || !range->counter || !range->first || !body || body->body_empty() || !span ||
      !source.first_on_line(span->begin) || !is_agreed(loop, *range, reader) ||
      changed_within(body).contains(range->counter))
    return std::nullopt;
  bool leaves = false;
  walk(body, [&](const clang::Stmt* inner) {
    return !(leaves |= llvm::isa<clang::BreakStmt, clang::ReturnStmt, clang::GotoStmt>(inner));
  });
  auto first = source.span(body->body_front());
  if (leaves || !first || !source.first_on_line(first->begin)) return std::nullopt;
  MarchingLoop found{loop, range->counter, {}};
  const clang::Stmt* below = loop;
  while (below != kernel_body) {
    auto* up = source.parent(below);
    if (auto* block = llvm::dyn_cast_or_null<clang::CompoundStmt>(up)) {
      std::vector<Guard> guards;
      if (block->body_back() != below) return std::nullopt;  // It follows the loop, within the guards or behind.
      for (auto* statement : block->body()) {
        if (statement == below) break;
        auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
        if (branch && only_returns(branch->getThen()) && !branch->getElse()) guards.push_back({branch, true});
        else if (!is_harmless(statement)) return std::nullopt;
      }
      found.guards.insert(found.guards.begin(), guards.begin(), guards.end());
    } else if (auto* branch = llvm::dyn_cast_or_null<clang::IfStmt>(up)) {
      if (branch->getThen() != below || branch->getElse()) return std::nullopt;
      found.guards.insert(found.guards.begin(), {branch, false});
    } else {
      return std::nullopt;
    }
    below = up;
  }
  for (auto& guard : found.guards) {
    auto place = source.span(guard.branch);
    if (guard.branch->hasVarStorage() || guard.branch->getInit() || !place || !source.first_on_line(place->begin) ||
        accesses_memory({guard.branch->getCond()}) || source.spelled(guard.branch->getCond()).empty())
      return std::nullopt;
  }
  return found;
}

std::vector<TextEdit> MarchingLoop::edits(const KernelSource& source,
                                          const std::function<std::string(const std::string& indent)>& before,
                                          const std::function<std::string(const std::string& indent)>& first) const {
  std::vector<TextEdit> edits;
  std::string outside;
  for (size_t number = 0; number < guards.size(); ++number) {
    auto& [branch, leaves] = guards[number];
    const std::string name = source.fresh_name(number == 0 ? "inside" : "inside" + std::to_string(number + 1)),
                      condition = source.spelled(branch->getCond());
    const size_t begin = source.span(branch)->begin;
    outside += (outside.empty() ? "!" : " || !") + name;
    if (leaves)
      edits.push_back({begin, *source.statement_end(branch), "const bool " + name + " = !(" + condition + ");"});
    else
      edits.push_back({begin, source.span(branch->getThen())->begin,
                       "const bool " + name + " = " + condition + ";\n" + source.indentation(begin)});
  }
  auto* body = llvm::cast<clang::CompoundStmt>(loop->getBody());
  const size_t begin = source.span(loop)->begin, line = source.line_begin(begin),
               inner = source.line_begin(source.span(body->body_front())->begin);
  // The loop may be all that a guard without braces contains.
  auto* alone = guards.empty() ? nullptr : guards.back().branch;
  const bool moved = alone && alone->getThen() == loop;
  const std::string indent = source.indentation(begin), at = source.indentation(source.span(body->body_front())->begin);
  if (moved && source.line_begin(source.span(alone)->begin) == line) return {};
  std::string text = before(moved ? source.indentation(source.span(alone)->begin) : indent);
  if (moved)
    edits.back().text += text.substr(source.indentation(source.span(alone)->begin).size()) +
                         source.indentation(source.span(alone)->begin);
  else edits.push_back({line, line, text});
  edits.push_back({inner, inner, first(at) + (outside.empty() ? "" : at + "if (" + outside + ") continue;\n")});
  return edits;
}

}  // namespace kernelift::tuner
