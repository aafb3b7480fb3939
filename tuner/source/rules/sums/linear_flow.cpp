// See linear_flow.h.
#include "tuner/source/rules/sums/linear_flow.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <map>

#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {
namespace {

using Variables = std::set<const clang::VarDecl*>;

constexpr int kDepth = 3;  ///< Of nested calls.

/// Of a value, in the sums.
enum class Degree { Constant, Zero, Linear, Other };

std::string callee_name(const clang::CallExpr* call) {
  auto* callee = call->getDirectCallee();
  return callee && callee->getIdentifier() ? callee->getName().str() : "";
}

/// `&x`: x.
const clang::Expr* object_at(const clang::Expr* address) {
  auto* unary = llvm::dyn_cast<clang::UnaryOperator>(address->IgnoreParenImpCasts());
  return unary && unary->getOpcode() == clang::UO_AddrOf ? unary->getSubExpr()->IgnoreParens() : nullptr;
}

class Flow {
 public:
  Flow(const KernelSource& source, const clang::FunctionDecl* kernel, const SumLoops& loops)
      : source_(source), kernel_(kernel), loops_(loops) {
    for (auto& [loop, sums] : loops) linear_.insert(sums.begin(), sums.end());
  }

  std::optional<LinearFlow> run();

 private:
  void fails() { good_ = false; }
  void find_beginnings();
  bool mentions(const clang::Stmt* root) const;
  const clang::VarDecl* of_block(const clang::Expr* lvalue) const;
  const clang::VarDecl* memory_of(const clang::Expr* lvalue) const;

  Degree degree(const clang::Expr* value);
  Degree sum_of(Degree one, Degree other) const;
  Degree of_binary(const clang::BinaryOperator* binary);
  Degree of_assignment(const clang::BinaryOperator* assignment);
  Degree of_memory(const clang::BinaryOperator* assignment);
  Degree of_call(const clang::CallExpr* call);
  Degree of_atomic(const clang::CallExpr* call);
  Degree of_function(const clang::CallExpr* call, const clang::FunctionDecl* callee);
  void take(const clang::Stmt* statement);
  void take_declaration(const clang::DeclStmt* declaration);
  bool adds_apart() const;

  const KernelSource& source_;
  const clang::FunctionDecl* kernel_;
  const SumLoops& loops_;
  Variables linear_;                                            ///< Variables and shared arrays.
  std::map<const clang::VarDecl*, const clang::Expr*> begins_;  ///< Sums that begin with an element of memory.
  std::set<const clang::FunctionDecl*> functions_;              ///< That return something linear.
  LinearFlow found_;
  int depth_ = 0;
  bool good_ = true;
};

bool Flow::mentions(const clang::Stmt* root) const {
  bool found = false;
  walk(root, [&](const clang::Stmt* inner) {
    if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner))
      found |= linear_.contains(llvm::dyn_cast<clang::VarDecl>(reference->getDecl()));
    auto* call = llvm::dyn_cast<clang::CallExpr>(inner);
    auto* callee = call ? visible_callee(call) : nullptr;
    return !(found |= callee && functions_.contains(callee));
  });
  return found;
}

/// The variable of the thread, or in shared memory, that the object is or is an element of.
const clang::VarDecl* Flow::of_block(const clang::Expr* lvalue) const {
  auto* variable = variable_of(lvalue);
  if (!variable || variable->getType()->isReferenceType()) return nullptr;
  return variable->hasLocalStorage() || variable->hasAttr<clang::CUDASharedAttr>() ? variable : nullptr;
}

/// `c` of c[i], *c and module variables c; nullptr where that is no plain name.
const clang::VarDecl* Flow::memory_of(const clang::Expr* lvalue) const {
  lvalue = lvalue->IgnoreParens();
  const clang::VarDecl* variable = variable_of(lvalue);
  if (auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(lvalue); !variable && element)
    variable = named_variable(element->getBase());
  if (auto* star = llvm::dyn_cast<clang::UnaryOperator>(lvalue);
      !variable && star && star->getOpcode() == clang::UO_Deref)
    variable = named_variable(star->getSubExpr());
  if (!variable || variable->getType()->isReferenceType()) return nullptr;
  const bool parameter = llvm::isa<clang::ParmVarDecl>(variable) && variable->getDeclContext() == kernel_;
  const bool of_module = !variable->hasLocalStorage() && !variable->isStaticLocal() &&
                         !variable->hasAttr<clang::CUDASharedAttr>() && !variable->getType()->isPointerType();
  return (parameter && variable->getType()->isPointerType()) || of_module ? variable : nullptr;
}

/// `float s = c[i]`, where c[i] is the same element later, and s is used once outside of the loops: to set it.
void Flow::find_beginnings() {
  Variables changed;
  walk(kernel_->getBody(), [&](const clang::Stmt* inner) {
    if (llvm::isa<clang::BinaryOperator, clang::UnaryOperator, clang::CallExpr>(inner))
      changed.merge(changed_within(inner));
    return true;
  });
  for (auto* sum : Variables(linear_)) {
    auto* init = sum->getInit() ? sum->getInit()->IgnoreParenCasts() : nullptr;
    auto* element = llvm::dyn_cast_or_null<clang::ArraySubscriptExpr>(init);
    if (!element || !memory_of(element) || !sum->getType()->isArithmeticType() ||
        !is_invariant(element->getIdx(), changed))
      continue;
    size_t uses = 0;
    walk(kernel_->getBody(), [&](const clang::Stmt* inner) {
      auto* loop = llvm::dyn_cast<clang::ForStmt>(inner);
      if (loop && loops_.contains(loop)) return false;
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
      uses += reference && reference->getDecl() == sum;
      return true;
    });
    if (uses == 1) begins_.emplace(sum, init);
  }
}

Degree Flow::sum_of(Degree one, Degree other) const {
  if (one == Degree::Other || other == Degree::Other) return Degree::Other;
  if (one == Degree::Linear || other == Degree::Linear)
    return one == Degree::Constant || other == Degree::Constant ? Degree::Other : Degree::Linear;
  return one == Degree::Zero && other == Degree::Zero ? Degree::Zero : Degree::Constant;
}

Degree Flow::degree(const clang::Expr* value) {
  value = value->IgnoreParens();
  if (auto* full = llvm::dyn_cast<clang::FullExpr>(value)) return degree(full->getSubExpr());
  if (is_zero(value)) return Degree::Zero;
  if (auto* cast = llvm::dyn_cast<clang::CastExpr>(value)) {
    const Degree inner = degree(cast->getSubExpr());
    if (inner != Degree::Linear) return inner;
    switch (cast->getCastKind()) {
      case clang::CK_LValueToRValue:
      case clang::CK_NoOp:
      case clang::CK_FloatingCast:
      case clang::CK_IntegralCast:
      case clang::CK_IntegralToFloating: return inner;
      default: return Degree::Other;
    }
  }
  if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(value))
    return binary->isAssignmentOp() ? of_assignment(binary) : of_binary(binary);
  if (auto* call = llvm::dyn_cast<clang::CallExpr>(value)) return of_call(call);
  if (!mentions(value)) {
    // What it contains may still write something.
    walk(value, [&](const clang::Stmt* inner) {
      auto* expression = llvm::dyn_cast<clang::Expr>(inner);
      if (inner == value || !expression || !(assigned_by(inner) || llvm::isa<clang::CallExpr>(inner))) return true;
      degree(expression);
      return false;
    });
    auto* target = assigned_by(value);
    if (target && !of_block(target)) fails();
    return Degree::Constant;
  }
  if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(value))
    return reference->getType()->isArithmeticType() ? Degree::Linear : Degree::Other;
  if (llvm::isa<clang::ArraySubscriptExpr, clang::MemberExpr>(value)) {
    bool plain = linear_.contains(of_block(value)) && value->getType()->isArithmeticType();
    for (const clang::Expr* at = value; plain;) {
      if (auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(at)) {
        plain &= degree(element->getIdx()) == Degree::Constant || degree(element->getIdx()) == Degree::Zero;
        at = element->getBase()->IgnoreParenImpCasts();
      } else if (auto* member = llvm::dyn_cast<clang::MemberExpr>(at)) {
        at = member->getBase()->IgnoreParenImpCasts();
      } else {
        break;
      }
    }
    return plain ? Degree::Linear : Degree::Other;
  }
  if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(value))
    return unary->getOpcode() == clang::UO_Minus || unary->getOpcode() == clang::UO_Plus ? degree(unary->getSubExpr())
                                                                                         : Degree::Other;
  if (auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(value)) {
    if (mentions(choice->getCond())) return Degree::Other;
    degree(choice->getCond());
    return sum_of(degree(choice->getTrueExpr()), degree(choice->getFalseExpr()));
  }
  return Degree::Other;
}

Degree Flow::of_binary(const clang::BinaryOperator* binary) {
  const Degree left = degree(binary->getLHS()), right = degree(binary->getRHS());
  if (left == Degree::Other || right == Degree::Other) return Degree::Other;
  const bool linear = left == Degree::Linear || right == Degree::Linear;
  switch (binary->getOpcode()) {
    case clang::BO_Add:
    case clang::BO_Sub: return sum_of(left, right);
    case clang::BO_Mul:
      if (!linear) return left == Degree::Zero || right == Degree::Zero ? Degree::Zero : Degree::Constant;
      return left == right ? Degree::Other : Degree::Linear;
    case clang::BO_Div:
      if (!linear) return Degree::Constant;
      return right != Degree::Linear && binary->getType()->isFloatingType() ? Degree::Linear : Degree::Other;
    default: return linear ? Degree::Other : Degree::Constant;
  }
}

Degree Flow::of_assignment(const clang::BinaryOperator* assignment) {
  auto* target = assignment->getLHS();
  auto* variable = of_block(target);
  if (!variable) return of_memory(assignment);
  const Degree value = degree(assignment->getRHS());
  const bool was = linear_.contains(variable);
  if (value == Degree::Other) return fails(), value;
  if (!was && value != Degree::Linear) {
    // Its index may not depend on sums.
    if (mentions(target)) fails();
    return value == Degree::Zero && assignment->getOpcode() == clang::BO_Assign ? value : Degree::Constant;
  }
  linear_.insert(variable);
  if (degree(target) != Degree::Linear) return fails(), Degree::Other;
  const bool integer = target->getType()->isIntegerType();
  switch (assignment->getOpcode()) {
    case clang::BO_Assign:
    case clang::BO_AddAssign:
    case clang::BO_SubAssign:
      // An integer drops the fraction of every term.
      if (value == Degree::Constant || (integer && assignment->getRHS()->getType()->isFloatingType())) fails();
      break;
    case clang::BO_MulAssign:
      if (value == Degree::Linear || (integer && assignment->getRHS()->getType()->isFloatingType())) fails();
      break;
    case clang::BO_DivAssign:
      if (value == Degree::Linear || integer) fails();
      break;
    default: fails();
  }
  return Degree::Linear;
}

/// What is written to memory is added to what is there.
Degree Flow::of_memory(const clang::BinaryOperator* assignment) {
  auto* target = assignment->getLHS()->IgnoreParens();
  auto* value = assignment->getRHS();
  AddedValue added{.statement = assignment, .target = target, .value = value, .memory = memory_of(target)};
  const std::string key = squeezed(source_.spelled(target));
  auto is_target = [&](const clang::Expr* other) {
    return squeezed(source_.spelled(other->IgnoreParenCasts())) == key;
  };
  const auto opcode = assignment->getOpcode();
  if (!added.memory || depth_ > 0 || key.empty() || !source_.value_is_unused(assignment) ||
      target->getType().isVolatileQualified() || mentions(target))
    return fails(), Degree::Other;
  added.subtracts = opcode == clang::BO_SubAssign;
  if (opcode == clang::BO_Assign) {
    auto* sum = llvm::dyn_cast<clang::BinaryOperator>(value->IgnoreParenImpCasts());
    auto whole = std::ranges::find_if(begins_, [&](auto& one) {
      return named_variable(value->IgnoreParenCasts()) == one.first && is_target(one.second);
    });
    if (whole != begins_.end()) {
      // Not several times for one beginning.
      for (const clang::Stmt* up = source_.parent(assignment); up; up = source_.parent(up)) {
        auto* block = llvm::dyn_cast<clang::CompoundStmt>(up);
        if (!block && !llvm::isa<clang::IfStmt>(up)) return fails(), Degree::Other;
        if (block && std::ranges::any_of(block->body(), [&](auto* one) {
              auto* declaration = llvm::dyn_cast<clang::DeclStmt>(one);
              return declaration && declaration->isSingleDecl() && declaration->getSingleDecl() == whole->first;
            }))
          break;
      }
      added.begins = whole->first;
    } else if (sum && sum->isAdditiveOp() && is_target(sum->getLHS())) {
      added.value = sum->getRHS(), added.subtracts = sum->getOpcode() == clang::BO_Sub;
    } else if (sum && sum->getOpcode() == clang::BO_Add && is_target(sum->getRHS())) {
      added.value = sum->getLHS();
    } else {
      return fails(), Degree::Other;
    }
  } else if (opcode != clang::BO_AddAssign && opcode != clang::BO_SubAssign) {
    return fails(), Degree::Other;
  }
  const bool truncates =
      target->getType()->isIntegerType() && added.value->IgnoreParenImpCasts()->getType()->isFloatingType();
  if (degree(added.value) != Degree::Linear || truncates) return fails(), Degree::Other;
  found_.added.push_back(added);
  return Degree::Other;
}

Degree Flow::of_call(const clang::CallExpr* call) {
  const std::string name = callee_name(call);
  if (name.starts_with("__sync") || name.starts_with("__threadfence")) {
    if (mentions(call)) fails();
    return Degree::Constant;
  }
  if (name.starts_with("atomic")) return of_atomic(call);
  if (name.starts_with("__shfl")) {
    Degree value = Degree::Constant;
    for (unsigned i = 0; i < call->getNumArgs(); ++i) {
      const Degree one = degree(call->getArg(i));
      if (name.ends_with("_sync") ? i == 1 : i == 0) value = one;
      else if (one == Degree::Linear || one == Degree::Other) return Degree::Other;
    }
    return value;
  }
  if ((name == "fma" || name == "fmaf") && call->getNumArgs() == 3) {
    const Degree one = degree(call->getArg(0)), other = degree(call->getArg(1)), last = degree(call->getArg(2));
    if (one == Degree::Linear && other == Degree::Linear) return Degree::Other;
    const Degree product = one == Degree::Other || other == Degree::Other     ? Degree::Other
                           : one == Degree::Linear || other == Degree::Linear ? Degree::Linear
                                                                              : Degree::Constant;
    return sum_of(product, last);
  }
  auto* callee = visible_callee(call);
  if (callee && callee->getASTContext().getSourceManager().isWrittenInMainFile(callee->getLocation()))
    return of_function(call, callee);
  if (mentions(call) || LaneLoops(source_, {}).writes_memory(call)) return fails(), Degree::Other;
  return Degree::Constant;
}

Degree Flow::of_atomic(const clang::CallExpr* call) {
  if (callee_name(call) != "atomicAdd" || call->getNumArgs() != 2 || !source_.value_is_unused(call))
    return fails(), Degree::Other;
  const Degree value = degree(call->getArg(1));
  auto* object = object_at(call->getArg(0));
  if (auto* variable = object ? of_block(object) : nullptr) {
    if (value == Degree::Other || (linear_.contains(variable) && value == Degree::Constant)) fails();
    if (value != Degree::Linear) return Degree::Constant;
    linear_.insert(variable);
    if (degree(object) != Degree::Linear) fails();
    return Degree::Other;
  }
  AddedValue added{.statement = call, .target = call->getArg(0), .value = call->getArg(1), .atomic = true};
  if (object) {
    added.memory = memory_of(object);
  } else {
    // `out`, `out + i`.
    for (auto* variable : variables_in(call->getArg(0)))
      if (variable->getType()->isPointerType())
        added.memory = !added.memory && llvm::isa<clang::ParmVarDecl>(variable) ? variable : nullptr;
  }
  if (!added.memory || depth_ > 0 || mentions(call->getArg(0)) || value != Degree::Linear)
    return fails(), Degree::Other;
  found_.added.push_back(added);
  return Degree::Other;
}

/// A function of the text: its parameters and what it returns may be linear, too.
Degree Flow::of_function(const clang::CallExpr* call, const clang::FunctionDecl* callee) {
  if (depth_ >= kDepth || call->getNumArgs() != callee->getNumParams()) return fails(), Degree::Other;
  bool any = false;
  for (unsigned i = 0; i < call->getNumArgs(); ++i) {
    const Degree one = degree(call->getArg(i));
    auto* parameter = callee->getParamDecl(i);
    if (one == Degree::Other || (one == Degree::Constant && linear_.contains(parameter))) return fails(), one;
    if (one != Degree::Linear) continue;
    if (!parameter->getType()->isArithmeticType()) return fails(), Degree::Other;
    linear_.insert(parameter), any = true;
  }
  ++depth_;
  take(callee->getBody());
  --depth_;
  if (!any) return Degree::Constant;
  functions_.insert(callee);
  walk(callee->getBody(), [&](const clang::Stmt* inner) {
    auto* leave = llvm::dyn_cast<clang::ReturnStmt>(inner);
    if (!leave || !leave->getRetValue()) return true;
    const Degree value = degree(leave->getRetValue());
    if (value != Degree::Linear && value != Degree::Zero) fails();
    return true;
  });
  return Degree::Linear;
}

void Flow::take_declaration(const clang::DeclStmt* declaration) {
  for (auto* declared : declaration->decls()) {
    auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
    if (!variable || !variable->getInit() || begins_.contains(variable)) continue;
    const Degree value = degree(variable->getInit());
    if (value == Degree::Other) fails();
    if (value == Degree::Linear) {
      linear_.insert(variable);
      if (!variable->getType()->isArithmeticType()) fails();
    } else if (linear_.contains(variable) && value == Degree::Constant) {
      // A structure without a constructor's values has no value yet.
      auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(variable->getInit());
      if (!made || made->getNumArgs() > 0) fails();
    }
  }
}

void Flow::take(const clang::Stmt* statement) {
  if (!statement || !good_) return;
  if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement); loop && loops_.contains(loop)) return;
  if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement)) return take_declaration(declaration);
  if (auto* value = llvm::dyn_cast<clang::Expr>(statement)) {
    const Degree one = degree(value);
    if (one == Degree::Other && !llvm::isa<clang::BinaryOperator, clang::CallExpr>(value->IgnoreParens())) fails();
    return;
  }
  if (llvm::isa<clang::AsmStmt, clang::GotoStmt, clang::LabelStmt, clang::SwitchStmt, clang::CXXForRangeStmt>(
          statement)) {
    return fails();
  }
  if (llvm::isa<clang::ReturnStmt>(statement)) {
    auto* value = llvm::cast<clang::ReturnStmt>(statement)->getRetValue();
    if (value && depth_ > 0) degree(value);
    return;
  }
  // What decides which statements run must be the same in all blocks that share the terms.
  const clang::Expr* condition = nullptr;
  if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement)) condition = branch->getCond();
  if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) condition = loop->getCond();
  if (auto* loop = llvm::dyn_cast<clang::WhileStmt>(statement)) condition = loop->getCond();
  if (auto* loop = llvm::dyn_cast<clang::DoStmt>(statement)) condition = loop->getCond();
  if (condition && mentions(condition)) return fails();
  for (auto* child : statement->children()) take(child);
}

/// Nothing else mentions what is added to: other blocks may have changed it.
bool Flow::adds_apart() const {
  std::map<const clang::VarDecl*, size_t> known, all;
  auto count = [](const clang::Stmt* root, std::map<const clang::VarDecl*, size_t>& counts) {
    walk(root, [&](const clang::Stmt* inner) {
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
      if (auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr)
        ++counts[variable];
      return true;
    });
  };
  for (auto& added : found_.added) {
    count(added.statement, known);
    if (added.begins) count(added.begins->getInit(), known);
  }
  for (auto* function : source_.functions())
    if (function == kernel_ || !function->hasAttr<clang::CUDAGlobalAttr>()) count(function->getBody(), all);
  return std::ranges::all_of(found_.added, [&](auto& added) { return known[added.memory] == all[added.memory]; });
}

std::optional<LinearFlow> Flow::run() {
  find_beginnings();
  for (size_t before = 0; good_ && before != linear_.size() + functions_.size();) {
    before = linear_.size() + functions_.size();
    found_.added.clear();
    take(kernel_->getBody());
  }
  if (!good_ || found_.added.empty() || !adds_apart()) return std::nullopt;
  // Every beginning is taken back by one addition.
  for (auto& [sum, init] : begins_)
    if (std::ranges::count(found_.added, sum, &AddedValue::begins) != 1) return std::nullopt;
  // Terms of one sum must not be what another one came to.
  for (auto& [loop, sums] : loops_)
    for (auto* variable : variables_in(loop))
      if (linear_.contains(variable) && !sums.contains(variable)) return std::nullopt;
  return std::move(found_);
}

}  // namespace

std::optional<LinearFlow> LinearFlow::of(const KernelSource& source, const clang::FunctionDecl* kernel,
                                         const SumLoops& loops) {
  return Flow(source, kernel, loops).run();
}

}  // namespace kernelift::tuner
