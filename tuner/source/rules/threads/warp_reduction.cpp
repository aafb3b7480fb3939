// warp_reduction: a thread that walks along a row of its own reads memory that its neighbours do not, 32 rows at a
// time. Here a group of lanes walks along one row together, each taking every L-th element, and what the loop gathered
// is put together by shuffles:
//   for (int j = 0; j < n; j++) sum += a[i * n + j] * x[j];
// becomes, with i counting groups instead of threads and L times as many blocks,
//   float sum_before = sum;  sum = 0;
//   for (int j = lane; j < n; j += L) sum += a[i * n + j] * x[j];
//   for (int hop = L / 2; hop > 0; hop /= 2) sum += __shfl_xor_sync(lanes, sum, hop);
//   sum = sum_before + sum;
// Loops that write an element a turn are dealt out likewise, where nothing else that they read leads to that array;
// everything else is done by all lanes alike, and what it stores is stored by one of them. Sums are rounded in another
// order; verification says whether that matters.
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <map>
#include <regex>

#include "core/base/words.h"
#include "tuner/source/rules/threads/block_index.h"

namespace kernelift {
namespace {

constexpr uint64_t kMostBlocks = (uint64_t{1} << 31) - 1;  ///< Of a grid, along x.
constexpr uint32_t kWarp = 32;

enum class Gathering { Sum, Choice };

/// What a loop gathers in one variable, or member of one.
struct Gathered {
  Gathering how = Gathering::Sum;
  std::string function;  ///< Of a choice: max, fmaxf …
  const clang::VarDecl* root = nullptr;
};

const clang::VarDecl* root_of(const clang::Expr* lvalue) {
  lvalue = lvalue->IgnoreParens();
  while (auto* member = llvm::dyn_cast<clang::MemberExpr>(lvalue)) {
    if (member->isArrow()) return nullptr;
    lvalue = member->getBase()->IgnoreParens();
  }
  auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(lvalue);
  auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
  return variable && variable->hasLocalStorage() && !variable->getType()->isReferenceType() ? variable : nullptr;
}

class Sharing {
 public:
  /// `columns`: lanes that lie side by side work on items side by side, so that their loads stay together where items
  /// are neighbours in memory; else lanes side by side share an item.
  Sharing(const KernelSource& source, const RuleContext& facts, int64_t lanes, bool columns)
      : source_(source),
        facts_(facts),
        count_(std::to_string(lanes)),
        lane_(source.fresh_name("lane")),
        hop_(source.fresh_name("offset")) {
    int64_t items = kWarp / lanes;
    uint64_t group = 0;
    for (int64_t lane = 0; lane < lanes; ++lane) group |= uint64_t{1} << (columns ? lane * items : lane);
    mask_ = lanes == kWarp ? "0xffffffffu"
                           : "(" + std::to_string(group) + "u << (threadIdx.x & " +
                                 std::to_string(columns ? items - 1 : kWarp - lanes) + "))";
    hops_ = columns
                ? "for (int " + hop_ + " = 16; " + hop_ + " >= " + std::to_string(items) + "; " + hop_ + " /= 2) "
                : "for (int " + hop_ + " = " + std::to_string(lanes / 2) + "; " + hop_ + " > 0; " + hop_ + " /= 2) ";
  }

  bool take_list(const std::vector<const clang::Stmt*>& statements);
  bool take(const clang::Stmt* statement);
  const std::vector<TextEdit>& edits() const { return edits_; }
  const std::string& lane() const { return lane_; }
  size_t loops() const { return loops_; }
  const std::set<std::string>& apart() const { return apart_; }

 private:
  /// Writes that reach beyond the thread's own variables.
  bool writes_memory(const clang::Stmt* statement) const;
  bool share_loop(const clang::ForStmt* loop);
  bool is_temporary(const clang::ForStmt* loop, const clang::VarDecl* variable) const;
  bool only_counts(const clang::VarDecl* counter) const;
  bool gathers(const clang::ForStmt* loop, const clang::VarDecl* counter, std::map<std::string, Gathered>& found) const;
  bool is_some(const clang::Expr* factor, const clang::Stmt* at) const;
  bool differs_by(const clang::Expr* index, const clang::VarDecl* counter,
                  const std::set<const clang::VarDecl*>& changed) const;
  bool writes_each_once(const clang::ForStmt* loop, const clang::VarDecl* counter);
  bool store_once(const clang::Stmt* statement);

  const KernelSource& source_;
  const RuleContext& facts_;
  std::set<std::string> apart_;  ///< Arrays that nothing else may lead to.
  std::string count_, lane_, hop_, mask_, hops_;
  std::vector<TextEdit> edits_;
  std::set<std::string> kept_;  ///< Names that hold what sums were before their loops.
  size_t loops_ = 0;
};

/// What calls do that is not for their value: `if (s > most) count_overflow();`, which every lane would do.
bool acts(const clang::CallExpr* call, int depth) {
  auto* callee = call->getDirectCallee();
  auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(callee);
  if (method && (method->isTrivial() || method->isDefaulted())) return false;
  const std::string name = callee && callee->getIdentifier() ? callee->getName().str() : "";
  if (name.starts_with("atomic") || name.find("printf") != name.npos) return true;
  auto* definition = visible_callee(call);
  const bool own =
      definition && definition->getASTContext().getSourceManager().isWrittenInMainFile(definition->getLocation());
  if (!own) {  // A library's function of numbers, or one that says by pointers what it computed: sincosf(x, &s, &c).
    const bool says = std::any_of(call->arg_begin(), call->arg_end(),
                                  [](auto* argument) { return argument->getType()->isPointerType(); });
    return !callee || callee->getASTContext().getSourceManager().isWrittenInMainFile(callee->getLocation()) ||
           (call->getType()->isVoidType() && !says);
  }
  if (depth == 0) return true;
  bool does = false;
  walk(definition->getBody(), [&](const clang::Stmt* inner) {
    does |= llvm::isa<clang::AsmStmt, clang::LambdaExpr>(inner);
    if (auto* target = assigned_by(inner)) {
      auto* variable = variable_of(target);
      auto* member = llvm::dyn_cast<clang::MemberExpr>(target->IgnoreParens());
      const bool of_object = member && llvm::isa<clang::CXXThisExpr>(member->getBase()->IgnoreParenImpCasts());
      // What a pointer or a reference among the parameters leads to is asked where it is given.
      auto* through = llvm::dyn_cast<clang::ArraySubscriptExpr>(target->IgnoreParens());
      auto* star = llvm::dyn_cast<clang::UnaryOperator>(target->IgnoreParens());
      auto* pointer = through                                        ? named_variable(through->getBase())
                      : star && star->getOpcode() == clang::UO_Deref ? named_variable(star->getSubExpr())
                                                                     : nullptr;
      const bool given = pointer && llvm::isa<clang::ParmVarDecl>(pointer);
      does |= !of_object && !given && !(variable && variable->hasLocalStorage());
    }
    if (auto* more = llvm::dyn_cast<clang::CallExpr>(inner); more && !assigned_by(more)) does |= acts(more, depth - 1);
    return !does;
  });
  return does;
}

bool Sharing::writes_memory(const clang::Stmt* statement) const {
  constexpr int kDepth = 4;  // Calls of calls.
  bool writes = false;
  walk(statement, [&](const clang::Stmt* inner) {
    auto* target = assigned_by(inner);
    if (auto* call = llvm::dyn_cast<clang::CallExpr>(inner); call && !target) writes |= acts(call, kDepth);
    if (auto* call = llvm::dyn_cast<clang::CallExpr>(inner); call && !target)
      for (auto* argument : call->arguments()) {
        auto* address = llvm::dyn_cast<clang::UnaryOperator>(argument->IgnoreParenImpCasts());
        bool own = address && address->getOpcode() == clang::UO_AddrOf && root_of(address->getSubExpr());
        writes |=
            !own && argument->getType()->isPointerType() && !argument->getType()->getPointeeType().isConstQualified();
      }
    if (!target) return !writes;
    // An array of the thread's own is its own too.
    target = target->IgnoreParens();
    while (auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(target)) {
      if (!subscript->getBase()->IgnoreParenImpCasts()->getType()->isArrayType()) break;
      target = subscript->getBase()->IgnoreParenImpCasts();
    }
    writes |= root_of(target) == nullptr;
    return !writes;
  });
  return writes;
}

/// The counter of `for (T j = first; j < bound; j += step)`, or one that is only set there.
const clang::VarDecl* counter_of(const clang::ForStmt* loop, const clang::Expr*& first, const clang::Expr*& step) {
  const clang::VarDecl* counter = nullptr;
  step = nullptr;
  if (auto* init = llvm::dyn_cast_or_null<clang::DeclStmt>(loop->getInit()); init && init->isSingleDecl()) {
    counter = llvm::dyn_cast<clang::VarDecl>(init->getSingleDecl());
    first = counter ? counter->getInit() : nullptr;
  } else if (auto* set = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getInit());
             set && set->getOpcode() == clang::BO_Assign) {
    counter = named_variable(set->getLHS()), first = set->getRHS();
  }
  auto* condition = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getCond());
  if (!counter || !first || !condition || !counter->getType()->isIntegerType() || !loop->getInc()) return nullptr;
  // A lane steps further: a byte that counts to 255 would begin anew.
  if (!counter->getType()->isDependentType() && counter->getASTContext().getTypeSize(counter->getType()) < 32)
    return nullptr;
  auto changed = changed_within(loop);
  bool up = (condition->getOpcode() == clang::BO_LT || condition->getOpcode() == clang::BO_LE) &&
            named_variable(condition->getLHS()) == counter && !variables_in(condition->getRHS()).contains(counter);
  for (auto* variable : variables_in(condition->getRHS())) up &= !changed.contains(variable);
  if (!up || changed_within(loop->getBody()).contains(counter)) return nullptr;
  if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(loop->getInc()))
    return unary->isIncrementOp() && named_variable(unary->getSubExpr()) == counter ? counter : nullptr;
  auto* compound = llvm::dyn_cast<clang::CompoundAssignOperator>(loop->getInc());
  if (!compound || compound->getOpcode() != clang::BO_AddAssign || named_variable(compound->getLHS()) != counter)
    return nullptr;
  if (!compound->getRHS()->isEvaluatable(counter->getASTContext())) return nullptr;
  step = compound->getRHS();
  return counter;
}

/// Declared outside, but of one turn: every turn sets it before it reads it, and nobody reads it later.
bool Sharing::is_temporary(const clang::ForStmt* loop, const clang::VarDecl* variable) const {
  if (variable->getInit() || !variable->getType()->isArithmeticType()) return false;
  auto range = source_.span(loop);
  const clang::DeclRefExpr* first = nullptr;
  bool inside = range.has_value();
  for (auto* function : source_.functions())
    walk(function->getBody(), [&](const clang::Stmt* inner) {
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
      if (!reference || reference->getDecl() != variable) return inside;
      auto at = source_.offset(reference->getLocation());
      if (!at || *at < range->begin || *at >= range->end) inside = false;
      else if (!first) first = reference;
      return inside;
    });
  if (!inside || !first) return false;
  const clang::Stmt* set = source_.parent(first);
  if (auto* assignment = llvm::dyn_cast_or_null<clang::BinaryOperator>(set)) {
    if (assignment->getOpcode() != clang::BO_Assign || assignment->getLHS()->IgnoreParens() != first) return false;
  } else {
    // sincosf(x, &s, &c) sets both.
    auto* address = llvm::dyn_cast_or_null<clang::UnaryOperator>(set);
    auto* call = address && address->getOpcode() == clang::UO_AddrOf
                     ? llvm::dyn_cast_or_null<clang::CallExpr>(source_.parent(address))
                     : nullptr;
    if (!call || !llvm::StringRef(source_.spelled(call->getCallee())).ltrim('_').starts_with("sincos")) return false;
  }
  for (const clang::Stmt* up = set; up && up != loop; up = source_.parent(up))
    if (llvm::isa<clang::IfStmt, clang::SwitchStmt, clang::ConditionalOperator, clang::WhileStmt, clang::DoStmt>(up))
      return false;
  return true;
}

/// Nobody looks where the counter of a loop came to stand: each lane leaves it elsewhere.
bool Sharing::only_counts(const clang::VarDecl* counter) const {
  auto is_counter = [&](const clang::Stmt* statement) {
    auto* reference = llvm::dyn_cast_or_null<clang::DeclRefExpr>(statement);
    return reference && reference->getDecl() == counter;
  };
  auto sets = [&](const clang::ForStmt* loop) {
    auto* set = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getInit());
    auto* declared = llvm::dyn_cast_or_null<clang::DeclStmt>(loop->getInit());
    return (set && set->getOpcode() == clang::BO_Assign && is_counter(set->getLHS()->IgnoreParens()) &&
            !variables_in(set->getRHS()).contains(counter)) ||
           (declared && declared->isSingleDecl() && declared->getSingleDecl() == counter);
  };
  bool only = true;
  for (auto* function : source_.functions())
    walk(function->getBody(), [&](const clang::Stmt* inner) {
      if (auto* loop = llvm::dyn_cast<clang::ForStmt>(inner); loop && sets(loop)) return false;
      return only &= !is_counter(inner);
    });
  return only;
}

/// Every variable from outside that the loop changes is only ever gathered into.
bool Sharing::gathers(const clang::ForStmt* loop, const clang::VarDecl* counter,
                      std::map<std::string, Gathered>& found) const {
  std::set<const clang::VarDecl*> own;
  walk(loop, [&](const clang::Stmt* inner) {
    if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(inner))
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) own.insert(variable);
    return true;
  });
  own.insert(counter);
  std::set<const clang::VarDecl*> roots;
  for (auto* variable : changed_within(loop->getBody()))
    if (!own.contains(variable) && !is_temporary(loop, variable)) roots.insert(variable);
  std::map<const clang::VarDecl*, size_t> gathered_mentions, mentions;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner))
      if (auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl())) ++mentions[variable];
    auto* binary = llvm::dyn_cast<clang::BinaryOperator>(inner);
    auto* root = binary && binary->isAssignmentOp() ? root_of(binary->getLHS()) : nullptr;
    if (!root || !roots.contains(root) || !binary->getLHS()->getType()->isArithmeticType()) return true;
    std::string target = source_.spelled(binary->getLHS()), key = squeezed(target);
    Gathered gathered;
    gathered.root = root;
    size_t again = 0;
    // A whole number that something with a fraction is added to drops the fraction each time.
    const auto type = binary->getLHS()->getType();
    if (type->isBooleanType() || (type->isIntegerType() && !binary->getRHS()->isTypeDependent() &&
                                  !binary->getRHS()->IgnoreParenImpCasts()->getType()->isIntegerType()))
      return true;
    if (binary->getOpcode() == clang::BO_AddAssign || binary->getOpcode() == clang::BO_SubAssign) {
    } else if (binary->getOpcode() == clang::BO_Assign) {
      auto* value = binary->getRHS()->IgnoreParenImpCasts();
      if (auto* sum = llvm::dyn_cast<clang::BinaryOperator>(value);
          sum && sum->getOpcode() == clang::BO_Add && squeezed(source_.spelled(sum->getLHS())) == key) {
        again = 1;
      } else if (auto* call = llvm::dyn_cast<clang::CallExpr>(value);
                 call && call->getDirectCallee() && call->getNumArgs() == 2) {
        static const std::set<std::string> choices = {"max", "min", "fmaxf", "fminf", "fmax", "fmin"};
        gathered.how = Gathering::Choice;
        gathered.function = call->getDirectCallee()->getNameAsString();
        bool mine =
            squeezed(source_.spelled(call->getArg(0))) == key || squeezed(source_.spelled(call->getArg(1))) == key;
        // The library's, of one type: max(int, unsigned) compares as unsigned, and the program's own may not care for
        // the order.
        auto alike = [&](clang::QualType other) {
          return source_.context().hasSameUnqualifiedType(other.getNonReferenceType(), type);
        };
        mine &= alike(call->getType()) && alike(call->getArg(0)->IgnoreParenImpCasts()->getType()) &&
                alike(call->getArg(1)->IgnoreParenImpCasts()->getType()) &&
                !source_.context().getSourceManager().isWrittenInMainFile(call->getDirectCallee()->getLocation());
        if (!choices.contains(gathered.function) || !mine) return true;
        again = 1;
      } else {
        return true;
      }
    } else {
      return true;
    }
    auto [place, fresh] = found.emplace(key, gathered);
    if (key.empty() || (!fresh && (place->second.how != gathered.how || place->second.function != gathered.function)))
      return true;
    gathered_mentions[root] += 1 + again;
    return true;
  });
  if (found.empty()) return roots.empty();
  return std::all_of(roots.begin(), roots.end(), [&](auto* root) {
    return gathered_mentions[root] > 0 && gathered_mentions[root] == mentions[root];
  });
}

/// At `at`, the factor is not 0: a number, the block's size, or what something was found to be less than on the way
/// there, `if (i < n)`.
bool Sharing::is_some(const clang::Expr* factor, const clang::Stmt* at) const {
  factor = factor->IgnoreParenCasts();
  clang::Expr::EvalResult number;
  if (factor->isValueDependent()) return llvm::isa<clang::DeclRefExpr>(factor);  // A template's own constant.
  if (factor->EvaluateAsInt(number, source_.context())) return !number.Val.getInt().isZero();
  if (auto builtin = builtin_of(factor)) return builtin->first == "blockDim" || builtin->first == "gridDim";
  if (auto* product = llvm::dyn_cast<clang::BinaryOperator>(factor); product && product->getOpcode() == clang::BO_Mul)
    return is_some(product->getLHS(), at) && is_some(product->getRHS(), at);
  const std::string name = squeezed(source_.spelled(factor));  // `n`, `p.n`.
  if (name.empty() || !llvm::isa<clang::DeclRefExpr, clang::MemberExpr>(factor)) return false;
  auto exceeds = [&](const clang::Expr* condition, bool leaves) {
    return condition && std::ranges::any_of(parts_of_guard(condition, leaves), [&](auto* part) {
             auto* asks = llvm::dyn_cast<clang::BinaryOperator>(part->IgnoreParenImpCasts());
             if (!asks || !asks->isRelationalOp()) return false;
             const auto kind =
                 leaves ? clang::BinaryOperator::negateComparisonOp(asks->getOpcode()) : asks->getOpcode();
             const clang::Expr *less = kind == clang::BO_LT ? asks->getLHS() : asks->getRHS(),
                               *more = kind == clang::BO_LT ? asks->getRHS() : asks->getLHS();
             return (kind == clang::BO_LT || kind == clang::BO_GT) && named_variable(less) &&
                    squeezed(source_.spelled(more->IgnoreParenImpCasts())) == name;
           });
  };
  for (const clang::Stmt *up = source_.parent(at), *below = at; up; below = up, up = source_.parent(up)) {
    if (auto* loop = llvm::dyn_cast<clang::ForStmt>(up);
        loop && below == loop->getBody() && exceeds(loop->getCond(), false))
      return true;
    if (auto* loop = llvm::dyn_cast<clang::WhileStmt>(up); loop && exceeds(loop->getCond(), false)) return true;
    if (auto* branch = llvm::dyn_cast<clang::IfStmt>(up);
        branch && below == branch->getThen() && exceeds(branch->getCond(), false))
      return true;
    if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(up))
      for (auto* earlier : block->body()) {
        if (earlier == below) break;
        if (auto* guard = llvm::dyn_cast<clang::IfStmt>(earlier);
            guard && !guard->getElse() && only_returns(guard->getThen()) && exceeds(guard->getCond(), true))
          return true;
      }
  }
  return false;
}

/// Each turn has another value of it: the counter, moved or multiplied by what is the same in all turns; `j * m + k`
/// where k is the counter of a loop up to m.
bool Sharing::differs_by(const clang::Expr* index, const clang::VarDecl* counter,
                         const std::set<const clang::VarDecl*>& changed) const {
  auto* value = index->IgnoreParenImpCasts();
  while (auto* cast = llvm::dyn_cast<clang::ExplicitCastExpr>(value)) {
    auto& context = source_.context();
    auto type = cast->getType();
    if (type->isDependentType() || !type->isIntegerType() ||
        context.getTypeSize(type) < context.getTypeSize(counter->getType()))
      return false;
    value = cast->getSubExpr()->IgnoreParenImpCasts();
  }
  if (named_variable(value) == counter) return true;
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(value);
  if (!binary || !(binary->isAdditiveOp() || binary->getOpcode() == clang::BO_Mul)) return false;
  const clang::Expr *one = binary->getLHS(), *other = binary->getRHS();
  if (!variables_in(one).contains(counter)) std::swap(one, other);
  if (variables_in(other).contains(counter) || !differs_by(one, counter, changed)) return false;
  if (is_invariant(other, changed)) {
    return binary->isAdditiveOp() || is_some(other, index);
  }
  auto* product = llvm::dyn_cast<clang::BinaryOperator>(one->IgnoreParenImpCasts());
  auto* inner = named_variable(other);
  if (binary->getOpcode() != clang::BO_Add || !product || product->getOpcode() != clang::BO_Mul || !inner) return false;
  const clang::Expr* width = named_variable(product->getLHS()) == counter   ? product->getRHS()
                             : named_variable(product->getRHS()) == counter ? product->getLHS()
                                                                            : nullptr;
  for (const clang::Stmt* up = other; width && up; up = source_.parent(up)) {
    auto* loop = llvm::dyn_cast<clang::ForStmt>(up);
    const clang::Expr *first = nullptr, *step = nullptr;
    if (!loop || counter_of(loop, first, step) != inner) continue;
    auto* condition = llvm::cast<clang::BinaryOperator>(loop->getCond());
    clang::Expr::EvalResult from;
    return !first->isValueDependent() && first->EvaluateAsInt(from, source_.context()) &&
           !from.Val.getInt().isNegative() && condition->getOpcode() == clang::BO_LT && is_invariant(width, changed) &&
           !source_.spelled(width).empty() &&
           squeezed(source_.spelled(width)) == squeezed(source_.spelled(condition->getRHS()));
  }
  return false;
}

/// Each turn writes elements of its own, and reads of what it writes no others.
bool Sharing::writes_each_once(const clang::ForStmt* loop, const clang::VarDecl* counter) {
  std::map<const clang::VarDecl*, std::set<std::string>> touched;
  std::set<const clang::VarDecl*> written;
  auto changed = changed_within(loop);
  bool good = true;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    if (auto* call = llvm::dyn_cast<clang::CallExpr>(inner); call && !llvm::isa<clang::CXXOperatorCallExpr>(call))
      good &= !writes_memory(call);
    if (auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(inner))
      if (auto* base = named_variable(subscript->getBase()))
        touched[base].insert(squeezed(source_.spelled(subscript->getIdx())));
    auto* set = assigned_by(inner);
    if (!set || root_of(set)) return good;
    auto* target = llvm::dyn_cast<clang::ArraySubscriptExpr>(set->IgnoreParens());
    auto* base = target ? named_variable(target->getBase()) : nullptr;
    if (!base || !differs_by(target->getIdx(), counter, changed)) good = false;
    else written.insert(base);
    return good;
  });
  for (auto* base : written) {
    good &= touched[base].size() == 1 && !touched[base].contains("");
    if (!touches_other_memory(loop, base)) continue;
    good &= facts_.alone(source_, base, loop);
    apart_.insert(base->getNameAsString());
  }
  return good;
}

bool Sharing::share_loop(const clang::ForStmt* loop) {
  const clang::Expr *first = nullptr, *step = nullptr;
  auto* counter = counter_of(loop, first, step);
  auto* outer = source_.parent(loop);
  if (!counter) return false;
  auto begin = source_.span(loop), start = source_.span(first), increment = source_.span(loop->getInc());
  auto end = source_.statement_end(loop);
  if (!only_counts(counter) || !begin || !start || !increment || !end || !outer ||
      !llvm::isa<clang::CompoundStmt>(outer) || !source_.first_on_line(begin->begin))
    return false;
  bool leaves = false;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    leaves |= llvm::isa<clang::ReturnStmt, clang::GotoStmt, clang::BreakStmt, clang::AsmStmt>(inner);
    return !leaves;
  });
  if (leaves) return false;
  std::map<std::string, Gathered> gathered;
  bool stores = writes_memory(loop->getBody());
  if (!gathers(loop, counter, gathered) || (gathered.empty() && !stores) ||
      (stores && !writes_each_once(loop, counter)))
    return false;

  std::string indent = source_.indentation(begin->begin), before, after;
  for (auto& [target, how] : gathered) {
    std::string shuffled = "__shfl_xor_sync(" + mask_ + ", " + target + ", " + hop_ + ")";
    std::string hops = "\n" + indent + hops_ + target;
    if (how.how == Gathering::Choice) {
      after += hops + " = " + how.function + "(" + target + ", " + shuffled + ");";
      continue;
    }
    std::string stem = target;
    std::replace(stem.begin(), stem.end(), '.', '_');
    std::string kept = source_.fresh_name(stem + "_before");
    for (int number = 2; !kept_.insert(kept).second; ++number)
      kept = source_.fresh_name(stem + "_before" + std::to_string(number));
    before += "auto " + kept + " = " + target + ";\n" + indent + target + " = 0;\n" + indent;
    after += hops + " += " + shuffled + ";\n" + indent + target + " = " + kept + " + " + target + ";";
  }
  if (stores) before += "__syncwarp(" + mask_ + ");\n" + indent, after += "\n" + indent + "__syncwarp(" + mask_ + ");";
  std::string stride = step ? "(" + source_.spelled(step) + ") * " : "";
  // Before a pragma that belongs to the loop.
  size_t place = begin->begin;
  edits_.push_back({place, place, before});
  const std::string from = source_.spelled(first);
  const bool plain = llvm::isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::MemberExpr, clang::ArraySubscriptExpr>(
      first->IgnoreImpCasts());
  edits_.push_back({start->begin, start->end,
                    (from == "0" ? ""
                     : plain     ? from + " + "
                                 : "(" + from + ") + ") +
                        stride + lane_});
  edits_.push_back({increment->begin, increment->end, counter->getNameAsString() + " += " + stride + count_});
  edits_.push_back({*end, *end, after});
  ++loops_;
  return true;
}

bool Sharing::store_once(const clang::Stmt* statement) {
  auto range = source_.span(statement);
  auto end = source_.statement_end(statement);
  auto* outer = source_.parent(statement);
  if (!range || !end || !outer || !llvm::isa<clang::CompoundStmt, clang::IfStmt>(outer)) return false;
  // No lane reads later what is not yet there, and none is still reading what is overwritten.
  edits_.push_back({range->begin, range->begin, "{ __syncwarp(" + mask_ + "); if (" + lane_ + " == 0) "});
  edits_.push_back({*end, *end, " __syncwarp(" + mask_ + "); }"});
  return true;
}

bool Sharing::take_list(const std::vector<const clang::Stmt*>& statements) {
  return std::all_of(statements.begin(), statements.end(), [&](auto* statement) { return take(statement); });
}

bool Sharing::take(const clang::Stmt* statement) {
  if (llvm::isa<clang::NullStmt>(statement)) return true;
  if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(statement))
    return take_list({block->body_begin(), block->body_end()});
  if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) return share_loop(loop) || take(loop->getBody());
  if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement))
    return !writes_memory(branch->getCond()) && take(branch->getThen()) &&
           (!branch->getElse() || take(branch->getElse()));
  if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement)) {
    for (auto* declared : declaration->decls()) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
      if (!variable || !variable->hasLocalStorage()) return false;
    }
    return !writes_memory(statement);
  }
  if (llvm::isa<clang::Expr>(statement)) {
    if (!writes_memory(statement)) return true;
    // What one lane stores, no other may have to remember: `out[count++] = x`.
    auto changed = changed_within(statement);
    return std::none_of(changed.begin(), changed.end(), [](auto* variable) { return variable->hasLocalStorage(); }) &&
           store_once(statement);
  }
  if (llvm::isa<clang::ReturnStmt, clang::ContinueStmt, clang::BreakStmt>(statement)) return true;
  return !writes_memory(statement) && !llvm::isa<clang::GotoStmt, clang::LabelStmt, clang::AsmStmt>(statement);
}

/// The row's number in the place of the thread's, which is `index`, some spelling of blockIdx.x * blockDim.x +
/// threadIdx.x. Not by a quotient of that: there are more threads now, and for a large part of the rows they would no
/// longer fit an int. Empty where the spelling is another one.
std::string row_text(std::string index, int64_t lanes, bool columns) {
  auto words = [&](const std::string& word) { return whole_words(index, word); };
  auto replace = [&](const std::string& word, const std::string& by) {
    index.replace(words(word)[0], word.size(), by);
  };
  const std::string count = std::to_string(lanes), items = std::to_string(kWarp / lanes);
  // Casts aside, what else is named there: blockDim.x, or the macro or constant that the launch uses too.
  static const std::regex kCast(R"(static_cast<[\w:\s]+>|\([\w:\s]+\)(?=\s*[\w(]))"), kName(R"([A-Za-z_][\w.:]*)");
  const std::string plain = std::regex_replace(index, kCast, " ");
  std::string width;
  for (std::sregex_iterator name(plain.begin(), plain.end(), kName), end; name != end; ++name)
    if (const std::string word = name->str(); word != "blockIdx.x" && word != "threadIdx.x")
      width = width.empty() || width == word ? word : "?";
  if (width.empty() || words(width).size() != 1 || words("threadIdx.x").size() != 1) return {};
  replace(width, "(" + width + " / " + count + ")");
  replace("threadIdx.x",
          columns ? "(threadIdx.x / 32 * " + items + " + threadIdx.x % " + items + ")" : "threadIdx.x / " + count);
  return index;
}

/// The block's number is multiplied by blockDim.x, or by a constant that is what the block was: not by a step of the
/// program's.
bool counts_by_block(const KernelSource& source, const RuleContext& facts, const clang::Expr* index) {
  bool good = true;
  walk(index, [&](const clang::Stmt* statement) {
    if (builtin_of(statement)) return false;
    auto* value = llvm::dyn_cast<clang::Expr>(statement);
    if (!value || !llvm::isa<clang::DeclRefExpr, clang::MemberExpr, clang::IntegerLiteral>(value)) return good;
    if (value->isValueDependent()) return false;  // The template's own constant.
    clang::Expr::EvalResult width;
    good &= value->EvaluateAsInt(width, source.context()) && std::ranges::all_of(facts.geometries, [&](auto& geometry) {
              return width.Val.getInt().getExtValue() == geometry.block.x;
            });
    return false;
  });
  return good;
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  auto* body = kernel ? llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody()) : nullptr;
  if (!body || facts.hip || !kernel->getReturnType()->isVoidType() || has_barrier(body) ||
      source.spelled(body).find("__shared__") != std::string::npos)
    return {};
  int64_t lanes = values.at("lanes");
  bool columns = values.at("interleaved") != 0;
  if (columns && lanes == kWarp) return {};  // Then there is but one item, and no neighbour of it.
  if (facts.whole_warps == false) return {};
  for (auto& geometry : facts.geometries) {
    if (geometry.block.x % kWarp != 0 || geometry.grid.x * static_cast<uint64_t>(lanes) > kMostBlocks) return {};
  }
  auto index = global_index(source, kernel, 0, true);
  if (!index || index->block_alone || facts.geometries.empty()) return {};
  if (!counts_by_block(source, facts, index->value)) return {};
  auto declared = source.span(index->statement), init = source.span(index->value);
  auto end = source.statement_end(index->statement);
  if (!declared || !init || !end) return {};
  Sharing sharing(source, facts, lanes, columns);
  bool after = false;
  for (auto* statement : body->body()) {
    if (after && (changed_within(statement).contains(index->variable) || !sharing.take(statement))) return {};
    if (!after && statement != index->statement && !llvm::isa<clang::DeclStmt>(statement)) return {};
    after |= statement == index->statement;
  }
  if (index->loop && !sharing.take(index->loop->getBody())) return {};
  if (sharing.loops() == 0) return {};
  Opportunity found;
  found.place = std::to_string(sharing.loops()) + (sharing.loops() == 1 ? " loop" : " loops");
  // Lanes are told by the thread's number, and rows by its place in the grid: they agree in whole warps.
  if (!facts.whole_warps) found.premises.push_back(facts.premise("blocks are whole warps along x"));
  if (!sharing.apart().empty()) found.premises.push_back(facts.no_overlap(sharing.apart()));
  found.grid[0].multiply = lanes;
  found.edits = sharing.edits();
  std::string indent = source.indentation(declared->begin);
  std::string row = row_text(source.spelled(index->value), lanes, columns), count = std::to_string(lanes),
              items = std::to_string(kWarp / lanes);
  if (row.empty()) return {};
  found.edits.push_back({init->begin, init->end, row});
  std::string lane = "const int " + sharing.lane() + " = threadIdx.x % " + (columns ? "32 / " + items : count) + ";";
  if (index->loop) found.edits.push_back({declared->begin, declared->begin, lane + "\n" + indent});
  else found.edits.push_back({*end, *end, "\n" + indent + lane});
  // The groups are as many as the threads were.
  for (auto& grid : index->grid) found.edits.push_back({grid.begin, grid.end, "(gridDim.x / " + count + ")"});
  return {found};
}

}  // namespace

const Rule kWarpReduction = {
    "warp_reduction",
    "let the lanes of a warp walk along one row together instead of each along its own",
    "CUDA; blocks whose rows are whole warps; loops that sum up, choose, or write an element a turn",
    {{"lanes", {32, 8, 4}}, {"interleaved", {0, 1}}},
    find,
    {Bound::Memory, Bound::Latency}};

}  // namespace kernelift
