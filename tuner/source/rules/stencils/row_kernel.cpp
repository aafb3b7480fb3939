// See row_kernel.h.
#include "tuner/source/rules/stencils/row_kernel.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>

#include "tuner/source/rules/threads/jammed_copies.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kLongestWork = 6000;  ///< Characters.

}  // namespace

RowKernel::RowKernel(const KernelSource& source, const clang::FunctionDecl* kernel, const GlobalIndex& index,
                     int64_t count)
    : source_(source),
      body_(llvm::cast<clang::CompoundStmt>(kernel->getBody())),
      index_(index),
      count_(count),
      sums_(source, body_, index.variable),
      depends_(source, {{count, index.variable}}),
      first_name_(source.fresh_name(index.variable->getNameAsString() + "_first")) {}

bool RowKernel::is_fit(const KernelSource& source, const clang::FunctionDecl* kernel) {
  auto* body = kernel->getBody();
  return kernel->getReturnType()->isVoidType() && llvm::isa<clang::CompoundStmt>(body) && !has_barrier(body) &&
         source.spelled(body).find("__shared__") == std::string::npos && !has_dynamic_shared(source) &&
         !keeps_addresses(source, body);
}

std::string RowKernel::index_name() const { return index_.variable->getNameAsString(); }

bool RowKernel::find_parts() {
  if (index_.loop) return split_loop();
  const bool parts = split();
  if (work_.empty()) work_.assign(body_->body_begin(), body_->body_end());
  return parts && read_bounds();
}

/// The work is the loop's body, and its condition the guard.
bool RowKernel::split_loop() {
  auto declared = source_.span(index_.loop->getInit()), value = source_.span(index_.value);
  auto* block = llvm::dyn_cast<clang::CompoundStmt>(index_.loop->getBody());
  if (block) work_.assign(block->body_begin(), block->body_end());
  else work_ = {index_.loop->getBody()};
  if (!declared || !value || !index_.loop->getCond() || work_.empty()) return false;
  head_ = source_.text().substr(declared->begin, value->begin - declared->begin);
  depends_.propagate(work_, {});
  return std::ranges::all_of(parts_of_guard(index_.loop->getCond(), false), [&](auto* part) {
    upper_.push_back({part, false});
    return depends_.bounds(part, false) != 0;
  });
}

size_t RowKernel::work_above() const {
  return index_.loop ? *source_.offset(index_.loop->getRParenLoc()) : source_.span(index_.statement)->end;
}

/// Splits the kernel's statements behind the index into guards, declarations and the work.
bool RowKernel::split() {
  auto whole = source_.span(index_.statement), value = source_.span(index_.value);
  if (!whole || !value) return false;
  head_ = source_.text().substr(whole->begin, value->begin - whole->begin);
  Statements statements(body_->body_begin(), body_->body_end());
  auto at = std::find(statements.begin(), statements.end(), index_.statement);
  statements.erase(statements.begin(), at + 1);
  std::set<const clang::IfStmt*> guards;
  auto guard_of = [&](const clang::Stmt* statement, bool last) -> const clang::IfStmt* {
    auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
    const bool plain = branch && !branch->getElse() && !branch->hasVarStorage() && !branch->getInit() &&
                       is_invariant(branch->getCond(), {});
    return plain && (last || only_returns(branch->getThen())) ? branch : nullptr;
  };
  size_t begin = 0;
  for (size_t i = 0; i < statements.size(); ++i)
    if (auto* guard = guard_of(statements[i], i + 1 == statements.size())) {
      guards.insert(guard);
      (only_returns(guard->getThen()) ? leaving_.emplace_back() : around_) = guard;
      begin = i + 1;
    }
  depends_.propagate(statements, guards);
  for (auto* guard : guards)
    for (auto* variable : variables_in(guard->getCond()))
      if (variable != index_.variable && depends_.dependents().contains(variable)) return false;
  for (size_t i = 0; i < begin; ++i) {
    auto* branch = llvm::dyn_cast<clang::IfStmt>(statements[i]);
    if (guards.contains(branch) || !depends_.axes_of(statements[i])) continue;
    if (!llvm::isa<clang::DeclStmt>(statements[i]) || accesses_memory({statements[i]})) return false;
    moved_.push_back(statements[i]);
  }
  if (around_) {
    auto* block = llvm::dyn_cast<clang::CompoundStmt>(around_->getThen());
    if (block) work_.assign(block->body_begin(), block->body_end());
    else work_ = {around_->getThen()};
  } else {
    work_.assign(statements.begin() + static_cast<std::ptrdiff_t>(begin), statements.end());
    // What is the same for all rows stays in front.
    while (!work_.empty() && !depends_.axes_of(work_.front()) && !accesses_memory({work_.front()}))
      work_.erase(work_.begin());
  }
  return !work_.empty();
}

bool RowKernel::is_lower_bound(const clang::Expr* condition, bool leaves) {
  auto* comparison = llvm::dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (!comparison || !comparison->isComparisonOp()) return false;
  auto operation =
      leaves ? clang::BinaryOperator::negateComparisonOp(comparison->getOpcode()) : comparison->getOpcode();
  const clang::Expr* bound = comparison->getRHS();
  if (named_variable(comparison->getLHS()) != index_.variable) {
    if (named_variable(bound) != index_.variable) return false;
    bound = comparison->getLHS(), operation = clang::BinaryOperator::reverseComparisonOp(operation);
  }
  auto variables = variables_in(bound);
  auto declared = source_.offset(index_.statement->getBeginLoc());
  for (auto* variable : variables) {
    auto place = source_.offset(variable->getLocation());
    if (!llvm::isa<clang::ParmVarDecl>(variable) &&
        (sums_.changes(variable) || !place || !declared || *place > *declared))
      return false;
  }
  clang::Expr::EvalResult value;
  const bool number = !bound->isValueDependent() && bound->EvaluateAsInt(value, source_.context());
  int64_t first = number ? value.Val.getInt().getExtValue() : 0;
  // The index is never negative: `i != 0` is `i > 0`.
  if (operation == clang::BO_NE && number && first == 0) operation = clang::BO_GT;
  if ((operation != clang::BO_GT && operation != clang::BO_GE) || !first_.empty()) return false;
  first += operation == clang::BO_GT;
  if (number && first <= 0) return true;
  const std::string text = source_.spelled(bound);
  if (text.empty()) return false;
  const bool name = llvm::isa<clang::DeclRefExpr, clang::IntegerLiteral>(bound->IgnoreParenImpCasts());
  first_ = number && llvm::isa<clang::IntegerLiteral>(bound->IgnoreParenImpCasts())
               ? std::to_string(first)
               : (name ? text : "(" + text + ")") + (operation == clang::BO_GT ? " + 1" : "");
  return true;
}

bool RowKernel::read_bounds() {
  auto read = [&](const clang::IfStmt* guard, bool leaves) {
    return std::ranges::all_of(parts_of_guard(guard->getCond(), leaves), [&](auto* part) {
      if (!depends_.axes_of(part)) return true;
      if (depends_.bounds(part, leaves)) return upper_.push_back({part, leaves}), true;
      return is_lower_bound(part, leaves);
    });
  };
  return std::ranges::all_of(leaving_, [&](auto* guard) { return read(guard, true); }) &&
         (!around_ || read(around_, false));
}

std::string RowKernel::why_not_repeated() const {
  bool jumps = false;
  std::set<const clang::VarDecl*> own;
  for (auto* statements : {&moved_, &work_})
    for (auto* statement : *statements)
      walk(statement, [&](const clang::Stmt* inner) {
        jumps |=
            llvm::isa<clang::ReturnStmt, clang::GotoStmt, clang::LabelStmt, clang::AsmStmt, clang::LambdaExpr>(inner) ||
            (index_.loop && llvm::isa<clang::ContinueStmt, clang::BreakStmt>(inner));
        if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(inner))
          for (auto* declared : declaration->decls())
            if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) own.insert(variable);
        return true;
      });
  if (jumps) return "the thread returns, or jumps, in the middle of it";
  for (auto* statement : work_)
    for (auto* variable : changed_within(statement))
      if (variable->hasLocalStorage() && !own.contains(variable))
        return "`" + variable->getNameAsString() + "`, which it changes, is declared outside of it";
  for (auto* statements : {&moved_, &work_})
    for (auto* statement : *statements) {
      auto span = source_.span(statement);
      // The only statement of a guard may be on its line.
      const bool alone =
          (around_ && statement == around_->getThen()) || (index_.loop && statement == index_.loop->getBody());
      if (!span || !(alone || source_.first_on_line(span->begin)))
        return "a line has several statements, or a macro spells one";
      if (source_.text().substr(span->begin, span->end - span->begin).find('#') != std::string::npos)
        return "it contains directives";
    }
  return {};
}

std::string RowKernel::in_bounds() const {
  std::string all;
  for (auto& part : upper_) all += (all.empty() ? "" : " && ") + condition_text(source_, part.condition, part.leaves);
  return all;
}

std::string RowKernel::declares(const std::string& name) const { return with_names(head_, {{index_name(), name}}); }

std::string RowKernel::work_text(const std::string& indent, const std::vector<TextEdit>& edits) const {
  const size_t first = source_.span(work_.front())->begin;
  const bool alone = !source_.first_on_line(first);
  size_t begin = alone ? first : source_.line_begin(first), end = *source_.statement_end(work_.back());
  const std::string old = source_.indentation(first);
  // Comments above the first statement, and behind the last.
  while (begin > 0 && !alone) {
    const size_t above = source_.line_begin(begin - 1);
    const std::string line = source_.text().substr(above, begin - above);
    const bool comment = line.find("//") == line.find_first_not_of(" \t") && line.find("//") != line.npos;
    if (!comment || above <= work_above()) break;
    begin = above;
  }
  const size_t line_end = std::min(source_.text().find('\n', end), source_.text().size());
  if (squeezed(source_.text().substr(end, line_end - end)).empty()) end = line_end;
  std::vector<TextEdit> moved;
  for (auto& edit : edits)
    if (edit.begin >= begin && edit.end <= end) moved.push_back({edit.begin - begin, edit.end - begin, edit.text});
  const std::string changed = apply_edits(source_.text().substr(begin, end - begin), moved).value_or("");
  std::string out;
  for (size_t at = 0; at < changed.size();) {
    const size_t stop = std::min(changed.find('\n', at), changed.size());
    std::string line = changed.substr(at, stop - at);
    if (alone && at == 0) line = indent + line;
    else if (line.starts_with(old)) line = indent + line.substr(old.size());
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.pop_back();
    out += line + "\n";
    at = stop + 1;
  }
  return out;
}

RowKernel::Statements RowKernel::needed_declarations(const Statements& by, bool also_within) const {
  std::set<const clang::VarDecl*> wanted;
  for (auto* statement : by) wanted.merge(variables_in(statement));
  Statements declarations = moved_, needed;
  if (also_within)
    std::copy_if(work_.begin(), work_.end(), std::back_inserter(declarations),
                 [](auto* statement) { return llvm::isa<clang::DeclStmt>(statement); });
  for (auto one = declarations.rbegin(); one != declarations.rend(); ++one) {
    const bool mentioned = std::ranges::any_of(llvm::cast<clang::DeclStmt>(*one)->decls(), [&](auto* declared) {
      return wanted.contains(llvm::dyn_cast<clang::VarDecl>(declared));
    });
    if (!mentioned) continue;
    wanted.merge(variables_in(*one));
    needed.insert(needed.begin(), *one);
  }
  return needed;
}

std::string RowKernel::text_of(const std::string& indent, const Statements& statements) const {
  std::string out;
  for (auto* one : statements) {
    const size_t begin = source_.span(one)->begin;
    out += indent + source_.text().substr(begin, *source_.statement_end(one) - begin) + "\n";
  }
  return out;
}

std::string RowKernel::others(const clang::IfStmt* guard, bool leaves) const {
  std::string text;
  size_t count = 0;
  for (auto* part : parts_of_guard(guard->getCond(), leaves)) {
    if (depends_.axes_of(part)) continue;
    text += (text.empty() ? "" : leaves ? " || " : " && ") + source_.spelled(part), ++count;
  }
  return count == 1 && text.starts_with("(") && text.ends_with(")") ? text.substr(1, text.size() - 2) : text;
}

std::optional<std::vector<TextEdit>> RowKernel::loop_edits(
    const std::function<std::string(const std::string& indent)>& text) const {
  auto* step = llvm::dyn_cast<clang::BinaryOperator>(index_.loop->getInc());
  auto whole = source_.span(index_.loop), declared = source_.span(index_.loop->getInit()),
       condition = source_.span(index_.loop->getCond()), next = source_.span(index_.loop->getInc()),
       value = source_.span(index_.value);
  auto stride = step ? source_.span(step->getRHS()) : std::nullopt;
  auto close = source_.offset(index_.loop->getRParenLoc()), end = source_.statement_end(index_.loop->getBody());
  if (!whole || !declared || !condition || !next || !value || !stride || !close || !end ||
      !source_.first_on_line(whole->begin) || *end - *close > kLongestWork || !squeezed(head_).ends_with('='))
    return std::nullopt;
  const std::string indent = source_.indentation(whole->begin), count = std::to_string(count_);
  return std::vector<TextEdit>{
      {declared->begin, value->end, declares(first_name_) + "(" + source_.spelled(index_.value) + ") * " + count},
      {condition->begin, condition->end,
       with_names(source_.spelled(index_.loop->getCond()), {{index_name(), first_name_}})},
      {next->begin, next->end, first_name_ + " += (" + source_.spelled(step->getRHS()) + ") * " + count},
      {*close + 1, *end, " {\n" + text(indent + source_.step()) + indent + "}"}};
}

std::optional<std::vector<TextEdit>> RowKernel::edits(
    const std::function<std::string(const std::string& indent)>& text) const {
  if (index_.loop) return loop_edits(text);
  auto whole = source_.span(index_.statement), value = source_.span(index_.value);
  const size_t work_begin = source_.span(work_.front())->begin;
  auto work_end = source_.statement_end(work_.back());
  if (!whole || !value || !work_end || *work_end - work_begin > kLongestWork || !squeezed(head_).ends_with('='))
    return std::nullopt;
  std::vector<TextEdit> edits{{whole->begin, value->end,
                               declares(first_name_) + "(" + source_.spelled(index_.value) + ") * " +
                                   std::to_string(count_) + (first_.empty() ? "" : " + " + first_)}};
  auto remove = [&](const clang::Stmt* statement) {
    const size_t begin = source_.line_begin(source_.span(statement)->begin), end = *source_.statement_end(statement);
    const size_t next = std::min(source_.text().find('\n', end), source_.text().size() - 1) + 1;
    edits.push_back({begin, squeezed(source_.text().substr(end, next - end)).empty() ? next : end, ""});
  };
  for (auto* statement : moved_) remove(statement);
  for (auto* guard : leaving_) {
    if (!depends_.axes_of(guard->getCond())) continue;
    auto condition = source_.span(guard->getCond());
    const std::string rest = others(guard, true);
    if (!condition || !source_.span(guard)) return std::nullopt;
    if (rest.empty()) remove(guard);
    else edits.push_back({condition->begin, condition->end, rest});
  }
  size_t begin = source_.line_begin(work_begin), end = *work_end;
  std::string written;
  if (around_) {
    auto branch = source_.span(around_), then = source_.span(around_->getThen());
    auto after = source_.statement_end(around_);
    auto close = source_.offset(around_->getRParenLoc());
    if (!branch || !then || !after || !close || !source_.first_on_line(branch->begin)) return std::nullopt;
    begin = source_.line_begin(branch->begin), end = *after;
    const std::string indent = source_.indentation(branch->begin), rest = others(around_, false);
    const bool own_line = llvm::isa<clang::CompoundStmt>(around_->getThen()) &&
                          source_.text().substr(*close, then->begin - *close).find('\n') != std::string::npos;
    written = rest.empty() ? text(indent)
                           : indent + "if (" + rest + ")" + (own_line ? "\n" + indent + "{\n" : " {\n") +
                                 text(indent + source_.step()) + indent + "}\n";
  } else {
    written = text(source_.indentation(work_begin));
  }
  written.pop_back();
  edits.push_back({begin, end, written});
  return edits;
}

}  // namespace kernelift::tuner
