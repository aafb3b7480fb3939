// Bodies are walked in every instance, as in launch_finder. A launch is recorded as a call whose callee is the launch's
// source position; from there the callers are followed upwards, each parameter replaced by the caller's argument. The
// object of a method is its parameter 0, and the others follow.
#include "extractor/scan/call_finder.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "clang/AST/Attr.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "core/base/places.h"
#include "extractor/scan/launchers.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

constexpr int kCallers = 6;            ///< Levels of callers above the function that launches.
constexpr size_t kMostStates = 10000;  ///< Call chains per launch: wrappers that call each other have very many.

/// Pointers that a function assigns to its variables, `if (in_place) to = from;`, and under which conditions. What
/// exchanges two of them, `t = a; a = b; b = t;`, makes none another's: what a block assigns is not taken for what it
/// was.
class PointerAssignments {
 public:
  struct Assigned {
    const Expr* value;
    std::vector<std::pair<const Expr*, bool>> where;  ///< Conditions of the branches around it, and whether they hold.
  };
  explicit PointerAssignments(const Stmt* body) { walk(body, {}); }
  std::multimap<const VarDecl*, Assigned> values;

 private:
  static const VarDecl* variable(const Expr* e) {
    auto* reference = llvm::dyn_cast<DeclRefExpr>(e->IgnoreParenCasts());
    return reference ? llvm::dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  }
  /// The variable and the value of `to = from`, of a pointer, where `from` is no call.
  static std::pair<const VarDecl*, const Expr*> assignment(const Stmt* statement) {
    auto* binary = llvm::dyn_cast<BinaryOperator>(statement);
    if (!binary || binary->getOpcode() != BO_Assign || !binary->getLHS()->getType()->isPointerType() ||
        llvm::isa<CallExpr>(binary->getRHS()->IgnoreParenCasts()))
      return {};
    return {variable(binary->getLHS()), binary->getRHS()};
  }
  void walk(const Stmt* statement, const std::vector<std::pair<const Expr*, bool>>& where,
            const std::set<const VarDecl*>& exchanged = {}) {
    if (!statement) return;
    if (auto* branch = llvm::dyn_cast<IfStmt>(statement)) {
      for (bool holds : {true, false}) {
        auto more = where;
        more.emplace_back(branch->getCond(), holds);
        walk(holds ? branch->getThen() : branch->getElse(), more);
      }
      return;
    }
    if (auto [to, value] = assignment(statement); to && !exchanged.contains(variable(value)))
      values.insert({to, {value, where}});
    std::set<const VarDecl*> targets;
    if (auto* block = llvm::dyn_cast<CompoundStmt>(statement))
      for (auto* one : block->body()) {
        if (auto* declaration = llvm::dyn_cast<DeclStmt>(one))
          for (auto* declared : declaration->decls()) targets.insert(llvm::dyn_cast<VarDecl>(declared));
        targets.insert(assignment(one).first);
      }
    for (auto* child : statement->children()) walk(child, where, targets);
  }
};

class CallVisitor : public DynamicRecursiveASTVisitor {
 public:
  CallVisitor(const ParsedUnit& unit, const std::function<std::string(const FunctionDecl*)>& label)
      : unit_(unit), label_(label) {
    ShouldVisitTemplateInstantiations = true;
  }
  bool TraverseStmt(Stmt* statement) override {
    return !function_ || DynamicRecursiveASTVisitor::TraverseStmt(statement);
  }

  bool VisitFunctionDecl(FunctionDecl* function) override {
    bool host = !function->hasAttr<CUDAGlobalAttr>() &&
                (!function->hasAttr<CUDADeviceAttr>() || function->hasAttr<CUDAHostAttr>());
    if (function_ || !host || !function->doesThisDeclarationHaveABody() || !function->getBody() ||
        function->isDependentContext())
      return true;
    function_ = function, caller_ = label(function);
    assigned_ = PointerAssignments(function->getBody()).values;
    TraverseStmt(function->getBody());
    function_ = nullptr;
    return true;
  }
  bool VisitCallExpr(CallExpr* call) override {
    if (!function_ || call->isTypeDependent()) return true;
    std::vector<const Expr*> arguments(call->arg_begin(), call->arg_end());
    if (llvm::isa<CUDAKernelCallExpr>(call)) return add(launch(call), arguments), true;
    auto* callee = call->getDirectCallee();
    if (!callee) return true;
    llvm::StringRef name = callee->getIdentifier() ? callee->getName() : "";
    if (name == "cudaLaunchKernelEx" && arguments.size() > 2) {
      arguments.erase(arguments.begin(), arguments.begin() + 2);
      add(launch(call), arguments);
    } else if ((name.contains("LaunchKernel") || name.contains("LaunchCooperativeKernel")) && arguments.size() > 2) {
      add(launch(call), pointed_to(arguments[name == "cudaLaunchKernelExC" ? 2 : 3]));
    } else if (unit_.is_user(callee->getLocation()) && !callee->hasAttr<CUDAGlobalAttr>()) {
      // Of a method that is called as an operator, the object is an argument already.
      auto* of = llvm::dyn_cast<CXXMemberCallExpr>(call);
      if (of && is_method(callee)) arguments.insert(arguments.begin(), of->getImplicitObjectArgument());
      add(label(callee), arguments);
      if (auto* launcher = launchers_.called_by(call)) add(launch(call), launcher->arguments(call));
    }
    return true;
  }

  std::vector<HostCall> calls;

 private:
  const std::string& label(const FunctionDecl* function) {
    auto [known, fresh] = labels_.try_emplace(function);
    bool plain = !llvm::isa<CXXConstructorDecl, CXXDestructorDecl, CXXDeductionGuideDecl>(function);
    if (fresh) known->second = plain ? label_(function) : function->getQualifiedNameAsString();
    return known->second;
  }
  static bool is_method(const FunctionDecl* function) {
    auto* method = llvm::dyn_cast_or_null<CXXMethodDecl>(function);
    return method && method->isInstance();
  }
  std::string launch(const Expr* call) const {
    auto extent = unit_.extent(call->getSourceRange());
    if (!extent) return {};
    auto range = unit_.range(extent->first.file, extent->first.offset, extent->second);
    return range.file + ":" + std::to_string(range.begin);
  }
  /// `void* args[] = {&a, &b}`
  static std::vector<const Expr*> pointed_to(const Expr* array) {
    auto* reference = llvm::dyn_cast<DeclRefExpr>(array->IgnoreParenCasts());
    auto* variable = reference ? llvm::dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    auto* list = variable && variable->getInit() ? llvm::dyn_cast<InitListExpr>(variable->getInit()) : nullptr;
    std::vector<const Expr*> values;
    if (!list) return values;
    for (auto* one : list->inits()) {
      auto* address = llvm::dyn_cast<UnaryOperator>(one->IgnoreParenCasts());
      values.push_back(address && address->getOpcode() == UO_AddrOf ? address->getSubExpr() : one);
    }
    return values;
  }

  void add(const std::string& callee, const std::vector<const Expr*>& arguments) {
    HostCall call{callee, caller_, {}};
    for (auto* argument : arguments) {
      if (!argument) {
        call.arguments.emplace_back();
        continue;
      }
      auto type = argument->getType();
      bool leads = type->isPointerType() || type->isArrayType() || type->isRecordType();
      call.arguments.push_back(leads ? bases(argument) : std::set<PassedMemory>{});
    }
    bool any = std::any_of(call.arguments.begin(), call.arguments.end(), [](auto& one) { return !one.empty(); });
    if (any && !callee.empty()) calls.push_back(std::move(call));
  }

  /// The variables that a pointer, or an object that contains one, is derived from.
  std::set<PassedMemory> bases(const Expr* e) const {
    e = e->IgnoreParenCasts()->IgnoreImplicit()->IgnoreParenCasts();
    auto of = [&](const Expr* object, const std::string& part) {
      std::set<PassedMemory> all;
      for (auto& base : bases(object)) all.insert({base.text + part, base.where});
      return all;
    };
    if (auto* choice = llvm::dyn_cast<AbstractConditionalOperator>(e)) {
      // Both `k % 2 ? a : b` and `k % 2 ? b : a` may be a, though never at once.
      const bool changes = choice->getCond()->HasSideEffects(unit_.context);
      const std::string condition = changes ? "" : text_of(choice->getCond()->IgnoreParenImpCasts());
      std::set<PassedMemory> all;
      for (bool holds : {true, false})
        for (PassedMemory base : bases(holds ? choice->getTrueExpr() : choice->getFalseExpr())) {
          if (!condition.empty()) base.where.emplace(condition, holds);
          all.insert(std::move(base));
        }
      return all;
    }
    if (auto* unary = llvm::dyn_cast<UnaryOperator>(e)) {
      auto* inner = unary->getSubExpr()->IgnoreParenCasts();
      auto* element = llvm::dyn_cast<ArraySubscriptExpr>(inner);
      if (unary->getOpcode() == UO_AddrOf) return bases(element ? element->getBase() : inner);
      if (unary->isIncrementDecrementOp()) return bases(inner);
      if (unary->getOpcode() == UO_Deref && e->getType()->isRecordType()) return bases(inner);
    }
    if (llvm::isa<CXXThisExpr>(e) && is_method(function_)) return {{"#0"}};
    if (auto* element = llvm::dyn_cast<ArraySubscriptExpr>(e)) return of(element->getBase(), index(element->getIdx()));
    if (auto* binary = llvm::dyn_cast<BinaryOperator>(e); binary && binary->isAdditiveOp())
      return bases(binary->getLHS()->getType()->isPointerType() ? binary->getLHS() : binary->getRHS());
    if (auto* made = llvm::dyn_cast<CXXConstructExpr>(e); made && made->getNumArgs() == 1)
      return bases(made->getArg(0));
    if (auto* member = llvm::dyn_cast<MemberExpr>(e); member && llvm::isa<FieldDecl>(member->getMemberDecl())) {
      auto all = of(member->getBase(), "." + member->getMemberDecl()->getNameAsString());
      if (auto* given = initial(member)) all.merge(bases(given));
      return all;
    }
    if (auto* call = llvm::dyn_cast<CXXOperatorCallExpr>(e)) {
      const auto what = call->getOperator();
      if (what == OO_Subscript && call->getNumArgs() == 2) return of(call->getArg(0), index(call->getArg(1)));
      if ((what == OO_Star || what == OO_Arrow) && call->getNumArgs() == 1) return bases(call->getArg(0));
    }
    if (auto* call = llvm::dyn_cast<CallExpr>(e); call && call->getDirectCallee() && call->getNumArgs() == 1) {
      auto* name = call->getDirectCallee()->getIdentifier();
      if (name && (name->getName().ends_with("_cast") || name->getName() == "move" || name->getName() == "addressof"))
        return bases(call->getArg(0));
    }
    if (auto* call = llvm::dyn_cast<CallExpr>(e); call && !llvm::isa<CXXOperatorCallExpr>(call))
      if (auto [object, suffix] = accessor(call); object) return of(object, suffix);
    if (auto* reference = llvm::dyn_cast<DeclRefExpr>(e)) {
      auto* parameter = llvm::dyn_cast<ParmVarDecl>(reference->getDecl());
      auto* variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
      if (variable && assigned_.contains(variable) && open_.insert(variable).second) {
        auto all = bases(e);
        for (auto [at, end] = assigned_.equal_range(variable); at != end; ++at)
          for (PassedMemory base : bases(at->second.value)) {
            for (auto& [condition, holds] : at->second.where)
              if (!condition->HasSideEffects(unit_.context))
                base.where.emplace(text_of(condition->IgnoreParenImpCasts()), holds);
            all.insert(std::move(base));
          }
        open_.erase(variable);
        return all;
      }
      if (parameter && parameter->getDeclContext() == function_)
        return {{"#" + std::to_string(parameter->getFunctionScopeIndex() + is_method(function_))}};
      // A reference is what it began with.
      const bool alias = variable && !parameter && variable->isLocalVarDecl() && variable->getInit() &&
                         variable->getType()->isReferenceType();
      if (alias && open_.insert(variable).second) {
        auto all = bases(variable->getInit());
        open_.erase(variable);
        return all;
      }
      // Another name for what a pointer began with.
      const bool copies = variable && !parameter && variable->isLocalVarDecl() && variable->getInit() &&
                          variable->getType()->isPointerType();
      if (copies && !llvm::isa<CallExpr>(variable->getInit()->IgnoreParenCasts())) {
        auto all = bases(variable->getInit());
        all.insert(PassedMemory{text_of(e)});
        return all;
      }
    }
    if (llvm::isa<CXXNullPtrLiteralExpr, GNUNullExpr, IntegerLiteral, StringLiteral>(e)) return {};
    std::string text = text_of(e);
    return text.empty() || text == "NULL" ? std::set<PassedMemory>() : std::set{PassedMemory{text}};
  }
  std::string index(const Expr* e) const { return "[" + text_of(e) + "]"; }
  /// `g.level(from)`, `pointer_of(g)`: the object that it is asked of, and "level()[from]". Null: it has another form.
  std::pair<const Expr*, std::string> accessor(const CallExpr* call) const {
    auto* callee = call->getDirectCallee();
    if (!callee || !callee->getIdentifier()) return {};
    const Expr* object = nullptr;
    if (auto* of = llvm::dyn_cast<CXXMemberCallExpr>(call)) object = of->getImplicitObjectArgument();
    std::string suffix = "." + callee->getName().str() + "()";
    for (auto* argument : call->arguments()) {
      if (llvm::isa<CXXDefaultArgExpr>(argument)) continue;
      if (argument->getType()->isIntegralOrEnumerationType()) suffix += index(argument);
      else if (object) return {};
      else object = argument;
    }
    return {object, suffix};
  }
  /// What the member of a local structure began with: `{to, from}`. Null: it has another form.
  static const Expr* initial(const MemberExpr* member) {
    auto* reference = llvm::dyn_cast<DeclRefExpr>(member->getBase()->IgnoreParenImpCasts());
    auto* object = reference ? llvm::dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    auto* field = llvm::dyn_cast<FieldDecl>(member->getMemberDecl());
    auto* list = object && field && object->isLocalVarDecl() && object->getInit()
                     ? llvm::dyn_cast<InitListExpr>(object->getInit())
                     : nullptr;
    if (!list || !field->getType()->isPointerType() || field->getParent()->isUnion()) return nullptr;
    const unsigned at = field->getFieldIndex();
    return at < list->getNumInits() ? list->getInit(at) : nullptr;
  }
  /// Without blanks.
  std::string text_of(const Expr* e) const {
    auto range = Lexer::makeFileCharRange(CharSourceRange::getTokenRange(e->getSourceRange()), unit_.sources,
                                          unit_.context.getLangOpts());
    std::string text = Lexer::getSourceText(range, unit_.sources, unit_.context.getLangOpts()).str();
    return without_blanks(std::move(text));
  }

  const ParsedUnit& unit_;
  Launchers launchers_;
  const std::function<std::string(const FunctionDecl*)>& label_;
  const FunctionDecl* function_ = nullptr;
  std::multimap<const VarDecl*, PointerAssignments::Assigned> assigned_;  ///< In that function.
  mutable std::set<const VarDecl*> open_;                                 ///< Whose bases are being looked for.
  std::string caller_;
  std::map<const FunctionDecl*, std::string> labels_;
};

using Arguments = std::vector<std::set<PassedMemory>>;

/// A launch's arguments in terms of a caller's variables; a parameter for which the call passes no known memory is
/// dropped. The call is `level` calls above the launch: its conditions are no others' of the same text.
Arguments as_seen_by(const HostCall& caller, const Arguments& arguments, int level) {
  Arguments all;
  for (auto& argument : arguments) {
    std::set<PassedMemory> bases;
    for (auto& base : argument) {
      if (base.text[0] != '#') {
        bases.insert(base);
        continue;
      }
      size_t end = 1;
      while (end < base.text.size() && std::isdigit(static_cast<unsigned char>(base.text[end]))) ++end;
      size_t number = std::stoul(base.text.substr(1, end - 1));
      if (number >= caller.arguments.size()) continue;
      for (auto& passed : caller.arguments[number]) {
        PassedMemory seen{passed.text + base.text.substr(end), base.where};
        for (auto& [condition, holds] : passed.where)
          seen.where.emplace(std::to_string(level) + ":" + condition, holds);
        bases.insert(std::move(seen));
      }
    }
    all.push_back(std::move(bases));
  }
  return all;
}

/// Whether one launch may be given both.
bool may_meet(const PassedMemory& one, const PassedMemory& other) {
  for (auto& [condition, holds] : one.where)
    if (auto same = other.where.find(condition); same != other.where.end() && same->second != holds) return false;
  return may_be_one_place(one.text, other.text);
}

void add_pairs(const Arguments& arguments, std::vector<std::pair<size_t, size_t>>& pairs) {
  for (size_t second = 1; second < arguments.size(); ++second)
    for (size_t first = 0; first < second; ++first) {
      bool one = std::any_of(arguments[first].begin(), arguments[first].end(), [&](auto& base) {
        return std::any_of(arguments[second].begin(), arguments[second].end(),
                           [&](auto& other) { return may_meet(base, other); });
      });
      if (std::pair pair{first, second}; one && std::find(pairs.begin(), pairs.end(), pair) == pairs.end())
        pairs.push_back(pair);
    }
}

}  // namespace

std::vector<HostCall> find_calls(const ParsedUnit& unit, const SourceItems& items,
                                 const std::function<std::string(const FunctionDecl*)>& label) {
  CallVisitor visitor(unit, label);
  for (auto& item : items.all())
    for (auto* declaration : item.declarations) visitor.TraverseDecl(const_cast<Decl*>(declaration));
  return std::move(visitor.calls);
}

void follow_callers(ScanIndex& index) {
  std::map<std::string, std::vector<const HostCall*>> callers;
  for (auto& call : index.calls) callers[call.callee].push_back(&call);
  for (auto& site : index.launches) {
    std::set<std::pair<std::string, Arguments>> seen;
    std::vector<std::pair<std::string, Arguments>> now;
    auto reach = [&](const HostCall& call, Arguments arguments, auto& into) {
      add_pairs(arguments, site.one_memory);
      // Only arguments that depend on a parameter need the callers.
      bool open = std::any_of(arguments.begin(), arguments.end(), [](auto& bases) {
        return std::any_of(bases.begin(), bases.end(), [](auto& base) { return base.text.starts_with('#'); });
      });
      if (open && seen.size() < kMostStates && seen.emplace(call.caller, arguments).second)
        into.emplace_back(call.caller, std::move(arguments));
    };
    for (auto* launch : callers[site.range.file + ":" + std::to_string(site.range.begin)])
      reach(*launch, launch->arguments, now);
    for (int level = 0; level < kCallers && !now.empty(); ++level) {
      std::vector<std::pair<std::string, Arguments>> above;
      for (auto& [function, arguments] : now)
        // A unit that only declares the function labels it without a file.
        for (auto& name : std::set{function, function.substr(0, function.find('@'))})
          if (auto found = callers.find(name); found != callers.end())
            for (auto* call : found->second) reach(*call, as_seen_by(*call, arguments, level), above);
      now = std::move(above);
    }
  }
  index.calls.clear();
}

}  // namespace kernelift::extractor
