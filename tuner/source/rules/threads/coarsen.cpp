// coarsen: each block does the work of K neighbouring blocks, one after the other, and the grid shrinks by K. Index
// arithmetic and guards that other threads repeat are paid once, and loads of different turns overlap:
//   int i = blockIdx.x * blockDim.x + threadIdx.x;
// becomes, in a loop over `turn` around the rest of the kernel,
//   int i = (blockIdx.x * K + turn) * blockDim.x + threadIdx.x;
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/threads/block_index.h"

namespace kernelift {
namespace {

std::optional<Opportunity> spread(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel, int axis, int64_t turns) {
  auto* body = llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody());
  auto close = body ? source.offset(body->getRBracLoc()) : std::nullopt;
  if (!close || has_barrier(body) || source.spelled(body).find("__shared__") != std::string::npos) return std::nullopt;
  auto place = global_index(source, kernel, axis);
  if (!place || place->block_alone || !place->declared) return std::nullopt;
  auto* declaration = place->statement;
  auto* index = place->variable;
  std::vector<const clang::Stmt*> statements(body->body_begin(), body->body_end());
  size_t at = where_to_begin(statements, static_cast<size_t>(std::find(statements.begin(), statements.end(), declaration) - statements.begin()));
  auto begin = source.span(statements[at]), init = source.span(place->value);
  if (!begin || !source.first_on_line(begin->begin) || !changed_parameters(statements, at).empty()) return std::nullopt;

  bool guarded = false, changes = false, after = false;
  for (auto* statement : body->body()) {
    if (!after) {
      after = statement == declaration;
      continue;
    }
    changes |= changed_within(statement).contains(index);
    walk(statement, [&](const clang::Stmt* inner) {
      if (auto* branch = llvm::dyn_cast<clang::IfStmt>(inner)) guarded |= variables_in(branch->getCond()).contains(index);
      return true;
    });
  }
  auto returns = continue_instead_of_return(source, body, begin->begin);
  bool useful = std::any_of(facts.geometries.begin(), facts.geometries.end(), [&](auto& geometry) { return along(geometry.grid, axis) >= turns; });
  if (changes || !returns || !useful || !guarded) return std::nullopt;

  std::string turn = source.fresh_name("turn"), indent = source.indentation(begin->begin), count = std::to_string(turns);
  Opportunity found;
  found.place = std::string("blocks along ") + kAxisNames[axis];
  found.grid[axis].divide = turns;
  found.edits.push_back({begin->begin, begin->begin, "for (int " + turn + " = 0; " + turn + " < " + count + "; ++" + turn + ") {\n" + indent});
  found.edits.push_back({init->begin, init->end, of_neighbouring_block(source.spelled(place->value), axis, turns, turn)});
  found.edits.insert(found.edits.end(), returns->begin(), returns->end());
  bool own_line = source.first_on_line(*close);
  size_t where = own_line ? source.line_begin(*close) : *close;
  found.edits.push_back({where, where, own_line ? indent + "}\n" : "} "});
  return found;
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings& values) {
  std::vector<Opportunity> found;
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || !kernel->getReturnType()->isVoidType()) return found;
  for (int axis = 0; axis < 3; ++axis)
    if (auto opportunity = spread(source, facts, kernel, axis, values.at("turns"))) found.push_back(std::move(*opportunity));
  return found;
}

}  // namespace

const Rule kCoarsen = {"coarsen", "let each block do the work of several",
                       "a guarded global index along the axis; no barriers, shared memory or other use of the block's number",
                       {{"turns", {2, 4, 8}}}, find, {Bound::Compute}};

}  // namespace kernelift
