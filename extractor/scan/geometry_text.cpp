// Clang expressions are translated recursively to core's Expression; one that it cannot express becomes nullopt.
#include "extractor/scan/geometry_text.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Lex/Preprocessor.h"
#include "extractor/scan/assignments.h"

namespace kernelift::extractor {

using namespace clang;

namespace {

// Deep enough for helpers calling helpers; a bound against recursion through cyclic initialisers.
constexpr int kMaxDepth = 24;

const Expr* bare(const Expr* e) {
  for (;;) {
    const Expr* before = e;
    e = e->IgnoreParenImpCasts();
    if (e->getType().isNull()) return e;
    if (auto* cleanups = llvm::dyn_cast<ExprWithCleanups>(e)) e = cleanups->getSubExpr();
    if (auto* temporary = llvm::dyn_cast<MaterializeTemporaryExpr>(e)) e = temporary->getSubExpr();
    if (auto* bind = llvm::dyn_cast<CXXBindTemporaryExpr>(e)) e = bind->getSubExpr();
    if (auto* constant = llvm::dyn_cast<ConstantExpr>(e)) e = constant->getSubExpr();
    if (auto* argument = llvm::dyn_cast<CXXDefaultArgExpr>(e)) e = argument->getExpr();
    if (auto* substituted = llvm::dyn_cast<SubstNonTypeTemplateParmExpr>(e)) e = substituted->getReplacement();
    if (auto* cast = llvm::dyn_cast<ExplicitCastExpr>(e); cast && cast->getType()->isIntegralOrEnumerationType() &&
                                                          cast->getSubExpr()->getType()->isIntegralOrEnumerationType())
      e = cast->getSubExpr();
    if (e == before) return e;
  }
}

/// The expression beneath casts of any type, for the operands of a float quotient.
const Expr* through_casts(const Expr* e) {
  for (;;) {
    const Expr* before = e;
    e = bare(e);
    if (auto* cast = llvm::dyn_cast<ExplicitCastExpr>(e)) e = cast->getSubExpr();
    if (e == before) return e;
  }
}

/// The integer expression whose value a float operand has: n for `(float)n`, `n * 1.0` and `ceil((float)n)`. Else null.
const Expr* as_integer(const Expr* e) {
  e = through_casts(e);
  if (auto* call = llvm::dyn_cast<CallExpr>(e); call && call->getNumArgs() == 1 && call->getDirectCallee())
    if (auto* name = call->getDirectCallee()->getIdentifier();
        name && (name->isStr("ceil") || name->isStr("ceilf") || name->isStr("floor") || name->isStr("floorf")))
      e = through_casts(call->getArg(0));
  auto is_one = [](const Expr* side) {
    auto* literal = llvm::dyn_cast<FloatingLiteral>(through_casts(side));
    return literal && literal->getValue().isExactlyValue(1);
  };
  if (auto* product = llvm::dyn_cast<BinaryOperator>(e);
      product && product->getOpcode() == BO_Mul && product->getType()->isRealFloatingType()) {
    if (is_one(product->getLHS())) e = through_casts(product->getRHS());
    else if (is_one(product->getRHS())) e = through_casts(product->getLHS());
  }
  return e->getType()->isIntegralOrEnumerationType() ? e : nullptr;
}

/// `16.0f` is 16; nullopt for anything else.
std::optional<Expression> whole_literal(const Expr* e) {
  auto* literal = llvm::dyn_cast<FloatingLiteral>(through_casts(e));
  if (!literal) return std::nullopt;
  double value = literal->getValueAsApproximateDouble();
  if (value < 1 || value >= 1e9 || value != double(int64_t(value))) return std::nullopt;
  return Expression::constant(int64_t(value));
}

/// nullopt for names that expressions cannot have.
std::optional<Expression> variable_named(std::string name) {
  return Expression::is_name(name) ? std::optional(Expression::variable(std::move(name))) : std::nullopt;
}

std::optional<Expression> integer_of(const llvm::APSInt& value) {
  return value.isRepresentableByInt64() ? std::optional(Expression::constant(value.getExtValue())) : std::nullopt;
}

/// Helpers that call helpers can multiply an expression until no reader of scan.json would accept its text.
void drop_giants(GeometryUse& use) {
  for (auto& axis : use.axes)
    if (axis && !axis->reads_back()) axis.reset();
}

}  // namespace

/// Whether the class or one of its bases has data.
static bool has_data(const CXXRecordDecl* record) {
  return !record->field_empty() || record->isPolymorphic() || std::ranges::any_of(record->bases(), [](auto& base) {
    auto* of = base.getType()->getAsCXXRecordDecl();
    return !of || !of->hasDefinition() || has_data(of->getDefinition());
  });
}

/// Whether a field's type, width or initial value names the constant.
static bool is_named_by_fields(const CXXRecordDecl* record, const ValueDecl* constant) {
  struct Names : DynamicRecursiveASTVisitor {
    const ValueDecl* wanted = nullptr;
    bool found = false;
    bool VisitDeclRefExpr(DeclRefExpr* name) override {
      found |= name->getDecl()->getCanonicalDecl() == wanted;
      return !found;
    }
  } names;
  names.wanted = llvm::cast<ValueDecl>(constant->getCanonicalDecl());
  for (auto* field : record->fields()) names.TraverseDecl(field);
  return names.found;
}

bool is_beside_data(const ValueDecl* constant) {
  auto* record = llvm::dyn_cast<CXXRecordDecl>(constant->getDeclContext());
  return record && record->hasDefinition() && has_data(record->getDefinition());
}

bool belongs_to_type(const ValueDecl* constant) {
  auto* context = constant->getDeclContext();
  if (auto* list = llvm::dyn_cast<EnumDecl>(context)) {
    if (list->hasNameForLinkage() || list->isEmbeddedInDeclarator()) return true;
    for (auto* one : list->enumerators())
      if (!one->getInitExpr()) return true;
    context = list->getParent();
  }
  auto* record = llvm::dyn_cast<CXXRecordDecl>(context);
  if (!record) return context->isRecord();
  if (!record->hasDefinition() || record->isDependentContext() || record->isLambda() ||
      llvm::isa<ClassTemplateSpecializationDecl>(record))
    return true;
  record = record->getDefinition();
  return has_data(record) && (!llvm::isa<VarDecl>(constant) || is_named_by_fields(record, constant));
}

std::string constant_name(const ValueDecl* constant) {
  auto* variable = llvm::dyn_cast<VarDecl>(constant);
  if (variable && variable->isLocalVarDecl()) return variable->getNameAsString();
  PrintingPolicy policy(constant->getASTContext().getLangOpts());
  policy.SuppressUnwrittenScope = true;
  std::string name;
  llvm::raw_string_ostream stream(name);
  constant->printQualifiedName(stream, policy);
  return name;
}

GeometryReader::GeometryReader(const ParsedUnit& unit, const FunctionDecl* function)
    : unit_(unit), assignments_(std::make_unique<Assignments>(function)) {}
GeometryReader::~GeometryReader() = default;

void GeometryReader::begin(const CallExpr* launch) {
  launch_ = launch, passed_.clear();
  if (!llvm::isa<CUDAKernelCallExpr>(launch)) return;  // Others pass an array of arguments.
  for (auto* argument : launch->arguments())
    if (auto* name = llvm::dyn_cast<DeclRefExpr>(bare(argument)))
      if (auto* variable = llvm::dyn_cast<VarDecl>(name->getDecl())) passed_.insert(variable);
}

GeometryUse GeometryReader::integer(const Expr* expression) {
  GeometryUse use;
  if (!expression) return use;
  place_ = expression;
  use.axes[0] = read(expression, use, {}, 0);
  drop_giants(use);
  return use;
}

GeometryUse GeometryReader::dim3(const Expr* expression) {
  GeometryUse use;
  place_ = expression;
  if (expression) read_dim3(expression, use, 0);
  drop_giants(use);
  return use;
}

GeometryReader::Field GeometryReader::field(const VarDecl* record, llvm::StringRef name) const {
  if (auto* values = assignments_->field(record, name.str()))
    return values->size() == 1 && values->front() ? Field{true, values->front()} : Field{};
  auto* list = record->getInit() ? llvm::dyn_cast<InitListExpr>(bare(record->getInit())) : nullptr;
  auto* type = record->getType()->getAsCXXRecordDecl();
  if (!list || !type) return {};
  if (auto* semantic = list->getSemanticForm()) list = semantic;
  unsigned at = 0;
  for (auto* one : type->fields()) {
    if (one->getName() == name) {
      bool zero = at >= list->getNumInits() || llvm::isa<ImplicitValueInitExpr>(list->getInit(at));
      return {true, zero ? nullptr : list->getInit(at)};
    }
    ++at;
  }
  return {};
}

bool GeometryReader::read_dim3(const Expr* e, GeometryUse& use, int depth) {
  if (depth > kMaxDepth) return false;
  e = bare(e);
  if (auto* cast = llvm::dyn_cast<CXXFunctionalCastExpr>(e)) return read_dim3(cast->getSubExpr(), use, depth + 1);
  if (auto* cast = llvm::dyn_cast<CStyleCastExpr>(e)) return read_dim3(cast->getSubExpr(), use, depth + 1);
  // In a template's pattern, initialiser lists have no type yet.
  auto* braces = llvm::dyn_cast<InitListExpr>(e);
  auto* parentheses = llvm::dyn_cast<ParenListExpr>(e);
  if (braces || parentheses) {
    unsigned count = braces ? braces->getNumInits() : parentheses->getNumExprs();
    auto at = [&](unsigned i) { return braces ? braces->getInit(i) : parentheses->getExpr(i); };
    if (count == 1 && is_dim3(at(0)->getType())) return read_dim3(at(0), use, depth + 1);
    for (unsigned i = 0; i < 3; ++i)
      use.axes[i] = i < count ? read(at(i), use, {}, depth + 1) : Expression::constant(1);
    return count <= 3;
  }
  if (e->getType().isNull() || e->getType()->isDependentType()) return false;
  if (e->getType()->isIntegralOrEnumerationType()) {
    use.axes[0] = read(e, use, {}, depth + 1);
    use.axes[1] = use.axes[2] = Expression::constant(1);
    return true;
  }
  if (auto* construct = llvm::dyn_cast<CXXConstructExpr>(e)) {
    if (construct->getNumArgs() == 1 && is_dim3(construct->getArg(0)->getType()))
      return read_dim3(construct->getArg(0), use, depth + 1);
    if (!is_dim3(construct->getType())) return false;
    for (unsigned i = 0; i < 3; ++i) {
      bool defaulted = i >= construct->getNumArgs() || llvm::isa<CXXDefaultArgExpr>(construct->getArg(i));
      use.axes[i] = defaulted ? Expression::constant(1) : read(construct->getArg(i), use, {}, depth + 1);
    }
    return true;
  }
  auto* reference = llvm::dyn_cast<DeclRefExpr>(e);
  auto* variable = reference ? llvm::dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  if (!variable || !is_dim3(variable->getType())) return false;
  if (variable->hasGlobalStorage())
    return variable->getType().isConstQualified() && variable->getInit() &&
           read_dim3(variable->getInit(), use, depth + 1);
  bool known = false;
  for (int axis = 0; axis < 3; ++axis) {
    auto* given = assignments_->last(variable, axis, place_);
    if (!given) continue;
    At at(*this, given->place);
    GeometryUse whole;
    if (given->axis >= 0) use.axes[axis] = read(given->value, use, {}, depth + 1);
    else if (read_dim3(given->value, whole, depth + 1)) use.axes[axis] = whole.axes[axis], use.add_names(whole);
    known = true;
  }
  return known;
}

GeometryReader::Read GeometryReader::literal(const Expr* literal, GeometryUse& use) const {
  const llvm::APInt value = llvm::cast<IntegerLiteral>(literal)->getValue();
  const Read spelled = integer_of(llvm::APSInt(value, true));
  SourceLocation at = literal->getBeginLoc();
  while (at.isMacroID() && unit_.sources.isMacroArgExpansion(at)) at = unit_.sources.getImmediateSpellingLoc(at);
  if (!at.isMacroID()) return spelled;
  std::string name = Lexer::getImmediateMacroName(at, unit_.sources, unit_.context.getLangOpts()).str();
  SourceLocation body = unit_.sources.getSpellingLoc(at);
  auto* identifier = unit_.preprocessor.getIdentifierInfo(name);
  for (auto* directive = unit_.preprocessor.getLocalMacroDirectiveHistory(identifier); directive;
       directive = directive->getPrevious()) {
    auto* definition = llvm::dyn_cast<DefMacroDirective>(directive);
    auto* macro = definition ? definition->getInfo() : nullptr;
    if (!macro || macro->isFunctionLike() || macro->tokens_empty()) continue;
    size_t values = 0;
    bool here = false;
    for (auto& token : macro->tokens()) {
      if (token.isOneOf(tok::l_paren, tok::r_paren)) continue;
      ++values;
      here |= token.getLocation() == body;
    }
    if (values != 1 || !here) continue;
    use.macros.insert(macro);
    return variable_named(name);
  }
  return spelled;
}

GeometryReader::Read GeometryReader::read(const Expr* e, GeometryUse& use, const Substitution& substitution,
                                          int depth) {
  if (depth > kMaxDepth) return std::nullopt;
  e = bare(e);
  if (e->getType().isNull()) return std::nullopt;
  if (llvm::isa<IntegerLiteral>(e)) return literal(e, use);
  if (e->getType()->isRealFloatingType()) return read_call(e, use, substitution, depth);
  if (auto* op = llvm::dyn_cast<BinaryOperator>(e)) {
    auto operation = Expression::binary_op(op->getOpcodeStr().str());
    if (!operation || !op->getType()->isIntegralOrEnumerationType()) return std::nullopt;
    Read left = read(op->getLHS(), use, substitution, depth + 1),
         right = read(op->getRHS(), use, substitution, depth + 1);
    return left && right ? Read(Expression::binary(*operation, *left, *right)) : std::nullopt;
  }
  if (auto* op = llvm::dyn_cast<UnaryOperator>(e)) {
    if (op->getOpcode() != UO_Minus && op->getOpcode() != UO_Plus && op->getOpcode() != UO_LNot &&
        op->getOpcode() != UO_Not)
      return std::nullopt;
    Read operand = read(op->getSubExpr(), use, substitution, depth + 1);
    if (!operand || op->getOpcode() == UO_Plus) return operand;
    using Op = Expression::Op;
    return Expression::unary(op->getOpcode() == UO_Minus  ? Op::Negate
                             : op->getOpcode() == UO_LNot ? Op::Not
                                                          : Op::Complement,
                             *operand);
  }
  if (auto* op = llvm::dyn_cast<ConditionalOperator>(e)) {
    Read condition = read(op->getCond(), use, substitution, depth + 1),
         then = read(op->getTrueExpr(), use, substitution, depth + 1),
         otherwise = read(op->getFalseExpr(), use, substitution, depth + 1);
    if (!condition || !then || !otherwise) return std::nullopt;
    return Expression::conditional(*condition, *then, *otherwise);
  }
  if (auto* construct = llvm::dyn_cast<InitListExpr>(e);
      construct && construct->getNumInits() == 1 && !construct->getType()->isRecordType())
    return read(construct->getInit(0), use, substitution, depth + 1);
  if (llvm::isa<UnaryExprOrTypeTraitExpr>(e)) {
    auto value = e->isValueDependent() ? std::nullopt : e->getIntegerConstantExpr(unit_.context);
    return value ? integer_of(*value) : std::nullopt;
  }
  if (auto* reference = llvm::dyn_cast<DeclRefExpr>(e)) {
    if (auto given = substitution.find(reference->getDecl()); given != substitution.end()) return given->second;
    if (auto* constant = llvm::dyn_cast<EnumConstantDecl>(reference->getDecl())) {
      if (belongs_to_type(constant)) return integer_of(constant->getInitVal());
      use.enumerators.insert(constant);
      return variable_named(constant_name(constant));
    }
    if (auto* parameter = llvm::dyn_cast<NonTypeTemplateParmDecl>(reference->getDecl()))
      return variable_named(parameter->getNameAsString());
    auto* variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
    return variable && variable->getType()->isIntegralOrEnumerationType()
               ? read_variable(variable, use, substitution, depth)
               : std::nullopt;
  }
  if (auto* member = llvm::dyn_cast<MemberExpr>(e)) {
    if (!member->getType()->isIntegralOrEnumerationType() || !member->getMemberDecl()->getIdentifier())
      return std::nullopt;
    std::string name = member->getMemberDecl()->getNameAsString();
    auto* base = bare(member->getBase());
    if (int axis = axis_of(name); axis >= 0 && is_dim3(base->getType())) {
      GeometryUse inner;
      if (read_dim3(base, inner, depth + 1) && inner.axes[axis]) {
        use.add_names(inner);
        return inner.axes[axis];
      }
    }
    if (llvm::isa<CXXThisExpr>(base)) return variable_named(name);
    if (auto* reference = llvm::dyn_cast<DeclRefExpr>(base); reference && !reference->getType()->isDependentType())
      return variable_named(reference->getDecl()->getNameAsString() + "." + name);
    return std::nullopt;
  }
  return read_call(e, use, substitution, depth);
}

GeometryReader::Read GeometryReader::read_variable(const VarDecl* variable, GeometryUse& use,
                                                   const Substitution& substitution, int depth) {
  const VarDecl* initialised = nullptr;
  const Expr* init = variable->getAnyInitializer(initialised);
  bool constant = init && (variable->isConstexpr() || variable->getType().isConstQualified()) &&
                  !init->isValueDependent() && init->getIntegerConstantExpr(unit_.context).has_value();
  if (constant) {
    // A constant is named if its initialiser is a literal; one computed from other constants is replaced by them.
    Read value = read(init, use, {}, depth + 1);
    bool literal = value && value->as_constant().value_or(-1) >= 0;
    if (value && (!literal || belongs_to_type(variable))) return value;
    use.constants.insert(initialised);
    return variable_named(constant_name(variable));
  }
  if (auto* given = assignments_->last(variable, -1, place_)) {
    const bool passed = passed_.contains(variable) && assignments_->last(variable, -1, launch_) == given;
    At at(*this, given->place);
    GeometryUse names;
    Read value = read(given->value, names, substitution, depth + 1);
    const bool of_constants = !names.macros.empty() || !names.constants.empty() || !names.enumerators.empty();
    use.add_names(names);
    auto is_passed = [&](const std::string& name) {
      return std::ranges::any_of(passed_, [&](auto* one) { return one->getNameAsString() == name; });
    };
    if (value && (!passed || of_constants || std::ranges::all_of(value->variables(), is_passed))) return value;
  }
  // A name stands for the value at the launch.
  if (launch_ && assignments_->may_change(variable, place_, launch_)) return std::nullopt;
  return variable_named(variable->getNameAsString());
}

std::optional<Quotient> GeometryReader::read_quotient(const Expr* e, GeometryUse& use, const Substitution& substitution,
                                                      int depth) {
  auto* quotient = llvm::dyn_cast<BinaryOperator>(through_casts(e));
  if (!quotient || quotient->getOpcode() != BO_Div || !quotient->getType()->isRealFloatingType()) return std::nullopt;
  auto side = [&](const Expr* operand) {
    auto* integer = as_integer(operand);
    return integer ? read(integer, use, substitution, depth + 1) : whole_literal(operand);
  };
  Read dividend = side(quotient->getLHS()), divisor = side(quotient->getRHS());
  return dividend && divisor ? std::optional(Quotient{*dividend, *divisor}) : std::nullopt;
}

GeometryReader::Read GeometryReader::read_call(const Expr* e, GeometryUse& use, const Substitution& substitution,
                                               int depth) {
  // (int)ceil((float)n / block) is ceil_div(n, block). Without the ceil the quotient is truncated.
  if (auto* cast = llvm::dyn_cast<ExplicitCastExpr>(e); cast && cast->getType()->isIntegralOrEnumerationType())
    e = bare(cast->getSubExpr());
  if (e->getType()->isRealFloatingType())
    if (auto quotient = read_quotient(e, use, substitution, depth)) return quotient->dividend / quotient->divisor;
  auto* call = llvm::dyn_cast<CallExpr>(e);
  auto* callee = call ? call->getDirectCallee() : nullptr;
  if (!callee || !callee->getIdentifier()) return std::nullopt;
  auto name = callee->getName();
  if ((name == "ceil" || name == "ceilf") && call->getNumArgs() == 1) {
    auto quotient = read_quotient(call->getArg(0), use, substitution, depth);
    return quotient ? Read(ceil_div(quotient->dividend, quotient->divisor)) : std::nullopt;
  }
  if (!call->getType()->isIntegralOrEnumerationType()) return std::nullopt;
  Substitution arguments;
  std::vector<Expression> values;
  for (unsigned i = 0; i < call->getNumArgs(); ++i) {
    Read value = read(call->getArg(i), use, substitution, depth + 1);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  if ((name == "min" || name == "max") && values.size() == 2)
    return Expression::binary(name == "min" ? Expression::Op::Min : Expression::Op::Max, values[0], values[1]);
  // A helper that consists of one return statement is inlined.
  const FunctionDecl* definition = nullptr;
  if (!callee->isDefined(definition) || definition->getNumParams() != values.size() ||
      llvm::isa<CXXMethodDecl>(definition))
    return std::nullopt;
  auto* body = llvm::dyn_cast_or_null<CompoundStmt>(definition->getBody());
  if (!body || body->size() != 1) return std::nullopt;
  auto* answer = llvm::dyn_cast<ReturnStmt>(body->body_front());
  if (!answer || !answer->getRetValue()) return std::nullopt;
  for (unsigned i = 0; i < values.size(); ++i) arguments[definition->getParamDecl(i)] = values[i];
  return read(answer->getRetValue(), use, arguments, depth + 1);
}

}  // namespace kernelift::extractor
