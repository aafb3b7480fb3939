// See block_index.h.
#include "tuner/source/rules/threads/block_index.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <cstring>
#include <regex>

#include "core/base/words.h"
#include "core/model/knob/knob_text.h"
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

std::string width_of_index(std::string text, int axis) {
  text = bare(std::move(text));
  std::string name = kAxisNames[axis], block = "blockIdx." + name, thread = "threadIdx." + name, product = text;
  if (product.starts_with(thread + "+")) product = product.substr(thread.size() + 1);
  else if (product.ends_with("+" + thread)) product.resize(product.size() - thread.size() - 1);
  else return {};
  std::string width;
  if (product.starts_with(block + "*")) width = product.substr(block.size() + 1);
  else if (product.ends_with("*" + block)) width = product.substr(0, product.size() - block.size() - 1);
  auto word = [](char c) { return word_character(c) || c == ':'; };
  return width == "blockDim." + name || std::all_of(width.begin(), width.end(), word) ? width : "";
}

bool is_global_index(std::string text, int axis) { return !width_of_index(std::move(text), axis).empty(); }

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

bool repeats_along(const RuleContext& facts, const clang::Stmt* body, int axis) {
  bool read = false;
  walk(body, [&](const clang::Stmt* statement) {
    auto builtin = builtin_of(statement);
    read |= builtin && (builtin->first == "threadIdx" || builtin->first == "blockDim") &&
            (builtin->second == kAxisNames[axis][0] || builtin->second == 0);
    return !read;
  });
  return !read && std::ranges::any_of(facts.geometries, [&](auto& one) { return along(one.block, axis) > 1; });
}

bool counts_by_block(const KernelSource& source, const RuleContext& facts, const clang::Expr* index, int axis) {
  bool good = true;
  walk(index, [&](const clang::Stmt* statement) {
    if (builtin_of(statement)) return false;
    auto* value = llvm::dyn_cast<clang::Expr>(statement);
    if (!value || !llvm::isa<clang::DeclRefExpr, clang::MemberExpr, clang::IntegerLiteral>(value)) return good;
    if (value->isValueDependent()) return false;  // A template parameter.
    clang::Expr::EvalResult width;
    good &= value->EvaluateAsInt(width, source.context()) && std::ranges::all_of(facts.geometries, [&](auto& geometry) {
              return width.Val.getInt().getExtValue() == along(geometry.block, axis);
            });
    return false;
  });
  return good;
}

bool is_plain_kernel(const KernelSource& source, const clang::FunctionDecl* kernel) {
  auto* body = kernel->getBody();
  bool plain = kernel->getReturnType()->isVoidType() && !kernel->hasAttr<clang::CUDALaunchBoundsAttr>() &&
               !has_barrier(body) && !keeps_addresses(source, body) && !has_dynamic_shared(source) &&
               !others_read_indices(source);
  walk(body, [&](const clang::Stmt* statement) {
    plain &= !llvm::isa<clang::AsmStmt, clang::LambdaExpr, clang::GotoStmt, clang::LabelStmt, clang::CXXThrowExpr>(
        statement);
    return plain;
  });
  return plain;
}

bool is_spelled_builtin(const KernelSource& source, const clang::Stmt* builtin) {
  std::string text = squeezed(source.spelled(builtin));
  return std::any_of(std::begin(kBuiltins), std::end(kBuiltins),
                     [&](auto* name) { return text.starts_with(std::string(name) + "."); });
}

std::set<const clang::VarDecl*> reassigned(const clang::Stmt* body) {
  std::set<const clang::VarDecl*> changed;
  walk(body, [&](const clang::Stmt* inner) {
    if (llvm::isa<clang::BinaryOperator, clang::UnaryOperator, clang::CallExpr>(inner))
      changed.merge(changed_within(inner));
    return true;
  });
  return changed;
}

static bool is_uniform(const clang::Stmt* value, const std::set<const clang::VarDecl*>& changed, int depth) {
  bool uniform = true;
  walk(value, [&](const clang::Stmt* statement) {
    if (auto builtin = builtin_of(statement)) return uniform &= builtin->first != "threadIdx", false;
    uniform &= !llvm::isa<clang::CallExpr, clang::ArraySubscriptExpr, clang::LambdaExpr>(statement);
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    if (!variable || !variable->hasLocalStorage()) return uniform;
    const bool parameter = llvm::isa<clang::ParmVarDecl>(variable);
    return uniform &=
           !changed.contains(variable) &&
           (parameter || (depth > 0 && variable->getInit() && is_uniform(variable->getInit(), changed, depth - 1)));
  });
  return uniform;
}

bool is_uniform_in_block(const clang::Stmt* value, const std::set<const clang::VarDecl*>& changed) {
  constexpr int kInitialisers = 4;  // Depth of initialisers that are examined.
  return is_uniform(value, changed, kInitialisers);
}

bool may_interleave(const KernelSource& source, const clang::Stmt* body, const std::set<std::string>& built_in) {
  for (auto* word : {"volatile", "__threadfence", "__threadfence_system", "cooperative_groups", "asm"})
    if (mentions_word(source.text(), word)) return false;
  bool plain = true;
  walk(body, [&](const clang::Stmt* statement) {
    if (llvm::isa<clang::PseudoObjectExpr>(statement)) plain &= is_spelled_builtin(source, statement);
    if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement))
      plain &= !built_in.contains(reference->getDecl()->getNameAsString());
    plain &= !llvm::isa<clang::ReturnStmt, clang::LambdaExpr>(statement);
    return plain;
  });
  return plain;
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

std::optional<int> idle_axis(const KernelSource& source, const RuleContext& facts, const clang::Stmt* body) {
  std::set<char> used;
  auto look = [&](const clang::Stmt* root) {
    walk(root, [&](const clang::Stmt* statement) {
      if (auto builtin = builtin_of(statement)) used.insert(builtin->second);
      return true;
    });
  };
  look(body);
  for (auto* function : source.functions())
    if (!function->hasAttr<clang::CUDAGlobalAttr>()) look(function->getBody());
  for (int axis : {1, 2})
    if (!used.contains(kAxisNames[axis][0]) && !used.contains(0) &&
        std::ranges::all_of(facts.geometries, [&](auto& geometry) {
          return along(geometry.grid, axis) == 1 && along(geometry.block, axis) == 1;
        }))
      return axis;
  return std::nullopt;
}

bool fills_device(const Geometry& geometry) { return geometry.grid.count() * geometry.block.count() >= 1 << 18; }

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

std::string condition_text(const KernelSource& source, const clang::Expr* condition, bool leaves) {
  condition = condition->IgnoreParens();
  const std::string text = source.spelled(condition);
  if (text.empty()) return {};
  auto* comparison = llvm::dyn_cast<clang::BinaryOperator>(condition);
  const bool of_numbers = comparison && comparison->isComparisonOp() &&
                          comparison->getLHS()->getType()->isIntegerType() &&
                          comparison->getRHS()->getType()->isIntegerType();
  if (leaves && of_numbers)
    return source.spelled(comparison->getLHS()) + " " +
           clang::BinaryOperator::getOpcodeStr(clang::BinaryOperator::negateComparisonOp(comparison->getOpcode()))
               .str() +
           " " + source.spelled(comparison->getRHS());
  return of_numbers ? text : (leaves ? "!(" : "(") + text + ")";
}

std::vector<const clang::Expr*> parts_of_guard(const clang::Expr* condition, bool leaves) {
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (!binary || binary->getOpcode() != (leaves ? clang::BO_LOr : clang::BO_LAnd)) return {condition};
  auto parts = parts_of_guard(binary->getLHS(), leaves), more = parts_of_guard(binary->getRHS(), leaves);
  parts.insert(parts.end(), more.begin(), more.end());
  return parts;
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

std::optional<RepeatedPart> RepeatedPart::of(const KernelSource& source, const clang::FunctionDecl* kernel, int axis) {
  auto* body = llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody());
  auto close = body ? source.offset(body->getRBracLoc()) : std::nullopt;
  if (!close || has_barrier(body) || source.spelled(body).find("__shared__") != std::string::npos ||
      keeps_addresses(source, body))
    return std::nullopt;
  auto place = global_index(source, kernel, axis);
  if (!place || place->block_only || !place->declared) return std::nullopt;
  auto* declaration = place->statement;
  RepeatedPart part{.index = std::move(*place), .close = *close};
  std::vector<const clang::Stmt*> statements(body->body_begin(), body->body_end());
  const auto of_index =
      static_cast<size_t>(std::find(statements.begin(), statements.end(), declaration) - statements.begin());
  const size_t at = first_repeatable(statements, of_index);
  auto begin = source.span(statements[at]);
  if (!begin || !source.first_on_line(begin->begin) || !changed_parameters(statements, at).empty()) return std::nullopt;
  part.begin = begin->begin,
  part.statements.assign(statements.begin() + static_cast<std::ptrdiff_t>(at), statements.end());
  bool guarded = false, changes = false;
  for (size_t after = of_index + 1; after < statements.size(); ++after) {
    changes |= changed_within(statements[after]).contains(part.index.variable);
    walk(statements[after], [&](const clang::Stmt* inner) {
      if (auto* branch = llvm::dyn_cast<clang::IfStmt>(inner))
        guarded |= variables_in(branch->getCond()).contains(part.index.variable);
      return true;
    });
  }
  auto returns = continue_instead_of_return(source, body, part.begin);
  if (changes || !returns || !guarded || !source.span(part.index.value)) return std::nullopt;
  part.returns = std::move(*returns);
  return part;
}

void RepeatedPart::indent(const KernelSource& source, std::vector<TextEdit>& edits) const {
  const std::string step = source.step();
  const std::string_view text = source.text();
  if (text.substr(begin, close - begin).find("R\"") != text.npos) return;  // A literal's lines are its own.
  for (auto& edit : edits) {
    if (edit.begin <= begin || edit.begin >= source.line_begin(close)) continue;
    for (size_t at = edit.text.find('\n'); at != edit.text.npos; at = edit.text.find('\n', at + 1))
      if (at + 1 < edit.text.size() && !std::strchr("\n#", edit.text[at + 1])) edit.text.insert(at + 1, step);
  }
  std::vector<TextEdit> lines;
  for (size_t at = text.find('\n', begin) + 1; at > 0 && at < close; at = text.find('\n', at) + 1) {
    const size_t first = text.find_first_not_of(" \t\r", at);
    const bool replaced = std::ranges::any_of(edits, [&](auto& edit) { return edit.begin < at && at < edit.end; });
    if (first < close && text[first] != '\n' && text[first] != '#' && !replaced) lines.push_back({at, at, step});
  }
  edits.insert(edits.end(), lines.begin(), lines.end());
}

TextEdit RepeatedPart::closing(const KernelSource& source, const std::string& after) const {
  const bool own_line = source.first_on_line(close);
  const size_t where = own_line ? source.line_begin(close) : close;
  return {where, where, own_line ? source.indentation(begin) + "}\n" + after : "} " + after};
}

std::vector<Opportunity> coarsened(const KernelSource& source, const RuleContext& facts,
                                   const clang::FunctionDecl* kernel, int axis, int64_t factor) {
  auto part = RepeatedPart::of(source, kernel, axis);
  bool useful = std::any_of(facts.geometries.begin(), facts.geometries.end(),
                            [&](auto& geometry) { return along(geometry.grid, axis) >= factor; });
  if (!part || !useful) return {};
  const Span init = *source.span(part->index.value);
  std::string iteration = source.fresh_name("block_iteration"),
              indent = source.indentation(part->begin) + source.step(), count = std::to_string(factor);
  auto form = [&](bool keeps_grid) {
    Opportunity found;
    found.place = std::string("blocks along ") + kAxisNames[axis];
    std::string block = neighbouring_block(std::string("blockIdx.") + kAxisNames[axis], axis, factor, iteration),
                inside;
    if (!keeps_grid) found.divide_grid(axis, factor);
    else
      found.effects = {idle_blocks(factor)},
      inside = "if (" + block + " >= gridDim." + kAxisNames[axis] + ") break;\n" + indent;
    found.edits.push_back({part->begin, part->begin,
                           "for (int " + iteration + " = 0; " + iteration + " < " + count + "; ++" + iteration +
                               ") {\n" + indent + inside});
    found.edits.push_back(
        {init.begin, init.end, neighbouring_block(source.spelled(part->index.value), axis, factor, iteration)});
    found.edits.insert(found.edits.end(), part->returns.begin(), part->returns.end());
    found.edits.push_back(part->closing(source));
    part->indent(source, found.edits);
    return found;
  };
  std::vector<Opportunity> all{form(false)};
  if (facts.keep_grid) all.push_back(form(true));
  return all;
}

}  // namespace kernelift::tuner
