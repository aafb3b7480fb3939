// Clang expressions are translated recursively to core's Expression; one that it cannot express becomes nullopt.
#include "extractor/scan/geometry_text.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Lex/Preprocessor.h"
#include "extractor/scan/effects/assignments.h"

namespace kernelift::extractor {

using namespace clang;

namespace {

// Deep enough for helpers calling helpers; a bound against recursion through cyclic initialisers.
constexpr int kMaxDepth = 24;

uint64_t declared_bits(QualType type) {
  if (auto* of = type->getAsEnumDecl()) type = of->getIntegerType();
  auto* builtin = type.isNull() ? nullptr : type->getAs<BuiltinType>();
  if (!builtin) return 64;
  switch (builtin->getKind()) {
    case BuiltinType::Bool: return 1;
    case BuiltinType::Char_S:
    case BuiltinType::Char_U:
    case BuiltinType::SChar:
    case BuiltinType::UChar:
    case BuiltinType::Char8: return 8;
    case BuiltinType::Short:
    case BuiltinType::UShort:
    case BuiltinType::Char16: return 16;
    case BuiltinType::Int:
    case BuiltinType::UInt:
    case BuiltinType::Char32:
    case BuiltinType::WChar_S:
    case BuiltinType::WChar_U: return 32;
    default: return 64;
  }
}

/// Whether a conversion may change an integer: to fewer than 32 bits, or from floating point to so few.
bool narrows(const CastExpr* cast) {
  const QualType to = cast->getType(), from = cast->getSubExpr()->getType();
  if (to.isNull() || from.isNull() || to->isDependentType() || from->isDependentType()) return false;
  constexpr uint64_t kWide = 32;
  if (!to->isIntegralOrEnumerationType() || declared_bits(to) >= kWide) return false;
  if (from->isRealFloatingType()) return true;
  return from->isIntegralOrEnumerationType() &&
         (declared_bits(to) < declared_bits(from) ||
          (from->isSignedIntegerOrEnumerationType() && to->isUnsignedIntegerOrEnumerationType()));
}

/// The expression beneath what leaves its value as it is, and beneath implicit conversions of fractions to integers
/// unless `with_cuts`.
const Expr* bare(const Expr* e, bool with_cuts = false) {
  for (;;) {
    const Expr* before = e;
    e = e->IgnoreParens();
    if (e->getType().isNull()) return e;
    if (auto* cast = llvm::dyn_cast<CastExpr>(e);
        cast && (narrows(cast) || (with_cuts && cast->getCastKind() == CK_FloatingToIntegral)))
      return e;
    if (auto* cast = llvm::dyn_cast<ImplicitCastExpr>(e)) e = cast->getSubExpr();
    if (auto* cleanups = llvm::dyn_cast<ExprWithCleanups>(e)) e = cleanups->getSubExpr();
    if (auto* temporary = llvm::dyn_cast<MaterializeTemporaryExpr>(e)) e = temporary->getSubExpr();
    if (auto* bind = llvm::dyn_cast<CXXBindTemporaryExpr>(e)) e = bind->getSubExpr();
    if (auto* constant = llvm::dyn_cast<ConstantExpr>(e)) e = constant->getSubExpr();
    if (auto* argument = llvm::dyn_cast<CXXDefaultArgExpr>(e)) e = argument->getExpr();
    if (auto* substituted = llvm::dyn_cast<SubstNonTypeTemplateParmExpr>(e)) e = substituted->getReplacement();
    if (auto* cast = llvm::dyn_cast<ExplicitCastExpr>(e); cast && !narrows(cast) &&
                                                          cast->getType()->isIntegralOrEnumerationType() &&
                                                          cast->getSubExpr()->getType()->isIntegralOrEnumerationType())
      e = cast->getSubExpr();
    if (e == before) return e;
  }
}

bool is_single(QualType type) {
  return type->isRealFloatingType() && !type->isSpecificBuiltinType(BuiltinType::Double) &&
         !type->isSpecificBuiltinType(BuiltinType::LongDouble);
}

/// The expression beneath casts to floating point, for the operands of a quotient. `single`: one of less than double
/// precision is among them.
const Expr* through_casts(const Expr* e, bool& single) {
  for (;;) {
    const Expr* before = e;
    e = bare(e, true);
    single |= !e->getType().isNull() && is_single(e->getType());
    if (auto* cast = llvm::dyn_cast<ExplicitCastExpr>(e); cast && cast->getType()->isRealFloatingType())
      e = cast->getSubExpr();
    if (e == before) return e;
  }
}

/// The integer expression whose value a float operand has: n for `(float)n`, `n * 1.0` and `ceil((float)n)`. Else null.
const Expr* as_integer(const Expr* e, bool& single) {
  e = through_casts(e, single);
  if (auto* call = llvm::dyn_cast<CallExpr>(e); call && call->getNumArgs() == 1 && call->getDirectCallee())
    if (auto* name = call->getDirectCallee()->getIdentifier();
        name && (name->isStr("ceil") || name->isStr("ceilf") || name->isStr("floor") || name->isStr("floorf")))
      e = through_casts(call->getArg(0), single);
  auto is_one = [](const Expr* side) {
    bool any = false;
    auto* literal = llvm::dyn_cast<FloatingLiteral>(through_casts(side, any));
    return literal && literal->getValue().isExactlyValue(1);
  };
  if (auto* product = llvm::dyn_cast<BinaryOperator>(e);
      product && product->getOpcode() == BO_Mul && product->getType()->isRealFloatingType()) {
    if (is_one(product->getLHS())) e = through_casts(product->getRHS(), single);
    else if (is_one(product->getRHS())) e = through_casts(product->getLHS(), single);
  }
  return e->getType()->isIntegralOrEnumerationType() ? e : nullptr;
}

/// Single precision holds integers up to that, and rounds no quotient of one to another whole number.
constexpr int64_t kMostInSingle = 1 << 24;

/// Whether that is known of the integer; nullopt: it depends on what it is at run time.
std::optional<bool> is_exact_in_single(const Expr* integer, const Expression& value, const ASTContext& context) {
  constexpr uint64_t kFewBits = 16;
  if (declared_bits(integer->getType()) <= kFewBits) return true;
  if (auto constant = value.as_constant()) return *constant >= 0 && *constant <= kMostInSingle;
  Expr::EvalResult known;
  if (integer->isValueDependent() || !integer->EvaluateAsInt(known, context)) return std::nullopt;
  return known.Val.getInt().isNonNegative() && known.Val.getInt() <= kMostInSingle;
}

/// `16.0f` is 16; nullopt for anything else.
std::optional<Expression> whole_literal(const Expr* e) {
  bool single = false;
  auto* literal = llvm::dyn_cast<FloatingLiteral>(through_casts(e, single));
  if (!literal) return std::nullopt;
  double value = literal->getValueAsApproximateDouble();
  if (value < 1 || value >= 1e9 || value != double(int64_t(value))) return std::nullopt;
  return Expression::constant(int64_t(value));
}

/// What is left of an integer in a type of fewer than 32 bits.
std::optional<Expression> narrowed(const Expression& value, QualType type, bool from_real) {
  using Op = Expression::Op;
  if (type->isBooleanType())
    return from_real ? std::nullopt : std::optional(Expression::binary(Op::NotEqual, value, Expression::constant(0)));
  const bool is_signed = type->isSignedIntegerOrEnumerationType();
  const int64_t sign = is_signed ? int64_t(1) << (declared_bits(type) - 1) : 0;
  const int64_t most = (int64_t(1) << declared_bits(type)) - 1;
  if (auto constant = value.as_constant(); constant && *constant >= -sign && *constant <= most - sign) return value;
  if (from_real) return std::nullopt;  // What does not fit has no defined result.
  const Expression low = Expression::binary(Op::BitAnd, value, Expression::constant(most));
  if (!is_signed) return low;
  const Expression at_sign = Expression::constant(sign);
  return Expression::binary(Op::Subtract, Expression::binary(Op::BitXor, low, at_sign), at_sign);
}

/// The variable, or member of one, that a local reference is another name of; null: it is none, or of something else.
const Expr* referred(const VarDecl* variable) {
  if (llvm::isa<ParmVarDecl>(variable) || !variable->getType()->isReferenceType() || !variable->getInit())
    return nullptr;
  auto* init = variable->getInit()->IgnoreParenNoopCasts(variable->getASTContext());
  auto place = Place::of(init);
  if (!place || !init->isLValue() || !(variable->isLocalVarDecl())) return nullptr;
  // `int& n = p->n;` stays the same n when p leads to another.
  return place->variable && place->field && !place->variable->getType()->isRecordType() ? nullptr : init;
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

GeometryReader::GeometryReader(const ParsedUnit& unit, Effects& effects, const FunctionDecl* function)
    : unit_(unit), effects_(effects), function_(function) {}
GeometryReader::~GeometryReader() = default;

void GeometryReader::begin(const CallExpr* launch, const std::vector<const Expr*>& passed) {
  if (!assignments_) assignments_ = std::make_unique<Assignments>(function_, effects_);
  launch_ = launch, passed_.clear();
  struct Names : DynamicRecursiveASTVisitor {
    std::map<std::string, std::set<const Decl*>> all;
    bool VisitDeclRefExpr(DeclRefExpr* name) override {
      if (name->getDecl()->getIdentifier())
        all[name->getDecl()->getNameAsString()].insert(name->getDecl()->getCanonicalDecl());
      return true;
    }
    bool VisitMemberExpr(MemberExpr* member) override {
      if (llvm::isa<CXXThisExpr>(member->getBase()->IgnoreParenImpCasts()) && member->getMemberDecl()->getIdentifier())
        all[member->getMemberDecl()->getNameAsString()].insert(member->getMemberDecl()->getCanonicalDecl());
      return true;
    }
  } names;
  names.TraverseStmt(const_cast<CallExpr*>(launch));
  mentioned_ = std::move(names.all);
  for (auto* argument : passed)
    if (auto* name = argument ? llvm::dyn_cast<DeclRefExpr>(bare(argument)) : nullptr)
      if (auto* variable = llvm::dyn_cast<VarDecl>(name->getDecl())) passed_.insert(variable);
}

bool GeometryReader::changes_within(const Expr* expression) const {
  return assignments_ && launch_ && assignments_->changes_within(expression, launch_);
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
  auto* type = record->getType()->getAsCXXRecordDecl();
  const FieldDecl* member = nullptr;
  if (type && type->hasDefinition())
    for (auto* one : type->fields())
      if (one->getName() == name) member = one;
  auto is_lost = [&](const Stmt* assignment) {
    return !member ||
           assignments_->is_lost({record->getCanonicalDecl(), member, member->getType()}, assignment, launch_);
  };
  if (auto* values = assignments_->field(record, name.str()))
    return values->size() == 1 && values->front().value && !is_lost(values->front().place)
               ? Field{true, values->front().value}
               : Field{};
  if (record->getInit() && is_lost(record->getInit())) return {};
  auto* list = record->getInit() ? llvm::dyn_cast<InitListExpr>(bare(record->getInit())) : nullptr;
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
  if (auto* same = referred(variable)) return read_dim3(same, use, depth + 1);
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
  if (auto* cast = llvm::dyn_cast<CastExpr>(e); cast && narrows(cast)) {
    Read value = read(cast->getSubExpr(), use, substitution, depth + 1);
    return value ? narrowed(*value, cast->getType(), cast->getSubExpr()->getType()->isRealFloatingType())
                 : std::nullopt;
  }
  if (e->getType()->isRealFloatingType()) return read_call(e, use, substitution, depth);
  if (auto* op = llvm::dyn_cast<BinaryOperator>(e)) {
    auto operation = Expression::binary_op(op->getOpcodeStr().str());
    if (!operation || !op->getType()->isIntegralOrEnumerationType()) return std::nullopt;
    auto side = [&](const Expr* one) {
      return op->isLogicalOp() ? read_condition(one, use, substitution, depth + 1)
                               : read(one, use, substitution, depth + 1);
    };
    Read left = side(op->getLHS()), right = side(op->getRHS());
    return left && right ? Read(Expression::binary(*operation, *left, *right)) : std::nullopt;
  }
  if (auto* op = llvm::dyn_cast<UnaryOperator>(e)) {
    if (op->getOpcode() != UO_Minus && op->getOpcode() != UO_Plus && op->getOpcode() != UO_LNot &&
        op->getOpcode() != UO_Not)
      return std::nullopt;
    Read operand = op->getOpcode() == UO_LNot ? read_condition(op->getSubExpr(), use, substitution, depth + 1)
                                              : read(op->getSubExpr(), use, substitution, depth + 1);
    if (!operand || op->getOpcode() == UO_Plus) return operand;
    using Op = Expression::Op;
    return Expression::unary(op->getOpcode() == UO_Minus  ? Op::Negate
                             : op->getOpcode() == UO_LNot ? Op::Not
                                                          : Op::Complement,
                             *operand);
  }
  if (auto* op = llvm::dyn_cast<ConditionalOperator>(e)) {
    Read condition = read_condition(op->getCond(), use, substitution, depth + 1),
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
    return variable && variable->getType().getNonReferenceType()->isIntegralOrEnumerationType()
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
    if (auto* shared = llvm::dyn_cast<VarDecl>(member->getMemberDecl()))
      return read_variable(shared, use, substitution, depth);
    auto* reference = llvm::dyn_cast<DeclRefExpr>(base);
    const auto place = Place::of(member);
    if (!place || (place->variable && substitution.contains(place->variable))) return std::nullopt;
    return named(*place, reference ? reference->getDecl()->getNameAsString() + "." + name : name);
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
  if (auto* same = referred(variable)) return read(same, use, substitution, depth + 1);
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
  return named({variable->getCanonicalDecl(), nullptr, variable->getType()}, variable->getNameAsString());
}

GeometryReader::Read GeometryReader::named(const Place& place, const std::string& name) const {
  const std::string first = name.substr(0, name.find('.'));
  const Decl* meant = place.variable ? llvm::cast<Decl>(place.variable) : place.field->getCanonicalDecl();
  auto mentioned = mentioned_.find(first);
  if (mentioned != mentioned_.end() && std::ranges::any_of(mentioned->second, [&](auto* one) { return one != meant; }))
    return std::nullopt;
  if (!assignments_->names(first, place.variable, launch_) || assignments_->may_change(place, place_, launch_))
    return std::nullopt;
  return variable_named(name);
}

GeometryReader::Read GeometryReader::read_condition(const Expr* e, GeometryUse& use, const Substitution& substitution,
                                                    int depth) {
  e = bare(e);
  while (auto* cast = llvm::dyn_cast<CastExpr>(e)) {
    if (!cast->getType()->isBooleanType() || !cast->getSubExpr()->getType()->isIntegralOrEnumerationType()) break;
    e = bare(cast->getSubExpr());
  }
  return read(e, use, substitution, depth);
}

std::optional<Quotient> GeometryReader::read_quotient(const Expr* e, bool single, GeometryUse& use,
                                                      const Substitution& substitution, int depth) {
  auto* quotient = llvm::dyn_cast<BinaryOperator>(through_casts(e, single));
  if (!quotient || quotient->getOpcode() != BO_Div || !quotient->getType()->isRealFloatingType()) return std::nullopt;
  auto *dividend = as_integer(quotient->getLHS(), single), *divisor = as_integer(quotient->getRHS(), single);
  auto side = [&](const Expr* integer, const Expr* operand) {
    return integer ? read(integer, use, substitution, depth + 1) : whole_literal(operand);
  };
  Read above = side(dividend, quotient->getLHS()), below = side(divisor, quotient->getRHS());
  if (!above || !below) return std::nullopt;
  if (!single) return Quotient{*above, *below};
  const auto exact = is_exact_in_single(dividend ? dividend : quotient->getLHS(), *above, unit_.context);
  if (exact && !*exact) return std::nullopt;
  if (!exact) {
    use.where.push_back(Expression::binary(Expression::Op::GreaterEqual, *above, Expression::constant(0)));
    use.where.push_back(Expression::binary(Expression::Op::LessEqual, *above, Expression::constant(kMostInSingle)));
  }
  return Quotient{*above, *below};
}

GeometryReader::Read GeometryReader::read_call(const Expr* e, GeometryUse& use, const Substitution& substitution,
                                               int depth) {
  // (int)ceil((float)n / block) is ceil_div(n, block). Without the ceil the quotient is truncated.
  if (auto* cast = llvm::dyn_cast<ExplicitCastExpr>(e); cast && cast->getType()->isIntegralOrEnumerationType())
    e = bare(cast->getSubExpr());
  if (e->getType()->isRealFloatingType())
    if (auto quotient = read_quotient(e, false, use, substitution, depth))
      return quotient->dividend / quotient->divisor;
  auto* call = llvm::dyn_cast<CallExpr>(e);
  auto* callee = call ? call->getDirectCallee() : nullptr;
  if (!callee || !callee->getIdentifier()) return std::nullopt;
  auto name = callee->getName();
  if ((name == "ceil" || name == "ceilf") && call->getNumArgs() == 1) {
    auto quotient = read_quotient(call->getArg(0), is_single(call->getType()), use, substitution, depth);
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
