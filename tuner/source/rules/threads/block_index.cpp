// See block_index.h.
#include "tuner/source/rules/threads/block_index.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>
#include <regex>

#include "core/base/words.h"
#include "tuner/source/rules/threads/axis_dependence.h"

namespace kernelift::tuner {
namespace {

constexpr const char* kBuiltins[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};

/// The text without blanks, parentheses and casts (a parenthesised name before another name or parenthesis).
std::string bare(std::string text) {
  static const std::regex kCast(R"((static_cast<[\w:]+>)|\([\w:]+\)(?=[\w(]))");
  text = std::regex_replace(squeezed(text), kCast, "");
  std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
  return text;
}

std::set<const clang::VarDecl*> changed_from(const std::vector<const clang::Stmt*>& statements, size_t begin) {
  std::set<const clang::VarDecl*> changed;
  for (size_t i = begin; i < statements.size(); ++i) changed.merge(changed_within(statements[i]));
  return changed;
}

}  // namespace

bool is_global_index(std::string text, int axis) {
  text = bare(std::move(text));
  // The width is blockDim, or the macro or constant that the launch uses, too.
  std::string name = kAxisNames[axis], block = "blockIdx." + name, thread = "threadIdx." + name, product = text;
  if (product.starts_with(thread + "+")) product = product.substr(thread.size() + 1);
  else if (product.ends_with("+" + thread)) product.resize(product.size() - thread.size() - 1);
  else return false;
  std::string width;
  if (product.starts_with(block + "*")) width = product.substr(block.size() + 1);
  else if (product.ends_with("*" + block)) width = product.substr(0, product.size() - block.size() - 1);
  auto word = [](char c) { return word_character(c) || c == ':'; };
  return width == "blockDim." + name || (!width.empty() && std::all_of(width.begin(), width.end(), word));
}

bool is_block_number(std::string text, int axis) {
  return bare(std::move(text)) == std::string("blockIdx.") + kAxisNames[axis];
}

namespace {

/// Every `gridDim.x` of the body; nullopt if one is spelled otherwise, or another function reads it.
std::optional<std::vector<Span>> mentions_of_grid(const KernelSource& source, const clang::Stmt* body, int axis) {
  std::vector<Span> spans;
  bool plain = true;
  walk(body, [&](const clang::Stmt* statement) {
    auto builtin = builtin_of(statement);
    if (!builtin) return plain;
    auto span = source.span(statement);
    plain &= span && builtin->second != 0 && is_spelled_builtin(source, statement);
    if (span && squeezed(source.spelled(statement)) == std::string("gridDim.") + kAxisNames[axis])
      spans.push_back(*span);
    return plain;
  });
  for (auto* function : source.functions())
    if (!function->hasAttr<clang::CUDAGlobalAttr>())
      walk(function->getBody(), [&](const clang::Stmt* statement) {
        auto builtin = builtin_of(statement);
        return plain &= !builtin || builtin->first != "gridDim";
      });
  return plain ? std::optional(spans) : std::nullopt;
}

}  // namespace

std::optional<GlobalIndex> global_index(const KernelSource& source, const clang::FunctionDecl* kernel, int axis,
                                        bool grid_stride) {
  auto* body = llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody());
  auto close = body ? source.offset(body->getRBracLoc()) : std::nullopt;
  auto open = body ? source.offset(body->getLBracLoc()) : std::nullopt;
  if (!close || !open) return std::nullopt;
  GlobalIndex found;
  found.axis = axis;
  for (auto* statement : body->body()) {
    const clang::VarDecl* variable = nullptr;
    const clang::Expr* value = nullptr;
    auto* loop = grid_stride ? llvm::dyn_cast<clang::ForStmt>(statement) : nullptr;
    auto* setting = loop ? loop->getInit() : statement;
    if (auto* declared = llvm::dyn_cast_or_null<clang::DeclStmt>(setting); declared && declared->isSingleDecl()) {
      variable = llvm::dyn_cast<clang::VarDecl>(declared->getSingleDecl());
      value = variable ? variable->getInit() : nullptr;
    } else if (auto* set = llvm::dyn_cast_or_null<clang::BinaryOperator>(setting);
               set && set->getOpcode() == clang::BO_Assign) {
      variable = named_variable(set->getLHS()), value = set->getRHS();
    }
    if (!variable || !value || !variable->hasLocalStorage() || !variable->getType()->isIntegerType()) continue;
    std::string text = source.spelled(value);
    if (!is_global_index(text, axis) && !is_block_number(text, axis)) continue;
    found.statement = statement, found.variable = variable, found.value = value, found.loop = loop;
    found.declared = llvm::isa<clang::DeclStmt>(statement), found.block_only = is_block_number(text, axis);
    break;
  }
  auto whole = found.statement ? source.span(found.statement) : std::nullopt;
  auto here = found.loop ? source.span(found.value) : whole;
  if (!whole || !here || !source.span(found.value) || !source.first_on_line(whole->begin)) return std::nullopt;
  // A variable that is set twice is not an index.
  for (auto* statement : body->body())
    if (statement != found.statement && !llvm::isa<clang::DeclStmt>(statement) &&
        changed_within(statement).contains(found.variable))
      return std::nullopt;
  bool only = true;
  walk(body, [&](const clang::Stmt* statement) {
    auto builtin = statement == found.value ? std::nullopt : builtin_of(statement);
    if (!builtin || (builtin->second != 0 && builtin->second != *kAxisNames[axis]))
      return only && statement != found.value;
    // threadIdx alone does not identify the block.
    const bool identifies = builtin->first == "blockIdx" || (builtin->first == "gridDim" && !grid_stride) ||
                            (builtin->first == "threadIdx" && !found.block_only);
    return only &= !identifies;
  });
  if (!only) return std::nullopt;
  if (others_read_indices(source)) return std::nullopt;
  if (grid_stride) {
    auto grid = mentions_of_grid(source, body, axis);
    if (!grid) return std::nullopt;
    found.grid = std::move(*grid);
  }
  return found;
}

bool is_spelled_builtin(const KernelSource& source, const clang::Stmt* builtin) {
  std::string text = squeezed(source.spelled(builtin));
  return std::any_of(std::begin(kBuiltins), std::end(kBuiltins),
                     [&](auto* name) { return text.starts_with(std::string(name) + "."); });
}

bool others_read_indices(const KernelSource& source) {
  return std::any_of(source.functions().begin(), source.functions().end(), [&](auto* function) {
    bool reads = false;
    if (!function->template hasAttr<clang::CUDAGlobalAttr>())
      walk(function->getBody(), [&](const clang::Stmt* statement) {
        auto builtin = builtin_of(statement);
        reads |= builtin && (builtin->first == "blockIdx" || builtin->first == "threadIdx");
        return !reads;
      });
    return reads;
  });
}

std::string neighbouring_block(std::string index, int axis, int64_t count, const std::string& number) {
  std::string block = std::string("blockIdx.") + kAxisNames[axis];
  size_t at = index.find(block);
  if (at == index.npos) return {};
  return index.replace(at, block.size(),
                       "(" + block + " * " + std::to_string(count) + (number == "0" ? ")" : " + " + number + ")"));
}

std::string idle_blocks(int64_t count) {
  return "leaves the grid unchanged, where only one block in " + std::to_string(count) + " has work";
}

size_t first_repeatable(const std::vector<const clang::Stmt*>& statements, size_t first) {
  for (size_t begin = first;;) {
    auto changed = changed_from(statements, begin);
    size_t earlier = begin;
    for (size_t i = 0; i < earlier; ++i)
      for (auto* variable : changed_within(statements[i]))
        if (variable->hasLocalStorage() && changed.contains(variable)) earlier = i;
    if (earlier == begin) return begin;
    begin = earlier;
  }
}

std::set<const clang::VarDecl*> changed_parameters(const std::vector<const clang::Stmt*>& statements, size_t begin) {
  auto changed = changed_from(statements, begin);
  std::erase_if(changed, [](auto* variable) { return !llvm::isa<clang::ParmVarDecl>(variable); });
  return changed;
}

bool only_returns(const clang::Stmt* statement) {
  if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(statement); block && block->size() == 1)
    statement = block->body_front();
  return llvm::isa<clang::ReturnStmt>(statement);
}

std::vector<const clang::Expr*> parts_of_guard(const clang::Expr* condition, bool leaves) {
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (!binary || binary->getOpcode() != (leaves ? clang::BO_LOr : clang::BO_LAnd)) return {condition};
  auto parts = parts_of_guard(binary->getLHS(), leaves), more = parts_of_guard(binary->getRHS(), leaves);
  parts.insert(parts.end(), more.begin(), more.end());
  return parts;
}

namespace {

/// Whether the expression consists of `index`, constants and covered sizes; counts the sizes in `sizes`.
bool of_covered_sizes(const KernelSource& source, const clang::FunctionDecl* kernel,
                      const std::set<CoveredSize>& covered, const clang::Expr* expression, const clang::VarDecl* index,
                      int depth, size_t& sizes) {
  bool good = true;
  walk(expression, [&](const clang::Stmt* statement) {
    if (auto* difference = llvm::dyn_cast<clang::BinaryOperator>(statement);
        difference && difference->getOpcode() == clang::BO_Sub)
      good &= !variables_in(difference->getLHS()).contains(index);  // `i - 1 < n` admits one more index.
    // So do `i < n + 1` and `i < 2 * n`.
    if (auto* more = llvm::dyn_cast<clang::BinaryOperator>(statement); more && !variables_in(more).contains(index)) {
      good &=
          more->getOpcode() != clang::BO_Add && more->getOpcode() != clang::BO_Shl && more->getOpcode() != clang::BO_Or;
      if (more->getOpcode() == clang::BO_Mul)
        good &= !variables_in(more->getLHS()).empty() && !variables_in(more->getRHS()).empty();
    }
    good &= !llvm::isa<clang::AbstractConditionalOperator>(statement);
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    if (!good || !variable || variable == index) return good;
    if (auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(variable)) {
      std::string member;
      for (auto* up = llvm::dyn_cast_or_null<clang::MemberExpr>(source.parent(reference)); up && !up->isArrow();
           up = llvm::dyn_cast_or_null<clang::MemberExpr>(source.parent(up)))
        member += (member.empty() ? "" : ".") + up->getMemberDecl()->getNameAsString();
      const unsigned number = parameter->getFunctionScopeIndex();
      good &= number < kernel->getNumParams() && kernel->getParamDecl(number) == parameter &&
              covered.contains({number, member}) && !changed_within(kernel->getBody()).contains(parameter);
      ++sizes;
      return good;
    }
    if (!variable->hasLocalStorage())
      return good &=
             variable->getType().isConstQualified() && variable->isUsableInConstantExpressions(source.context());
    size_t changes = 0;
    walk(kernel->getBody(), [&](const clang::Stmt* inner) {
      auto* target = assigned_by(inner);
      changes += target && variable_of(target) == variable;
      return true;
    });
    return good &= depth > 0 && changes == 0 && variable->getInit() && !variable->getType()->isReferenceType() &&
                   is_invariant(variable->getInit(), {}) &&
                   of_covered_sizes(source, kernel, covered, variable->getInit(), index, depth - 1, sizes);
  });
  return good;
}

}  // namespace

bool bounds_by_covered_size(const KernelSource& source, const RuleContext& facts, int axis, int64_t count,
                            const clang::Expr* part, const clang::VarDecl* index) {
  constexpr int kDepth = 4;  // Of variables that are initialised from others.
  if (!facts.covered[axis])
    return std::all_of(facts.geometries.begin(), facts.geometries.end(),
                       [&](auto& geometry) { return along(geometry.grid, axis) % count == 0; });
  if (auto* comparison = llvm::dyn_cast<clang::BinaryOperator>(part->IgnoreParenImpCasts());
      comparison && comparison->isRelationalOp()) {
    const bool reversed = !variables_in(comparison->getLHS()).contains(index);
    const auto kind =
        reversed ? clang::BinaryOperator::reverseComparisonOp(comparison->getOpcode()) : comparison->getOpcode();
    auto* limit = llvm::dyn_cast<clang::BinaryOperator>(
        (reversed ? comparison->getLHS() : comparison->getRHS())->IgnoreParenImpCasts());
    clang::Expr::EvalResult less;
    // `i <= n - 1`, or `if (i > n - 1) return;`. With n in its place, one index too many would be admitted.
    const bool one_less = limit && limit->getOpcode() == clang::BO_Sub && !limit->getRHS()->isValueDependent() &&
                          limit->getRHS()->EvaluateAsInt(less, source.context()) &&
                          less.Val.getInt().isStrictlyPositive();
    if ((kind == clang::BO_GT || kind == clang::BO_LE) && !one_less) return false;
  }
  auto* kernel = source.kernel(facts.kernel);
  size_t sizes = 0;
  return kernel && of_covered_sizes(source, kernel, *facts.covered[axis], part, index, kDepth, sizes) && sizes > 0;
}

bool accesses_memory(const std::vector<const clang::Stmt*>& statements) {
  bool pure = true;
  for (auto* statement : statements)
    walk(statement, [&](const clang::Stmt* inner) {
      pure &= !llvm::isa<clang::ArraySubscriptExpr, clang::CallExpr, clang::AsmStmt>(inner);
      if (auto* member = llvm::dyn_cast<clang::MemberExpr>(inner)) pure &= !member->isArrow();
      // Module variables are in memory, too.
      auto* target = assigned_by(inner);
      auto* variable = target ? variable_of(target) : nullptr;
      pure &= !target || (variable && variable->hasLocalStorage() && !variable->getType()->isReferenceType());
      if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(inner)) pure &= unary->getOpcode() != clang::UO_Deref;
      return pure;
    });
  return !pure;
}

std::optional<std::vector<TextEdit>> continue_instead_of_return(const KernelSource& source, const clang::Stmt* body,
                                                                size_t from) {
  std::vector<TextEdit> edits;
  bool good = true;
  walk(body, [&](const clang::Stmt* statement) {
    auto* leave = llvm::dyn_cast<clang::ReturnStmt>(statement);
    if (!leave) return !llvm::isa<clang::LambdaExpr>(statement);
    auto range = source.span(leave);
    for (auto* up = source.parent(leave); up && up != body; up = source.parent(up))
      good &= !llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::SwitchStmt>(up);
    if (!range || range->begin < from) good = false;
    else edits.push_back({range->begin, range->end, "continue"});
    return true;
  });
  return good ? std::optional(edits) : std::nullopt;
}

namespace {

/// Memory is accessed only for indices below a covered size.
bool stays_in_bounds(const KernelSource& source, const RuleContext& facts, int axis, int64_t count,
                     const std::vector<const clang::Stmt*>& statements, const clang::VarDecl* index) {
  AxisDependence dependence(source, {{2, index}});
  dependence.propagate(statements, {});
  for (auto* statement : statements) {
    auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
    bool leaves = branch && only_returns(branch->getThen()), bounded = false;
    if (branch && !branch->getElse() && !branch->hasVarStorage() && !branch->getInit())
      for (auto* part : parts_of_guard(branch->getCond(), leaves)) {
        if (bounded || !is_invariant(part, {})) break;  // Earlier parts are evaluated for every index.
        bounded =
            dependence.bounds(part, leaves) != 0 && bounds_by_covered_size(source, facts, axis, count, part, index);
      }
    if (bounded && leaves) return true;
    if (!bounded && accesses_memory({statement})) return false;
  }
  return true;
}

}  // namespace

std::optional<Opportunity> coarsened(const KernelSource& source, const RuleContext& facts,
                                     const clang::FunctionDecl* kernel, int axis, int64_t factor) {
  auto* body = llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody());
  auto close = body ? source.offset(body->getRBracLoc()) : std::nullopt;
  if (!close || has_barrier(body) || source.spelled(body).find("__shared__") != std::string::npos ||
      keeps_addresses(source, body))
    return std::nullopt;
  auto place = global_index(source, kernel, axis);
  if (!place || place->block_only || !place->declared) return std::nullopt;
  auto* declaration = place->statement;
  auto* index = place->variable;
  std::vector<const clang::Stmt*> statements(body->body_begin(), body->body_end());
  size_t at = first_repeatable(
      statements,
      static_cast<size_t>(std::find(statements.begin(), statements.end(), declaration) - statements.begin()));
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
      if (auto* branch = llvm::dyn_cast<clang::IfStmt>(inner))
        guarded |= variables_in(branch->getCond()).contains(index);
      return true;
    });
  }
  auto returns = continue_instead_of_return(source, body, begin->begin);
  bool useful = std::any_of(facts.geometries.begin(), facts.geometries.end(),
                            [&](auto& geometry) { return along(geometry.grid, axis) >= factor; });
  if (changes || !returns || !useful || !guarded) return std::nullopt;

  std::string iteration = source.fresh_name("block_iteration"), indent = source.indentation(begin->begin),
              count = std::to_string(factor);
  Opportunity found;
  found.place = std::string("blocks along ") + kAxisNames[axis];
  // If nothing keeps threads past the end from working, or the launches do not cover the guard's size, the grid keeps
  // its size, from which the kernel learns the original number of blocks.
  std::string block = neighbouring_block(std::string("blockIdx.") + kAxisNames[axis], axis, factor, iteration), inside;
  statements.erase(statements.begin(), statements.begin() + static_cast<long>(at));
  if (facts.rounds_up[axis] && stays_in_bounds(source, facts, axis, factor, statements, index))
    found.grid[axis].divide = factor;
  else
    found.effects = {idle_blocks(factor)},
    inside = "if (" + block + " >= gridDim." + kAxisNames[axis] + ") break;\n" + indent;
  found.edits.push_back({begin->begin, begin->begin,
                         "for (int " + iteration + " = 0; " + iteration + " < " + count + "; ++" + iteration + ") {\n" +
                             indent + inside});
  found.edits.push_back(
      {init->begin, init->end, neighbouring_block(source.spelled(place->value), axis, factor, iteration)});
  found.edits.insert(found.edits.end(), returns->begin(), returns->end());
  bool own_line = source.first_on_line(*close);
  size_t where = own_line ? source.line_begin(*close) : *close;
  found.edits.push_back({where, where, own_line ? indent + "}\n" : "} "});
  return found;
}

}  // namespace kernelift::tuner
