// coarsen: each block does the work of K neighbouring blocks, one after the other, and the grid shrinks by K. Index
// arithmetic and guards that other threads repeat are paid once, and loads of different turns overlap:
//   int i = blockIdx.x * blockDim.x + threadIdx.x;
// becomes, in a loop over `turn` around the rest of the kernel,
//   int i = (blockIdx.x * K + turn) * blockDim.x + threadIdx.x;
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>
#include <cctype>

#include "tuner/source/rules/rule.h"

namespace kernelift {
namespace {

const char* const kAxes[] = {"x", "y", "z"};

uint32_t blocks_along(const Geometry& geometry, int axis) {
  return axis == 0 ? geometry.grid.x : axis == 1 ? geometry.grid.y : geometry.grid.z;
}

/// The spelling of a global index along `axis`, casts and parentheses aside.
bool is_global_index(std::string text, const std::string& axis) {
  for (auto* noise : {"(size_t)", "(int)", "(unsignedint)", "(unsigned)", "(long)", "(longlong)", "static_cast<int>", "static_cast<size_t>"})
    for (size_t at; (at = text.find(noise)) != text.npos;) text.erase(at, std::string_view(noise).size());
  std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
  // The width is blockDim, or the macro or constant that the launch uses too.
  std::string block = "blockIdx." + axis, thread = "threadIdx." + axis;
  std::string product = text;
  if (product.starts_with(thread + "+")) product = product.substr(thread.size() + 1);
  else if (product.ends_with("+" + thread)) product.resize(product.size() - thread.size() - 1);
  else return false;
  std::string width;
  if (product.starts_with(block + "*")) width = product.substr(block.size() + 1);
  else if (product.ends_with("*" + block)) width = product.substr(0, product.size() - block.size() - 1);
  auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':'; };
  return width == "blockDim." + axis || (!width.empty() && std::all_of(width.begin(), width.end(), word));
}

bool says(const std::string& text, const std::string& word) { return text.find(word) != text.npos; }

std::optional<Opportunity> along(const KernelSource& source, const KernelFacts& facts, const clang::FunctionDecl* kernel, int axis, int64_t turns) {
  auto* body = llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody());
  auto close = body ? source.offset(body->getRBracLoc()) : std::nullopt;
  if (!close || has_barrier(body)) return std::nullopt;
  std::string block_index = std::string("blockIdx.") + kAxes[axis];
  const clang::DeclStmt* declaration = nullptr;
  const clang::VarDecl* index = nullptr;
  for (auto* statement : body->body()) {
    auto* declared = llvm::dyn_cast<clang::DeclStmt>(statement);
    auto* variable = declared && declared->isSingleDecl() ? llvm::dyn_cast<clang::VarDecl>(declared->getSingleDecl()) : nullptr;
    if (variable && variable->getInit() && is_global_index(squeezed(source.spelled(variable->getInit())), kAxes[axis])) {
      declaration = declared, index = variable;
      break;
    }
  }
  auto begin = declaration ? source.span(declaration) : std::nullopt;
  auto init = declaration ? source.span(index->getInit()) : std::nullopt;
  if (!begin || !init || !source.first_on_line(begin->begin)) return std::nullopt;

  // Nothing else may know which block this is.
  size_t body_begin = *source.offset(body->getLBracLoc());
  std::string around = squeezed(source.text().substr(body_begin, begin->begin - body_begin) + source.text().substr(begin->end, *close - begin->end));
  for (auto* word : {"blockIdx.", "threadIdx.", "gridDim."})
    if (says(around, std::string(word) + kAxes[axis])) return std::nullopt;
  for (auto* function : source.functions())
    if (function != kernel && says(source.spelled(function->getBody()), "Idx.")) return std::nullopt;
  if (says(around, "__shared__")) return std::nullopt;

  bool guarded = false, changes = false, after = false;
  std::vector<TextEdit> returns;
  bool bad_return = false;
  for (auto* statement : body->body()) {
    if (!after) {
      after = statement == declaration;
      continue;
    }
    changes |= changed_within(statement).contains(index);
    walk(statement, [&](const clang::Stmt* inner) {
      if (auto* branch = llvm::dyn_cast<clang::IfStmt>(inner)) guarded |= variables_in(branch->getCond()).contains(index);
      auto* leave = llvm::dyn_cast<clang::ReturnStmt>(inner);
      if (!leave) return !llvm::isa<clang::LambdaExpr>(inner);
      auto range = source.span(leave);
      for (auto* up = source.parent(leave); up && up != body; up = source.parent(up))
        bad_return |= llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::SwitchStmt>(up);
      if (!range) bad_return = true;
      else returns.push_back({range->begin, range->end, "continue"});
      return true;
    });
  }
  bool divisible = !facts.geometries.empty() && std::all_of(facts.geometries.begin(), facts.geometries.end(), [&](auto& geometry) {
    return blocks_along(geometry, axis) % turns == 0;
  });
  bool useful = std::any_of(facts.geometries.begin(), facts.geometries.end(), [&](auto& geometry) { return blocks_along(geometry, axis) >= turns; });
  if (changes || bad_return || !useful || (!guarded && !divisible)) return std::nullopt;

  std::string turn = source.fresh_name("turn"), indent = source.indentation(begin->begin), count = std::to_string(turns);
  Opportunity found;
  found.place = std::string("blocks along ") + kAxes[axis];
  found.grid_axis = axis, found.grid_divisor = turns;
  found.edits.push_back({begin->begin, begin->begin, "for (int " + turn + " = 0; " + turn + " < " + count + "; ++" + turn + ") {\n" + indent});
  size_t at = source.text().find(block_index, init->begin);
  if (at == std::string::npos || at >= init->end) return std::nullopt;
  found.edits.push_back({at, at + block_index.size(), "(" + block_index + " * " + count + " + " + turn + ")"});
  found.edits.insert(found.edits.end(), returns.begin(), returns.end());
  bool own_line = source.first_on_line(*close);
  size_t where = own_line ? source.line_begin(*close) : *close;
  found.edits.push_back({where, where, own_line ? indent + "}\n" : "} "});
  return found;
}

std::vector<Opportunity> find(const KernelSource& source, const KernelFacts& facts, const Bindings& values) {
  std::vector<Opportunity> found;
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || !kernel->getReturnType()->isVoidType()) return found;
  for (int axis = 0; axis < 3; ++axis)
    if (auto opportunity = along(source, facts, kernel, axis, values.at("turns"))) found.push_back(std::move(*opportunity));
  return found;
}

}  // namespace

const Rule kCoarsen = {"coarsen", "let each block do the work of several",
                       "a guarded global index along the axis; no barriers, shared memory or other use of the block's number",
                       {{"turns", {2, 4, 8}}}, find};

}  // namespace kernelift
