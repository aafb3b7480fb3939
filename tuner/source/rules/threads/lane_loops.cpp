// See lane_loops.h.
#include "tuner/source/rules/threads/lane_loops.h"

#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>

#include "tuner/source/rules/threads/block_index.h"

namespace kernelift::tuner {
namespace {

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

/// Whether a call does more than compute a value: `if (s > most) count_overflow();`. All lanes would execute it.
bool has_side_effects(const clang::CallExpr* call, int depth) {
  auto* callee = call->getDirectCallee();
  auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(callee);
  if (method && (method->isTrivial() || method->isDefaulted())) return false;
  const std::string name = callee && callee->getIdentifier() ? callee->getName().str() : "";
  if (name.starts_with("atomic") || name.find("printf") != name.npos) return true;
  auto* definition = visible_callee(call);
  const bool own =
      definition && definition->getASTContext().getSourceManager().isWrittenInMainFile(definition->getLocation());
  if (!own) {  // A library function of numbers, or one that returns results through pointers: sincosf(x, &s, &c).
    const bool returns_by_pointer = std::any_of(call->arg_begin(), call->arg_end(),
                                                [](auto* argument) { return argument->getType()->isPointerType(); });
    return !callee || callee->getASTContext().getSourceManager().isWrittenInMainFile(callee->getLocation()) ||
           (call->getType()->isVoidType() && !returns_by_pointer);
  }
  if (depth == 0) return true;
  bool does = false;
  walk(definition->getBody(), [&](const clang::Stmt* inner) {
    does |= llvm::isa<clang::AsmStmt, clang::LambdaExpr>(inner);
    if (auto* target = assigned_by(inner)) {
      auto* variable = variable_of(target);
      auto* member = llvm::dyn_cast<clang::MemberExpr>(target->IgnoreParens());
      const bool of_object = member && llvm::isa<clang::CXXThisExpr>(member->getBase()->IgnoreParenImpCasts());
      // Writes through pointer parameters are checked at the call, by the argument.
      auto* through = llvm::dyn_cast<clang::ArraySubscriptExpr>(target->IgnoreParens());
      auto* star = llvm::dyn_cast<clang::UnaryOperator>(target->IgnoreParens());
      auto* pointer = through                                        ? named_variable(through->getBase())
                      : star && star->getOpcode() == clang::UO_Deref ? named_variable(star->getSubExpr())
                                                                     : nullptr;
      const bool given = pointer && llvm::isa<clang::ParmVarDecl>(pointer);
      does |= !of_object && !given && !(variable && variable->hasLocalStorage());
    }
    if (auto* more = llvm::dyn_cast<clang::CallExpr>(inner); more && !assigned_by(more))
      does |= has_side_effects(more, depth - 1);
    return !does;
  });
  return does;
}

}  // namespace

bool LaneLoops::writes_memory(const clang::Stmt* statement) const {
  constexpr int kDepth = 4;  // Of nested calls.
  bool writes = false;
  walk(statement, [&](const clang::Stmt* inner) {
    auto* target = assigned_by(inner);
    if (auto* call = llvm::dyn_cast<clang::CallExpr>(inner); call && !target) writes |= has_side_effects(call, kDepth);
    if (auto* call = llvm::dyn_cast<clang::CallExpr>(inner); call && !target)
      for (auto* argument : call->arguments()) {
        auto* address = llvm::dyn_cast<clang::UnaryOperator>(argument->IgnoreParenImpCasts());
        bool own = address && address->getOpcode() == clang::UO_AddrOf && root_of(address->getSubExpr());
        writes |=
            !own && argument->getType()->isPointerType() && !argument->getType()->getPointeeType().isConstQualified();
      }
    if (!target) return !writes;
    // Elements of a local array are the thread's own, too.
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

std::optional<CountedLoop> CountedLoop::of(const clang::ForStmt* loop, bool any_step) {
  const clang::VarDecl* counter = nullptr;
  const clang::Expr* first = nullptr;
  if (auto* init = llvm::dyn_cast_or_null<clang::DeclStmt>(loop->getInit()); init && init->isSingleDecl()) {
    counter = llvm::dyn_cast<clang::VarDecl>(init->getSingleDecl());
    first = counter ? counter->getInit() : nullptr;
  } else if (auto* set = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getInit());
             set && set->getOpcode() == clang::BO_Assign) {
    counter = named_variable(set->getLHS()), first = set->getRHS();
  }
  auto* condition = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getCond());
  if (!counter || !first || !condition || !counter->getType()->isIntegerType() || !loop->getInc()) return std::nullopt;
  // A lane's step is larger: a counter of 8 or 16 bits could overflow.
  if (!counter->getType()->isDependentType() && counter->getASTContext().getTypeSize(counter->getType()) < 32)
    return std::nullopt;
  auto changed = changed_within(loop);
  bool up = (condition->getOpcode() == clang::BO_LT || condition->getOpcode() == clang::BO_LE) &&
            named_variable(condition->getLHS()) == counter && !variables_in(condition->getRHS()).contains(counter);
  for (auto* variable : variables_in(condition->getRHS())) up &= !changed.contains(variable);
  if (!up || changed_within(loop->getBody()).contains(counter)) return std::nullopt;
  if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(loop->getInc()))
    return unary->isIncrementOp() && named_variable(unary->getSubExpr()) == counter
               ? std::optional(CountedLoop{counter, first, nullptr})
               : std::nullopt;
  auto* compound = llvm::dyn_cast<clang::CompoundAssignOperator>(loop->getInc());
  if (!compound || compound->getOpcode() != clang::BO_AddAssign || named_variable(compound->getLHS()) != counter)
    return std::nullopt;
  auto* step = compound->getRHS();
  const bool number = !step->isValueDependent() && step->isEvaluatable(counter->getASTContext());
  if (!number && !(any_step && step->getType()->isIntegerType() && is_invariant(step, changed))) return std::nullopt;
  return CountedLoop{counter, first, compound->getRHS()};
}

bool is_zero(const clang::Expr* value) {
  value = value->IgnoreParenCasts();
  if (auto* list = llvm::dyn_cast<clang::InitListExpr>(value)) return std::ranges::all_of(list->inits(), is_zero);
  if (llvm::isa<clang::ImplicitValueInitExpr>(value)) return true;
  if (auto* number = llvm::dyn_cast<clang::IntegerLiteral>(value)) return number->getValue() == 0;
  auto* number = llvm::dyn_cast<clang::FloatingLiteral>(value);
  return number && number->getValue().isPosZero();
}

bool is_zero_before(const KernelSource& source, const clang::ForStmt* loop, const clang::VarDecl* variable) {
  auto* block = llvm::dyn_cast_or_null<clang::CompoundStmt>(source.parent(loop));
  if (!block) return false;
  auto mentions = [&](const clang::Stmt* statement) {
    bool found = false;
    walk(statement, [&](const clang::Stmt* inner) {
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
      found |= reference && reference->getDecl() == variable;
      return !found;
    });
    return found;
  };
  auto is_zero_declaration = [&](const clang::DeclStmt* declaration) {
    return declaration->isSingleDecl() && variable->getInit() && is_zero(variable->getInit());
  };
  bool zero = false;
  for (auto* statement : block->body()) {
    if (statement == loop) return zero;
    auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
    if (declaration && std::ranges::count(declaration->decls(), variable)) {
      zero = is_zero_declaration(declaration);
    } else if (mentions(statement)) {
      auto* set = llvm::dyn_cast<clang::BinaryOperator>(statement);
      zero = set && set->getOpcode() == clang::BO_Assign && named_variable(set->getLHS()) == variable &&
             is_zero(set->getRHS());
    }
  }
  return false;
}

std::optional<std::vector<TextEdit>> share_iterations(const KernelSource& source, const clang::ForStmt* loop,
                                                      const CountedLoop& counted, const std::string& number,
                                                      const std::string& count) {
  auto start = source.span(counted.first), increment = source.span(loop->getInc());
  const std::string first = source.spelled(counted.first);
  if (!start || !increment || first.empty()) return std::nullopt;
  auto factor = [&](const clang::Expr* value) {
    const bool plain =
        llvm::isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::MemberExpr, clang::ArraySubscriptExpr>(
            value->IgnoreImpCasts()) ||
        builtin_of(value->IgnoreImpCasts());
    return plain ? source.spelled(value) : "(" + source.spelled(value) + ")";
  };
  const std::string stride = counted.step ? factor(counted.step) + " * " : "",
                    before = first == "0" ? "" : factor(counted.first) + " + ";
  return {{{start->begin, start->end, before + stride + number},
           {increment->begin, increment->end, counted.counter->getNameAsString() + " += " + stride + count}}};
}

size_t mentions_of_sum(const KernelSource& source, const clang::BinaryOperator* assignment) {
  if (assignment->getOpcode() == clang::BO_AddAssign || assignment->getOpcode() == clang::BO_SubAssign) return 1;
  if (assignment->getOpcode() != clang::BO_Assign) return 0;
  auto* sum = llvm::dyn_cast<clang::BinaryOperator>(assignment->getRHS()->IgnoreParenImpCasts());
  const bool adds = sum && sum->getOpcode() == clang::BO_Add &&
                    squeezed(source.spelled(sum->getLHS())) == squeezed(source.spelled(assignment->getLHS()));
  return adds ? 2 : 0;
}

std::optional<int64_t> constant_value(const KernelSource& source, const clang::Expr* value) {
  clang::Expr::EvalResult result;
  if (value->isValueDependent() || !value->EvaluateAsInt(result, source.context())) return std::nullopt;
  return result.Val.getInt().getExtValue();
}

bool has_few_iterations(const KernelSource& source, const clang::ForStmt* loop, int64_t few) {
  const CountedLoop counted = *CountedLoop::of(loop, true);
  auto constant = [&](const clang::Expr* value) { return constant_value(source, value); };
  auto first = constant(counted.first), end = constant(llvm::cast<clang::BinaryOperator>(loop->getCond())->getRHS()),
       step = counted.step ? constant(counted.step) : 1;
  return first && end && step && *step > 0 && (*end - *first) / *step < few;
}

/// Declared outside the loop, but local to an iteration: every iteration sets it before reading it, and it is not read
/// later.
bool LaneLoops::is_temporary(const clang::ForStmt* loop, const clang::VarDecl* variable) const {
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
    // sincosf(x, &s, &c) sets s and c.
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

bool LaneLoops::is_only_counter(const clang::VarDecl* counter) const {
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

/// Every outer variable that the loop changes is only reduced into.
bool LaneLoops::only_reduces(const clang::ForStmt* loop, const clang::VarDecl* counter,
                             std::map<std::string, Reduced>& found) const {
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
  std::map<const clang::VarDecl*, size_t> reducing_mentions, mentions;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner))
      if (auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl())) ++mentions[variable];
    auto* binary = llvm::dyn_cast<clang::BinaryOperator>(inner);
    auto* root = binary && binary->isAssignmentOp() ? root_of(binary->getLHS()) : nullptr;
    if (!root || !roots.contains(root) || !binary->getLHS()->getType()->isArithmeticType()) return true;
    std::string target = source_.spelled(binary->getLHS()), key = squeezed(target);
    Reduced reduced;
    reduced.root = root;
    size_t extra = 0;
    // Adding a floating-point value to an integer drops the fraction in every iteration.
    const auto type = binary->getLHS()->getType();
    if (type->isBooleanType() || (type->isIntegerType() && !binary->getRHS()->isTypeDependent() &&
                                  !binary->getRHS()->IgnoreParenImpCasts()->getType()->isIntegerType()))
      return true;
    if (const size_t mentioned = mentions_of_sum(source_, binary)) {
      extra = mentioned - 1;
    } else if (binary->getOpcode() == clang::BO_Assign) {
      auto* value = binary->getRHS()->IgnoreParenImpCasts();
      if (auto* call = llvm::dyn_cast<clang::CallExpr>(value);
          call && call->getDirectCallee() && call->getNumArgs() == 2) {
        static const std::set<std::string> extrema = {"max", "min", "fmaxf", "fminf", "fmax", "fmin"};
        reduced.how = Reduced::How::Extremum;
        reduced.function = call->getDirectCallee()->getNameAsString();
        bool mine =
            squeezed(source_.spelled(call->getArg(0))) == key || squeezed(source_.spelled(call->getArg(1))) == key;
        // Library functions of a single type only: max(int, unsigned) compares as unsigned, and the program's own
        // function may not be associative.
        auto has_type = [&](clang::QualType other) {
          return source_.context().hasSameUnqualifiedType(other.getNonReferenceType(), type);
        };
        mine &= has_type(call->getType()) && has_type(call->getArg(0)->IgnoreParenImpCasts()->getType()) &&
                has_type(call->getArg(1)->IgnoreParenImpCasts()->getType()) &&
                !source_.context().getSourceManager().isWrittenInMainFile(call->getDirectCallee()->getLocation());
        if (!extrema.contains(reduced.function) || !mine) return true;
        extra = 1;
      } else {
        return true;
      }
    } else {
      return true;
    }
    auto [place, fresh] = found.emplace(key, reduced);
    if (key.empty() || (!fresh && (place->second.how != reduced.how || place->second.function != reduced.function)))
      return true;
    reducing_mentions[root] += 1 + extra;
    return true;
  });
  if (found.empty()) return roots.empty();
  return std::all_of(roots.begin(), roots.end(), [&](auto* root) {
    return reducing_mentions[root] > 0 && reducing_mentions[root] == mentions[root];
  });
}

/// The factor is not 0 at the statement `at`: it is a number, a launch dimension, or the upper bound of an enclosing
/// condition (`if (i < n)`).
bool LaneLoops::is_nonzero(const clang::Expr* factor, const clang::Stmt* at) const {
  factor = factor->IgnoreParenCasts();
  clang::Expr::EvalResult number;
  if (factor->isValueDependent()) return llvm::isa<clang::DeclRefExpr>(factor);  // A template parameter.
  if (factor->EvaluateAsInt(number, source_.context())) return !number.Val.getInt().isZero();
  if (auto builtin = builtin_of(factor)) return builtin->first == "blockDim" || builtin->first == "gridDim";
  if (auto* product = llvm::dyn_cast<clang::BinaryOperator>(factor); product && product->getOpcode() == clang::BO_Mul)
    return is_nonzero(product->getLHS(), at) && is_nonzero(product->getRHS(), at);
  const std::string name = squeezed(source_.spelled(factor));  // "n", "p.n".
  if (name.empty() || !llvm::isa<clang::DeclRefExpr, clang::MemberExpr>(factor)) return false;
  auto exceeds = [&](const clang::Expr* condition, bool leaves) {
    return condition && std::ranges::any_of(parts_of_guard(condition, leaves), [&](auto* part) {
             auto* comparison = llvm::dyn_cast<clang::BinaryOperator>(part->IgnoreParenImpCasts());
             if (!comparison || !comparison->isRelationalOp()) return false;
             const auto kind =
                 leaves ? clang::BinaryOperator::negateComparisonOp(comparison->getOpcode()) : comparison->getOpcode();
             const clang::Expr *less = kind == clang::BO_LT ? comparison->getLHS() : comparison->getRHS(),
                               *more = kind == clang::BO_LT ? comparison->getRHS() : comparison->getLHS();
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

/// Different iterations have different values of the index: it is the counter, plus or times an invariant; or `j * m +
/// k` where k counts from 0 up to m.
bool LaneLoops::is_injective(const clang::Expr* index, const clang::VarDecl* counter,
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
  if (variables_in(other).contains(counter) || !is_injective(one, counter, changed)) return false;
  if (is_invariant(other, changed)) {
    return binary->isAdditiveOp() || is_nonzero(other, index);
  }
  auto* product = llvm::dyn_cast<clang::BinaryOperator>(one->IgnoreParenImpCasts());
  auto* inner = named_variable(other);
  if (binary->getOpcode() != clang::BO_Add || !product || product->getOpcode() != clang::BO_Mul || !inner) return false;
  const clang::Expr* width = named_variable(product->getLHS()) == counter   ? product->getRHS()
                             : named_variable(product->getRHS()) == counter ? product->getLHS()
                                                                            : nullptr;
  for (const clang::Stmt* up = other; width && up; up = source_.parent(up)) {
    auto* loop = llvm::dyn_cast<clang::ForStmt>(up);
    auto counted = loop ? CountedLoop::of(loop) : std::nullopt;
    if (!counted || counted->counter != inner) continue;
    auto* condition = llvm::cast<clang::BinaryOperator>(loop->getCond());
    clang::Expr::EvalResult from;
    return !counted->first->isValueDependent() && counted->first->EvaluateAsInt(from, source_.context()) &&
           !from.Val.getInt().isNegative() && condition->getOpcode() == clang::BO_LT && is_invariant(width, changed) &&
           !source_.spelled(width).empty() &&
           squeezed(source_.spelled(width)) == squeezed(source_.spelled(condition->getRHS()));
  }
  return false;
}

/// Every iteration writes elements of its own, and reads no others of the arrays that the loop writes.
bool LaneLoops::writes_own_elements(const clang::ForStmt* loop, const clang::VarDecl* counter) {
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
    if (!base || !is_injective(target->getIdx(), counter, changed)) good = false;
    else written.insert(base);
    return good;
  });
  for (auto* base : written) {
    good &= touched[base].size() == 1 && !touched[base].contains("");
    if (!touches_other_memory(loop, base)) continue;
    good &= facts_.is_unaliased(source_, base, loop);
    unaliased_.insert(base->getNameAsString());
  }
  return good;
}

static bool leaves_loop(const clang::ForStmt* loop) {
  bool leaves = false;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    leaves |= llvm::isa<clang::ReturnStmt, clang::GotoStmt, clang::BreakStmt, clang::AsmStmt>(inner);
    return !leaves;
  });
  return leaves;
}

std::optional<std::map<std::string, Reduced>> LaneLoops::reduced_variables(const clang::ForStmt* loop,
                                                                           const clang::VarDecl* counter) const {
  std::map<std::string, Reduced> found;
  if (leaves_loop(loop) || !is_only_counter(counter) || !only_reduces(loop, counter, found)) return std::nullopt;
  return found;
}

bool LaneLoops::is_parallel(const clang::ForStmt* loop, const clang::VarDecl* counter) const {
  auto found = reduced_variables(loop, counter);
  return found && found->empty();
}

std::optional<std::map<std::string, Reduced>> LaneLoops::reductions(const clang::ForStmt* loop,
                                                                    const clang::VarDecl* counter) {
  auto found = reduced_variables(loop, counter);
  const bool stores = writes_memory(loop->getBody());
  if (!found || (found->empty() && !stores) || (stores && !writes_own_elements(loop, counter))) return std::nullopt;
  return found;
}

}  // namespace kernelift::tuner
