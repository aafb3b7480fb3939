// See for_loops.h.
#include "tuner/source/rules/for_loops.h"

#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <algorithm>

#include "tuner/source/rules/own_lines.h"
#include "tuner/source/rules/threads/block_index.h"

namespace kernelift::tuner {
namespace {

struct OtherLoop {
  const clang::Stmt* statement = nullptr;  ///< With the condition around a do loop.
  const clang::Expr* condition = nullptr;
  const clang::CompoundStmt* body = nullptr;
};

std::optional<OtherLoop> other_loop(const KernelSource& source, const clang::Stmt* statement) {
  if (auto* loop = llvm::dyn_cast<clang::WhileStmt>(statement); loop && !loop->getConditionVariable())
    if (auto* body = llvm::dyn_cast<clang::CompoundStmt>(loop->getBody()))
      return OtherLoop{loop, loop->getCond(), body};
  auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
  if (!branch || branch->getElse() || branch->getInit() || branch->getConditionVariable()) return std::nullopt;
  auto* only = branch->getThen();
  if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(only); block && block->size() == 1) only = block->body_front();
  auto* loop = llvm::dyn_cast<clang::DoStmt>(only);
  auto* body = loop ? llvm::dyn_cast<clang::CompoundStmt>(loop->getBody()) : nullptr;
  if (!body || source.spelled(branch->getCond()).empty() ||
      squeezed(source.spelled(branch->getCond())) != squeezed(source.spelled(loop->getCond())))
    return std::nullopt;
  return OtherLoop{branch, loop->getCond(), body};
}

/// `continue` of the loop itself, which would skip the step that is its last statement.
bool continues(const clang::Stmt* body) {
  bool found = false;
  walk(body, [&](const clang::Stmt* inner) {
    found |= llvm::isa<clang::ContinueStmt, clang::GotoStmt, clang::LabelStmt>(inner);
    return !found && !llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::LambdaExpr>(inner);
  });
  return found;
}

/// "i += s", also of `i = i + s`; empty: the statement is none of that.
std::string step_text(const KernelSource& source, const clang::Stmt* statement, const clang::VarDecl*& counter) {
  if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement);
      unary && unary->isIncrementDecrementOp() && (counter = named_variable(unary->getSubExpr())))
    return source.spelled(unary);
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
  counter = binary && binary->isAssignmentOp() ? named_variable(binary->getLHS()) : nullptr;
  if (!counter) return "";
  if (binary->getOpcode() == clang::BO_AddAssign && !mentions(binary->getRHS(), counter)) return source.spelled(binary);
  auto* sum = llvm::dyn_cast<clang::BinaryOperator>(binary->getRHS()->IgnoreParenImpCasts());
  if (binary->getOpcode() != clang::BO_Assign || !sum || sum->getOpcode() != clang::BO_Add ||
      named_variable(sum->getLHS()) != counter || mentions(sum->getRHS(), counter))
    return "";
  const std::string by = source.spelled(sum->getRHS());
  return by.empty() ? "" : counter->getNameAsString() + " += " + by;
}

/// The declaration of the counter, in the loop's own block, from which nothing before the loop and nothing behind it
/// makes use of the counter.
const clang::DeclStmt* declaration_of(const KernelSource& source, const OtherLoop& loop,
                                      const clang::VarDecl* counter) {
  auto* block = llvm::dyn_cast_or_null<clang::CompoundStmt>(source.parent(loop.statement));
  const clang::DeclStmt *found = nullptr, *before = nullptr;
  std::set<const clang::VarDecl*> changed;
  for (auto* statement :
       block ? block->body() : llvm::iterator_range<clang::CompoundStmt::const_body_iterator>({}, {})) {
    auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
    if (declaration && declaration->isSingleDecl() && declaration->getSingleDecl() == counter) {
      found = declaration;
    } else if (statement != loop.statement && found) {
      if (mentions(statement, counter)) return nullptr;
      changed.merge(changed_within(statement));
    }
    // Behind other statements the first value is still the same if it does not depend on what they change.
    if (statement == loop.statement &&
        (!found || !counter->getInit() || (before != found && !is_invariant(counter->getInit(), changed))))
      return nullptr;
    before = declaration;
  }
  return found;
}

/// The statement's line, with its end; nullopt: it shares it.
std::optional<Span> line_of(const KernelSource& source, const clang::Stmt* statement) {
  auto begin = source.span(statement);
  auto end = source.statement_end(statement);
  const std::string& text = source.text();
  if (!begin || !end || !source.first_on_line(begin->begin)) return std::nullopt;
  const size_t next = text.find_first_not_of(" \t", *end);
  if (next == text.npos || text[next] != '\n') return std::nullopt;
  return Span{source.line_begin(begin->begin), next + 1};
}

/// Lines behind the first one that begin with the indentation `from` begin with `to` instead.
std::string shifted(const std::string& text, const std::string& from, const std::string& to) {
  std::string made;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    made += begin > 0 && line.starts_with(from) ? to + line.substr(from.size()) : line;
  }
  return made;
}

std::optional<std::vector<TextEdit>> as_for(const KernelSource& source, const OtherLoop& loop) {
  if (loop.body->body_empty() || continues(loop.body)) return std::nullopt;
  const clang::VarDecl* counter = nullptr;
  auto* last = loop.body->body_back();
  const std::string step = step_text(source, last, counter), condition = source.spelled(loop.condition);
  if (step.empty() || condition.empty() || !mentions(loop.condition, counter)) return std::nullopt;
  for (auto* statement : loop.body->body()) {
    if (statement == last) continue;
    if (changed_within(statement).contains(counter)) return std::nullopt;
    if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement))
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared); variable && mentions(last, variable))
          return std::nullopt;
  }
  auto* declaration = declaration_of(source, loop, counter);
  auto declared = declaration ? line_of(source, declaration) : std::nullopt, stepped = line_of(source, last);
  auto whole = source.span(loop.statement);
  auto open = source.offset(loop.body->getLBracLoc()), close = source.offset(loop.body->getRBracLoc());
  auto end = source.statement_end(loop.statement);
  if (!declared || !stepped || !whole || !open || !close || !end) return std::nullopt;
  std::string first = source.text().substr(source.span(declaration)->begin,
                                           *source.statement_end(declaration) - source.span(declaration)->begin);
  if (first.empty() || first.back() != ';') return std::nullopt;
  const std::string& text = source.text();
  const std::string body =
      text.substr(*open, stepped->begin - *open) + text.substr(stepped->end, *close + 1 - stepped->end);
  return std::vector<TextEdit>{{declared->begin, declared->end, ""},
                               {whole->begin, *end,
                                "for (" + first + " " + condition + "; " + step + ") " +
                                    shifted(body, source.indentation(*close), source.indentation(whole->begin))}};
}

}  // namespace

std::optional<std::string> with_for_loops(const KernelSource& source, const std::string& kernel) {
  auto* function = source.kernel(kernel);
  if (!function || !function->getBody() || keeps_addresses(source, function->getBody())) return std::nullopt;
  std::vector<TextEdit> edits;
  walk(function->getBody(), [&](const clang::Stmt* statement) {
    auto loop = other_loop(source, statement);
    auto own = loop ? as_for(source, *loop) : std::nullopt;
    if (own) edits.insert(edits.end(), own->begin(), own->end());
    return !own;  // Those within are in this loop's own text.
  });
  return edits.empty() ? std::nullopt : apply_edits(source.text(), edits);
}

std::optional<UsualForm> UsualForm::of(const KernelSource& source, const std::string& kernel, const Parse& parse) {
  std::optional<UsualForm> form;
  auto take = [&](const std::string& text, bool loops) {
    auto parsed = parse(text);
    if (!parsed.ok()) return false;
    form.emplace(UsualForm{std::move(*parsed), loops});
    return true;
  };
  if (auto lines = on_own_lines(source, kernel); lines && !take(*lines, false)) return std::nullopt;
  if (auto loops = with_for_loops(form ? form->source : source, kernel); loops && !take(*loops, true))
    return std::nullopt;
  return form;
}

std::vector<Opportunity> UsualForm::further(const Rule& rule, const RuleContext& facts,
                                            const std::vector<Opportunity>& found) const {
  if (!found.empty() && !loops) return {};
  auto all = opportunities(rule, source, facts);
  std::erase_if(all, [&](auto& one) {
    return std::ranges::any_of(found, [&](auto& other) {
      return one.place == other.place && one.values == other.values && one.summary == other.summary;
    });
  });
  return all;
}

}  // namespace kernelift::tuner
