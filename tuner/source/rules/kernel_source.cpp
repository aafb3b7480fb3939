// See kernel_source.h. An instance's statements have the places of its template's.
#include "tuner/source/rules/kernel_source.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Frontend/ASTUnit.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "core/model/kernel_key.h"
#include "core/model/knob/knob_text.h"
#include "tuner/source/rules/accessors.h"
#include "tuner/source/rules/template_instance.h"

namespace kernelift::tuner {
namespace {

/// In front of a name, of the first: empty.
std::string ordinal(size_t before) {
  static constexpr const char* kOrdinals[] = {"", "second ", "third ", "fourth ", "fifth "};
  return before < std::size(kOrdinals) ? kOrdinals[before] : std::to_string(before + 1) + "th ";
}

bool on_device(const clang::FunctionDecl* function) {
  return function->hasAttr<clang::CUDADeviceAttr>() || function->hasAttr<clang::CUDAGlobalAttr>() ||
         function->isConstexpr();
}

/// Definitions written in the main file, in order. A whole unit has host functions, too: of them only the lambdas that
/// the device runs.
class Definitions : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Definitions(clang::SourceManager& sources) : sources_(sources) {}
  std::vector<const clang::FunctionDecl*> found;
  std::unordered_map<const clang::FunctionDecl*, std::string> lambdas;  ///< Their names, by call operator.

  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    if (function->doesThisDeclarationHaveABody() && sources_.isWrittenInMainFile(function->getLocation()) &&
        !function->isImplicit() && on_device(function))
      found.push_back(function);
    return true;
  }
  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) override {
    const clang::CXXMethodDecl* call = lambda->getCallOperator();
    if (!found.empty() && contains(found.back(), lambda)) return true;
    if (call->hasAttr<clang::CUDADeviceAttr>() && sources_.isWrittenInMainFile(call->getLocation())) {
      found.push_back(call);
      auto* around = llvm::dyn_cast_or_null<clang::NamedDecl>(call->getParent()->getParentFunctionOrMethod());
      const std::string in = around ? around->getNameAsString() : "a variable";
      lambdas[call] = "the " + ordinal(lambdas_in_[in]++) + "lambda in " + in;
    }
    return clang::DynamicRecursiveASTVisitor::TraverseLambdaExpr(lambda);
  }

 private:
  /// Definitions come in the order of the text, so that the last one before the lambda is the one around it, if any is.
  bool contains(const clang::FunctionDecl* function, const clang::LambdaExpr* lambda) const {
    return sources_.isPointWithin(lambda->getBeginLoc(), function->getBeginLoc(), function->getEndLoc());
  }
  clang::SourceManager& sources_;
  std::map<std::string, size_t> lambdas_in_;
};

/// The innermost statement that ends where this one ends, with no brace of an enclosing statement after it.
const clang::Stmt* last_within(const clang::Stmt* statement) {
  const clang::Stmt* inner = nullptr;
  if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) inner = loop->getBody();
  else if (auto* loop = llvm::dyn_cast<clang::WhileStmt>(statement)) inner = loop->getBody();
  else if (auto* loop = llvm::dyn_cast<clang::CXXForRangeStmt>(statement)) inner = loop->getBody();
  else if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement))
    inner = branch->getElse() ? branch->getElse() : branch->getThen();
  else if (auto* attributed = llvm::dyn_cast<clang::AttributedStmt>(statement)) inner = attributed->getSubStmt();
  return inner ? last_within(inner) : statement;
}

constexpr int kCallDepth = 4;  ///< Depth of nested calls that are examined.

bool reads_only_values(const clang::Stmt* root, int depth);

/// The call computes from its arguments and its object's members alone: it follows no pointer and writes nothing.
bool is_pure(const clang::CallExpr* call, int depth) {
  auto* definition = visible_callee(call);
  if (!definition || depth <= 0) return false;
  auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(definition);
  if (method && !method->isStatic() && !method->isConst()) return false;
  for (auto* parameter : definition->parameters())
    if (parameter->getType()->isPointerType()) return false;
  return reads_only_values(definition->getBody(), depth - 1);
}

bool reads_only_values(const clang::Stmt* root, int depth) {
  bool pure = true;
  walk(root, [&](const clang::Stmt* statement) {
    if (auto* call = llvm::dyn_cast<clang::CallExpr>(statement)) pure &= is_pure(call, depth);
    else if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement)) pure &= !binary->isAssignmentOp();
    else if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement))
      pure &= !unary->isIncrementDecrementOp() && unary->getOpcode() != clang::UO_Deref &&
              unary->getOpcode() != clang::UO_AddrOf;
    else pure &= !llvm::isa<clang::ArraySubscriptExpr, clang::LambdaExpr, clang::CXXNewExpr, clang::AsmStmt>(statement);
    return pure;
  });
  return pure;
}

/// Whether the call may change the argument.
bool by_reference(const clang::CallExpr* call, unsigned index, const clang::Expr* argument) {
  auto* callee = call->getDirectCallee();
  auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(callee);
  if (method && llvm::isa<clang::CXXOperatorCallExpr>(call) && !method->isStatic()) {
    if (index == 0) return !leaves_object(method);
    --index;  // The object counts as an operator's first argument.
  }
  if (callee && index < callee->getNumParams()) {
    clang::QualType type = callee->getParamDecl(index)->getType();
    return type->isReferenceType() && !type.getNonReferenceType().isConstQualified();
  }
  return argument->isGLValue() || argument->isTypeDependent();
}

}  // namespace

const clang::FunctionDecl* visible_callee(const clang::CallExpr* call) {
  const clang::FunctionDecl* definition = nullptr;
  if (auto* callee = call->getDirectCallee()) {
    if (callee->getTemplateInstantiationPattern()) callee = callee->getTemplateInstantiationPattern();
    return callee->hasBody(definition) ? definition : nullptr;
  }
  auto* lookup = llvm::dyn_cast<clang::OverloadExpr>(call->getCallee()->IgnoreParenImpCasts());
  if (!lookup || lookup->getNumDecls() != 1) return nullptr;
  auto* named = (*lookup->decls_begin())->getUnderlyingDecl();
  auto* function = llvm::dyn_cast<clang::FunctionDecl>(named);
  if (auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(named)) function = pattern->getTemplatedDecl();
  return function && function->hasBody(definition) ? definition : nullptr;
}

KernelSource::KernelSource() = default;
KernelSource::KernelSource(KernelSource&&) noexcept = default;
KernelSource& KernelSource::operator=(KernelSource&&) noexcept = default;
KernelSource::~KernelSource() = default;

Result<KernelSource> KernelSource::parse(const std::string& text, const std::vector<std::string>& arguments,
                                         Templates templates) {
  KernelSource source;
  source.text_ = text;
  KERNELIFT_ASSIGN(source.parsed_, parse_text(text, arguments));
  Definitions definitions(source.parsed_.unit->getSourceManager());
  // Only what is in memory: everything else comes from precompiled headers, and is not in the text.
  for (auto* declaration : source.parsed_.unit->getASTContext().getTranslationUnitDecl()->noload_decls())
    definitions.TraverseDecl(declaration);
  source.functions_ = std::move(definitions.found), source.lambdas_ = std::move(definitions.lambdas);
  if (templates == Templates::AsInstances)
    for (auto& function : source.functions_) {
      auto* instance = only_instance(function);
      if (!instance) continue;
      source.generic_.merge(generic_variables(function));
      function = instance;
    }
  for (auto* function : source.functions_)
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      for (auto* child : statement->children())
        if (child) source.parents_.emplace(child, statement);
      return true;
    });
  return source;
}

bool KernelSource::has_templates() const {
  return std::ranges::any_of(functions_, [](auto* one) { return one->getDescribedFunctionTemplate() != nullptr; });
}

bool KernelSource::is_generic(const clang::VarDecl* variable) const {
  return generic_.contains(variable->getLocation().getRawEncoding());
}

bool KernelSource::is_generic(const clang::Stmt* statement) const {
  return !generic_.empty() &&
         std::ranges::any_of(variables_in(statement), [&](auto* variable) { return is_generic(variable); });
}

clang::ASTContext& KernelSource::context() const { return parsed_.unit->getASTContext(); }

const clang::FunctionDecl* KernelSource::kernel(std::string_view name_expression) const {
  std::string wanted(name_expression.substr(0, name_expression.find_first_of("<(")));
  if (wanted.starts_with("::")) wanted = wanted.substr(2);
  while (!wanted.empty() && wanted.back() == ' ') wanted.pop_back();
  for (auto* function : functions_) {
    std::string name = function->getQualifiedNameAsString();
    for (size_t at; (at = name.find("(anonymous namespace)::")) != name.npos;) name.erase(at, 23);
    if (function->hasAttr<clang::CUDAGlobalAttr>() && (name == wanted || name.ends_with("::" + wanted)))
      return function;
  }
  return nullptr;
}

std::optional<size_t> KernelSource::offset(clang::SourceLocation location) const {
  auto& sources = parsed_.unit->getSourceManager();
  if (location.isInvalid() || location.isMacroID() || !sources.isInMainFile(location)) return std::nullopt;
  return sources.getFileOffset(location);
}

std::optional<Span> KernelSource::span(const clang::Stmt* statement) const {
  // If the statement begins or ends with a whole macro expansion, the spelled text is the macro's use. A statement that
  // is only part of an expansion has no position in the text.
  auto& sources = parsed_.unit->getSourceManager();
  auto range = clang::Lexer::makeFileCharRange(clang::CharSourceRange::getTokenRange(statement->getSourceRange()),
                                               sources, parsed_.unit->getLangOpts());
  auto begin = range.isValid() ? offset(range.getBegin()) : std::nullopt;
  auto end = range.isValid() ? offset(range.getEnd()) : std::nullopt;
  if (!begin || !end) return std::nullopt;
  return Span{*begin, *end};
}

std::string KernelSource::spelled(const clang::Stmt* statement) const {
  auto range = span(statement);
  return range ? text_.substr(range->begin, range->end - range->begin) : std::string();
}

size_t KernelSource::line_begin(size_t offset) const {
  size_t newline = offset ? text_.rfind('\n', offset - 1) : text_.npos;
  return newline == text_.npos ? 0 : newline + 1;
}

std::string KernelSource::indentation(size_t offset) const {
  size_t begin = line_begin(offset), end = text_.find_first_not_of(" \t", begin);
  return text_.substr(begin, std::min(end, text_.size()) - begin);
}

std::string KernelSource::outer_indentation(const clang::FunctionDecl* function) const {
  auto begin = offset(function->getBeginLoc());
  return begin ? indentation(*begin) : "";
}

std::optional<std::string> KernelSource::seen_body_indentation(const clang::FunctionDecl* function) const {
  auto* body = llvm::dyn_cast_or_null<clang::CompoundStmt>(function->getBody());
  auto first = body && !body->body_empty() ? offset((*body->body_begin())->getBeginLoc()) : std::nullopt;
  return first && first_on_line(*first) ? std::optional(indentation(*first)) : std::nullopt;
}

std::string KernelSource::step() const {
  for (auto* function : functions_) {
    std::string outer = outer_indentation(function), inner = seen_body_indentation(function).value_or("");
    if (inner.size() > outer.size() && inner.starts_with(outer)) return inner.substr(outer.size());
  }
  return "  ";
}

std::string KernelSource::body_indentation(const clang::FunctionDecl* function) const {
  return seen_body_indentation(function).value_or(outer_indentation(function) + step());
}

bool KernelSource::first_on_line(size_t offset) const {
  return line_begin(offset) + indentation(offset).size() == offset;
}

std::optional<size_t> KernelSource::statement_end(const clang::Stmt* statement) const {
  auto range = span(statement);
  if (!range) return std::nullopt;
  // `for (…) x = T{1};` ends in an expression, whose brace does not end the statement.
  bool brace_ends = !llvm::isa<clang::Expr>(last_within(statement));
  if (text_[range->end - 1] == ';' || (text_[range->end - 1] == '}' && brace_ends)) return range->end;
  size_t at = text_.find_first_not_of(" \t\r\n", range->end);
  if (at == text_.npos || text_[at] != ';') return std::nullopt;
  return at + 1;
}

const clang::Stmt* KernelSource::parent(const clang::Stmt* statement) const {
  auto found = parents_.find(statement);
  return found == parents_.end() ? nullptr : found->second;
}

bool KernelSource::value_is_unused(const clang::Expr* expression) const {
  const clang::Stmt *below = expression, *up = parent(below);
  while (up && llvm::isa<clang::ExprWithCleanups>(up)) below = up, up = parent(up);
  if (auto* branch = llvm::dyn_cast_or_null<clang::IfStmt>(up)) return branch->getCond() != below;
  if (auto* loop = llvm::dyn_cast_or_null<clang::ForStmt>(up)) return loop->getBody() == below;
  return up && llvm::isa<clang::CompoundStmt>(up);
}

std::string KernelSource::name(const clang::ForStmt* loop) const {
  auto counter = [](const clang::ForStmt* one) {
    auto* declaration = llvm::dyn_cast_or_null<clang::DeclStmt>(one->getInit());
    auto* target = one->getInc() ? assigned_by(one->getInc()) : nullptr;
    auto* variable = declaration && declaration->isSingleDecl()
                         ? llvm::dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                     : target ? named_variable(target)
                              : nullptr;
    return variable ? variable->getNameAsString() : std::string();
  };
  std::string over = counter(loop);
  size_t before = 0;
  for (auto* function : functions_)
    for (auto* other : loops_in(function)) {
      if (other == loop) return "the " + ordinal(before) + (over.empty() ? "loop" : "loop over " + over);
      before += counter(other) == over;
    }
  return "a loop";
}

std::string KernelSource::name(const clang::FunctionDecl* function) const {
  auto lambda = lambdas_.find(function);
  return lambda == lambdas_.end() ? function->getNameAsString() : lambda->second;
}

void KernelSource::leave_out(const std::set<std::string>& names) {
  std::erase_if(functions_, [&](auto* function) { return names.contains(name(function)); });
}

std::string KernelSource::fresh_name(const std::string& stem) const {
  std::string name = stem;
  for (int number = 2; mentions_word(text_, name); ++number) name = stem + std::to_string(number);
  return name;
}

void walk(const clang::Stmt* root, const std::function<bool(const clang::Stmt*)>& visit) {
  if (!root || !visit(root) || llvm::isa<clang::PseudoObjectExpr>(root)) return;
  for (auto* child : root->children()) walk(child, visit);
}

const clang::VarDecl* named_variable(const clang::Expr* expression) {
  auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(expression->IgnoreParenImpCasts());
  return reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
}

const clang::Expr* assigned_by(const clang::Stmt* statement) {
  if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement))
    return binary->isAssignmentOp() ? binary->getLHS() : nullptr;
  if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement))
    return unary->isIncrementDecrementOp() ? unary->getSubExpr() : nullptr;
  auto* call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(statement);
  return call && call->isAssignmentOp() ? call->getArg(0) : nullptr;
}

const clang::VarDecl* variable_of(const clang::Expr* lvalue) {
  for (;;) {
    lvalue = lvalue->IgnoreParenImpCasts();
    if (auto* member = llvm::dyn_cast<clang::MemberExpr>(lvalue); member && !member->isArrow())
      lvalue = member->getBase();
    else if (auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(lvalue);
             subscript && subscript->getBase()->IgnoreParenImpCasts()->getType()->isArrayType())
      lvalue = subscript->getBase();
    else return named_variable(lvalue);
  }
}

std::set<const clang::VarDecl*> changed_within(const clang::Stmt* root) {
  std::set<const clang::VarDecl*> changed;
  auto add = [&](const clang::Expr* target) {
    if (auto* variable = variable_of(target)) changed.insert(variable);
  };
  // Arrays that decay to a pointer only for a subscript, or to a pointer to const.
  std::set<const clang::Stmt*> only_read;
  walk(root, [&](const clang::Stmt* statement) {
    if (auto* target = assigned_by(statement)) add(target);
    if (auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement))
      only_read.insert(element->getBase()->IgnoreParens());
    if (auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(statement)) {
      if (cast->getType()->isPointerType() && cast->getType()->getPointeeType().isConstQualified())
        only_read.insert(cast->getSubExpr()->IgnoreParens());
      if (cast->getCastKind() == clang::CK_ArrayToPointerDecay && !only_read.contains(cast) &&
          !cast->getType()->getPointeeType().isConstQualified())
        add(cast->getSubExpr());
    }
    if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement)) {
      if (unary->getOpcode() == clang::UO_AddrOf) add(unary->getSubExpr());
    } else if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement)) {
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) {
          changed.insert(variable);
          if (variable->getType()->isReferenceType() && variable->getInit()) add(variable->getInit());
        }
    } else if (auto* call = llvm::dyn_cast<clang::CallExpr>(statement)) {
      auto* definition = visible_callee(call);
      for (unsigned i = 0; i < call->getNumArgs(); ++i) {
        // An unresolved call of a visible template passes its arguments as the pattern's parameters say.
        bool by_value = !call->getDirectCallee() && definition && i < definition->getNumParams() &&
                        !definition->getParamDecl(i)->getType()->isReferenceType() &&
                        !definition->getParamDecl(i)->getType()->isPointerType();
        if (!by_value && by_reference(call, i, call->getArg(i))) add(call->getArg(i));
      }
      if (auto* method = llvm::dyn_cast<clang::CXXMemberCallExpr>(call);
          method && !(method->getMethodDecl() && leaves_object(method->getMethodDecl())))
        add(method->getImplicitObjectArgument());
      // What a lambda holds by reference; another object's own call, as `a(i, j)` of a view, was asked above.
      auto* called = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee());
      if (auto* lambda = llvm::dyn_cast<clang::CXXOperatorCallExpr>(call);
          lambda && lambda->getOperator() == clang::OO_Call && (!called || called->getParent()->isLambda()))
        add(lambda->getArg(0));
    }
    return true;
  });
  return changed;
}

std::set<const clang::VarDecl*> changed_after_declaration(const clang::Stmt* root) {
  std::set<const clang::VarDecl*> changed;
  walk(root, [&](const clang::Stmt* statement) {
    if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement))
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
            variable && variable->getType()->isReferenceType() && variable->getInit())
          changed.merge(variables_in(variable->getInit()));
    if (!llvm::isa<clang::Expr>(statement)) return true;
    changed.merge(changed_within(statement));
    return false;
  });
  return changed;
}

bool keeps_addresses(const KernelSource& source, const clang::Stmt* root) {
  bool keeps = false;
  walk(root, [&](const clang::Stmt* statement) {
    auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(statement);
    auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement);
    const clang::Expr* of = cast && cast->getCastKind() == clang::CK_ArrayToPointerDecay ? cast->getSubExpr()
                            : unary && unary->getOpcode() == clang::UO_AddrOf            ? unary->getSubExpr()
                                                                                         : nullptr;
    auto* variable = of ? variable_of(of) : nullptr;
    if (!variable || !variable->hasLocalStorage() || llvm::isa<clang::ParmVarDecl>(variable)) return !keeps;
    const clang::Stmt *below = statement, *up = source.parent(statement);
    while (llvm::isa_and_nonnull<clang::CastExpr, clang::ParenExpr, clang::ConditionalOperator>(up) ||
           (llvm::isa_and_nonnull<clang::BinaryOperator>(up) && llvm::cast<clang::BinaryOperator>(up)->isAdditiveOp()))
      below = up, up = source.parent(up);
    auto* element = llvm::dyn_cast_or_null<clang::ArraySubscriptExpr>(up);
    auto* reached = llvm::dyn_cast_or_null<clang::UnaryOperator>(up);
    auto* compared = llvm::dyn_cast_or_null<clang::BinaryOperator>(up);
    keeps |= !(element && element->getBase() == below) && !(reached && reached->getOpcode() == clang::UO_Deref) &&
             !(compared && compared->isComparisonOp()) &&
             !llvm::isa_and_nonnull<clang::CallExpr, clang::MemberExpr>(up);
    return !keeps;
  });
  return keeps;
}

std::set<const clang::VarDecl*> variables_in(const clang::Stmt* root) {
  std::set<const clang::VarDecl*> found;
  walk(root, [&](const clang::Stmt* statement) {
    if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement))
      if (auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl())) found.insert(variable);
    return true;
  });
  return found;
}

bool mentions(const clang::Stmt* root, const clang::VarDecl* variable) {
  return root && variables_in(root).contains(variable);
}

std::optional<std::pair<std::string, char>> builtin_of(const clang::Stmt* statement) {
  const clang::Expr* whole = llvm::dyn_cast<clang::DeclRefExpr>(statement);
  char member = 0;
  if (auto* pseudo = llvm::dyn_cast<clang::PseudoObjectExpr>(statement)) {
    auto* property = llvm::dyn_cast<clang::MSPropertyRefExpr>(pseudo->getSyntacticForm()->IgnoreParenImpCasts());
    if (!property || !property->getPropertyDecl()->getIdentifier()) return std::nullopt;
    whole = property->getBaseExpr()->IgnoreParenImpCasts(), member = property->getPropertyDecl()->getName().front();
    if (auto* base = llvm::dyn_cast<clang::OpaqueValueExpr>(whole))
      whole = base->getSourceExpr()->IgnoreParenImpCasts();
  }
  auto* reference = llvm::dyn_cast_or_null<clang::DeclRefExpr>(whole);
  const std::string name = reference ? reference->getDecl()->getNameAsString() : "";
  if (name != "threadIdx" && name != "blockIdx" && name != "blockDim" && name != "gridDim") return std::nullopt;
  return std::pair(name, member);
}

bool is_invariant(const clang::Expr* expression, const std::set<const clang::VarDecl*>& changed) {
  bool invariant = true;
  walk(expression, [&](const clang::Stmt* statement) {
    if (llvm::isa<clang::PseudoObjectExpr>(statement)) return invariant &= builtin_of(statement).has_value(), false;
    if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement)) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
      if (llvm::isa<clang::FunctionDecl>(reference->getDecl())) return invariant;  // See CallExpr below.
      bool constant = llvm::isa<clang::EnumConstantDecl>(reference->getDecl()) ||
                      llvm::isa<clang::NonTypeTemplateParmDecl>(reference->getDecl());
      invariant &= constant || (variable && !changed.contains(variable) && !variable->getType().isVolatileQualified() &&
                                (variable->hasLocalStorage() || variable->getType().isConstQualified()));
    } else if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement)) {
      invariant &= !binary->isAssignmentOp() && binary->getOpcode() != clang::BO_Comma;
    } else if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement)) {
      invariant &= !unary->isIncrementDecrementOp() && unary->getOpcode() != clang::UO_Deref &&
                   unary->getOpcode() != clang::UO_AddrOf;
    } else if (auto* member = llvm::dyn_cast<clang::MemberExpr>(statement)) {
      invariant &= !member->isArrow();  // `extent.nx` of an unchanged variable, or the callee of a method call.
    } else if (auto* call = llvm::dyn_cast<clang::CallExpr>(statement)) {
      invariant &= is_pure(call, kCallDepth);
    } else {
      invariant &= llvm::isa<clang::IntegerLiteral, clang::FloatingLiteral, clang::ParenExpr, clang::ImplicitCastExpr,
                             clang::CStyleCastExpr, clang::CXXFunctionalCastExpr, clang::CXXStaticCastExpr,
                             clang::SubstNonTypeTemplateParmExpr>(statement);
    }
    return invariant;
  });
  return invariant;
}

namespace {

using Names = std::initializer_list<const char*>;  ///< Prefixes of function names.
constexpr Names kBlockBarriers = {"__syncthreads", "__barrier_sync", "sync"};
constexpr Names kVotesAndExchanges = {
    "__syncthreads_", "__syncwarp",   "__barrier_sync", "__shfl",   "__ballot", "__any",
    "__all",          "__activemask", "__match",        "__reduce", "sync"};
constexpr Names kBarriers = {"__sync", "__barrier_sync", "__shfl",  "__ballot", "__any",
                             "__all",  "__activemask",   "__match", "__reduce", "sync"};

bool has_barrier_within(const clang::Stmt* root, Names barriers, int depth) {
  bool found = false;
  walk(root, [&](const clang::Stmt* statement) {
    auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
    if (!call) return !found;
    std::string name;
    if (auto* callee = call->getDirectCallee(); callee && callee->getIdentifier()) name = callee->getName().str();
    for (auto* word : barriers) found |= name.starts_with(word);
    auto* definition = visible_callee(call);
    auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee());
    if (method && (method->isTrivial() || method->isDefaulted())) return !found;  // `p = particles[i]`
    bool own = definition && call->getBeginLoc().isValid() &&
               definition->getASTContext().getSourceManager().isWrittenInMainFile(definition->getLocation());
    if (own && depth > 0) found |= has_barrier_within(definition->getBody(), barriers, depth - 1);
    // A callee that is not visible may synchronise: calls through pointers, unresolved names, methods such as
    // block.sync().
    else if (!call->getDirectCallee() || llvm::isa<clang::CXXMemberCallExpr>(call)) found = true;
    return !found;
  });
  return found;
}

}  // namespace

bool has_barrier(const clang::Stmt* root) { return has_barrier_within(root, kBarriers, kCallDepth); }
bool has_block_barrier(const clang::Stmt* root) { return has_barrier_within(root, kBlockBarriers, kCallDepth); }
bool has_vote_or_exchange(const clang::Stmt* root) { return has_barrier_within(root, kVotesAndExchanges, kCallDepth); }

bool touches_other_memory(const clang::Stmt* root, const clang::VarDecl* array) {
  if (array->getType().isRestrictQualified()) return false;  // The program promises that nothing aliases it.
  bool touches = false;
  walk(root, [&](const clang::Stmt* statement) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    touches |= llvm::isa<clang::CXXThisExpr>(statement) ||
               (variable && variable != array && !variable->getType()->isArithmeticType());
    return !touches;
  });
  return touches;
}

bool has_dynamic_shared(const KernelSource& source) {
  bool found = false;
  for (auto* function : source.functions())
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement))
        for (auto* declared : declaration->decls())
          found |= declared->hasAttr<clang::CUDASharedAttr>() && llvm::isa<clang::VarDecl>(declared) &&
                   llvm::cast<clang::VarDecl>(declared)->hasExternalStorage();
      // Declared at file scope or in another function.
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
      auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
      found |= variable && variable->hasAttr<clang::CUDASharedAttr>() && variable->hasExternalStorage();
      return !found;
    });
  return found;
}

std::vector<const clang::ForStmt*> loops_in(const clang::FunctionDecl* function) {
  std::vector<const clang::ForStmt*> loops;
  walk(function->getBody(), [&](const clang::Stmt* statement) {
    if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) loops.push_back(loop);
    return !llvm::isa<clang::LambdaExpr>(statement);
  });
  return loops;
}

std::string squeezed(std::string_view text) {
  std::string out;
  for (char c : blank_comments(text))
    if (!std::isspace(static_cast<unsigned char>(c))) out += c;
  return out;
}

}  // namespace kernelift::tuner
