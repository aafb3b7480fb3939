// See independent_loop.h.
#include "tuner/source/rules/threads/independent_loop.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <algorithm>

namespace kernelift::tuner {
namespace {

/// Every store in the loop goes to an element that depends on the counter, at least by its text.
bool stores_own_elements(const clang::ForStmt* loop, const clang::VarDecl* counter) {
  std::set<const clang::VarDecl*> own{counter};
  auto depends = [&](const clang::Stmt* statement) {
    return statement && std::ranges::any_of(variables_in(statement), [&](auto* one) { return own.contains(one); });
  };
  for (size_t before = 0; before != own.size();) {
    before = own.size();
    walk(loop->getBody(), [&](const clang::Stmt* inner) {
      if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(inner))
        for (auto* declared : declaration->decls())
          if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared); variable && depends(variable->getInit()))
            own.insert(variable);
      auto* set = assigned_by(inner);
      if (auto* variable = set ? variable_of(set) : nullptr; variable && depends(inner)) own.insert(variable);
      return true;
    });
  }
  bool good = true;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    auto* set = assigned_by(inner);
    if (!set || variable_of(set)) return good;
    return good &= depends(set);
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
