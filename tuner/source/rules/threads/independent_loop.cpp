// See independent_loop.h.
#include "tuner/source/rules/threads/independent_loop.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/Stmt.h>

#include <algorithm>
#include <set>

namespace kernelift::tuner {
namespace {

using Variables = std::set<const clang::VarDecl*>;

bool uses_any(const clang::Stmt* statement, const Variables& variables) {
  return statement && std::ranges::any_of(variables_in(statement), [&](auto* one) { return variables.contains(one); });
}

/// Reads what lies in memory: an element, what a pointer leads to, or whatever a function does that is not only
/// arithmetic.
bool reads_memory(const clang::Stmt* one) {
  if (llvm::isa<clang::ArraySubscriptExpr>(one)) return true;
  if (auto* dereference = llvm::dyn_cast<clang::UnaryOperator>(one)) return dereference->getOpcode() == clang::UO_Deref;
  auto* call = llvm::dyn_cast<clang::CallExpr>(one);
  if (!call) return false;
  const clang::FunctionDecl* callee = call->getDirectCallee();
  const clang::Stmt* body = callee ? callee->getBody() : nullptr;
  bool found = !body;
  walk(body, [&](const clang::Stmt* inner) {
    auto* pointed = llvm::dyn_cast<clang::UnaryOperator>(inner);
    found |= llvm::isa<clang::ArraySubscriptExpr, clang::CallExpr>(inner) ||
             (pointed && pointed->getOpcode() == clang::UO_Deref);
    return !found;
  });
  return found;
}

/// Variables of the loop that follow its counter, and those that hold what was read where the counter says.
struct Followers {
  Variables all, read;

  /// A value in memory that the counter chooses is part of the expression: two iterations may find the same there.
  bool reads(const clang::Stmt* expression) const {
    bool found = uses_any(expression, read);
    walk(expression, [&](const clang::Stmt* inner) {
      found |= uses_any(inner, all) && reads_memory(inner);
      return !found;
    });
    return found;
  }
};

Followers followers_of(const clang::ForStmt* loop, const clang::VarDecl* counter) {
  Followers found{{counter}, {}};
  for (size_t before = 0; before != found.all.size() + found.read.size();) {
    before = found.all.size() + found.read.size();
    auto follow = [&](const clang::VarDecl* variable, const clang::Stmt* by) {
      if (!variable || !uses_any(by, found.all)) return;
      found.all.insert(variable);
      if (found.reads(by)) found.read.insert(variable);
    };
    walk(loop->getBody(), [&](const clang::Stmt* inner) {
      if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(inner))
        for (auto* declared : declaration->decls())
          if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) follow(variable, variable->getInit());
      auto* set = assigned_by(inner);
      follow(set ? variable_of(set) : nullptr, inner);
      return true;
    });
  }
  return found;
}

/// Whether the counter, and no value that it chooses in memory, says which element is stored to.
bool is_own_element(const clang::Expr* target, const Followers& followers) {
  if (!uses_any(target, followers.all)) return false;
  for (const clang::Expr* at = target->IgnoreParenImpCasts(); at;) {
    if (auto* member = llvm::dyn_cast<clang::MemberExpr>(at)) {
      at = member->getBase()->IgnoreParenImpCasts();
    } else if (auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(at)) {
      if (followers.reads(element->getIdx())) return false;
      const clang::Expr* of = element->getBase()->IgnoreParenImpCasts();
      // A row of an array of arrays lies where the index says; a pointer that is read says itself where.
      if (!of->getType()->isArrayType()) return !followers.reads(of);
      at = of;
    } else if (auto* call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(at)) {
      return std::ranges::none_of(call->arguments(), [&](auto* one) { return followers.reads(one); });
    } else if (auto* pointed = llvm::dyn_cast<clang::UnaryOperator>(at)) {
      return !followers.reads(pointed->getSubExpr());
    } else {
      return !followers.reads(at);
    }
  }
  return true;
}

/// Every store in the loop goes to an element that the counter chooses, at least by its text.
bool stores_own_elements(const clang::ForStmt* loop, const clang::VarDecl* counter) {
  const Followers followers = followers_of(loop, counter);
  bool good = true;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    auto* set = assigned_by(inner);
    if (!set || variable_of(set)) return good;
    return good &= is_own_element(set, followers);
  });
  return good;
}

class StoresBeside {
 public:
  StoresBeside(const KernelSource& source, const RuleContext& facts) : source_(source), loops_(source, facts) {}

  /// False: one thread cannot execute the statement for all.
  bool add(const clang::Stmt* statement);
  /// No thread waits for what another one stores.
  bool read_in(const clang::ForStmt* loop) const;
  std::vector<const clang::Stmt*> take() { return std::move(statements_); }

 private:
  const KernelSource& source_;
  LaneLoops loops_;
  std::vector<const clang::Stmt*> statements_;
  std::set<std::string> elements_;  ///< That they store, as they are spelled.
};

bool StoresBeside::add(const clang::Stmt* statement) {
  if (!loops_.writes_memory(statement)) return true;
  auto range = source_.span(statement);
  if (!range || !source_.first_on_line(range->begin)) return false;
  bool leaves = false;
  std::set<const clang::VarDecl*> own;
  walk(statement, [&](const clang::Stmt* inner) {
    leaves |= llvm::isa<clang::ReturnStmt, clang::GotoStmt, clang::LabelStmt, clang::AsmStmt>(inner);
    if (auto* target = assigned_by(inner); target && !variable_of(target))
      elements_.insert(squeezed(source_.spelled(target)));
    auto* loop = llvm::dyn_cast<clang::ForStmt>(inner);
    if (auto counted = loop ? CountedLoop::of(loop) : std::nullopt; counted && loops_.is_only_counter(counted->counter))
      own.insert(counted->counter);
    return !leaves;
  });
  if (leaves || llvm::isa<clang::DeclStmt>(statement)) return false;
  // What it computes for the thread's own use would be missing in the others.
  for (auto* variable : changed_within(statement)) {
    auto declared = source_.offset(variable->getLocation());
    const bool within = declared && *declared >= range->begin && *declared < range->end;
    if (variable->hasLocalStorage() && !within && !own.contains(variable)) return false;
  }
  statements_.push_back(statement);
  return true;
}

bool StoresBeside::read_in(const clang::ForStmt* loop) const {
  bool mentions = false;
  walk(loop, [&](const clang::Stmt* inner) {
    if (llvm::isa<clang::ArraySubscriptExpr>(inner)) mentions |= elements_.contains(squeezed(source_.spelled(inner)));
    return !mentions;
  });
  return mentions;
}

}  // namespace

std::optional<IndependentLoop> IndependentLoop::of(const KernelSource& source, const RuleContext& facts,
                                                   const clang::ForStmt* loop, const clang::Stmt* kernel_body) {
  LaneLoops loops(source, facts);
  auto counted = CountedLoop::of(loop, true);
  if (!counted || !loops.is_parallel(loop, counted->counter) || !loops.writes_memory(loop->getBody()) ||
      !stores_own_elements(loop, counted->counter))
    return std::nullopt;
  StoresBeside stores(source, facts);
  for (const clang::Stmt *at = loop, *up = source.parent(at); at != kernel_body; at = up, up = source.parent(up)) {
    if (!up) return std::nullopt;
    if (auto* branch = llvm::dyn_cast<clang::IfStmt>(up)) {
      if (branch->hasVarStorage() || branch->getInit() || loops.writes_memory(branch->getCond()) ||
          at == branch->getCond())
        return std::nullopt;
      auto* other = branch->getThen() == at ? branch->getElse() : branch->getThen();
      if (other && !stores.add(other)) return std::nullopt;
    } else if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(up)) {
      for (auto* beside : block->body())
        if (beside != at && !stores.add(beside)) return std::nullopt;
    } else {
      return std::nullopt;  // In another loop, each of whose iterations may need the one before.
    }
  }
  if (stores.read_in(loop)) return std::nullopt;
  return IndependentLoop{loop, *counted, stores.take()};
}

bool has_separate_threads(const KernelSource& source, const clang::FunctionDecl* kernel) {
  return kernel->getReturnType()->isVoidType() && !has_barrier(kernel->getBody()) &&
         source.spelled(kernel->getBody()).find("__shared__") == std::string::npos;
}

}  // namespace kernelift::tuner
