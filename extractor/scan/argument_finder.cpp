// See argument_finder.h.
#include "extractor/scan/argument_finder.h"

#include <algorithm>
#include <limits>

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Lex/Preprocessor.h"
#include "core/model/knob/template_arguments.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

/// Whether a text names the parameter.
class Mentions : public DynamicRecursiveASTVisitor {
 public:
  explicit Mentions(const NamedDecl* parameter) : parameter_(parameter) {}
  bool VisitDeclRefExpr(DeclRefExpr* name) override {
    found |= name->getDecl() == parameter_;
    return !found;
  }
  bool found = false;

 private:
  const NamedDecl* parameter_;
};

/// Whether a text compares the parameter with a value, to select a case.
class Cases : public DynamicRecursiveASTVisitor {
 public:
  explicit Cases(const NamedDecl* parameter) : parameter_(parameter) {}
  bool VisitBinaryOperator(BinaryOperator* op) override {
    if (op->isEqualityOp()) found |= is_it(op->getLHS()) || is_it(op->getRHS());
    return !found;
  }
  bool VisitSwitchStmt(SwitchStmt* cases) override {
    found |= is_it(cases->getCond());
    return !found;
  }
  bool found = false;

 private:
  bool is_it(const Expr* e) const {
    auto* name = llvm::dyn_cast<DeclRefExpr>(e->IgnoreParenCasts());
    return name && name->getDecl() == parameter_;
  }
  const NamedDecl* parameter_;
};

bool selects_cases(const FunctionTemplateDecl* pattern, const NamedDecl* parameter) {
  Cases cases(parameter);
  const FunctionDecl* definition = nullptr;
  if (pattern->getTemplatedDecl()->isDefined(definition)) cases.TraverseStmt(definition->getBody());
  return cases.found;
}

bool in_signature(const FunctionTemplateDecl* pattern, const NamedDecl* parameter) {
  Mentions mentions(parameter);
  for (auto* one : pattern->getTemplatedDecl()->parameters())
    if (auto* type = one->getTypeSourceInfo()) mentions.TraverseTypeLoc(type->getTypeLoc());
  for (auto* one : *pattern->getTemplateParameters())
    if (one != parameter) mentions.TraverseDecl(one);
  return mentions.found;
}

bool is_explicit(TemplateSpecializationKind kind) { return kind == TSK_ExplicitSpecialization; }

bool is_specialised(const Decl* declaration) {
  if (auto* function = llvm::dyn_cast<FunctionTemplateDecl>(declaration))
    return llvm::any_of(function->specializations(),
                        [](auto* one) { return is_explicit(one->getTemplateSpecializationKind()); });
  auto* type = llvm::dyn_cast<ClassTemplateDecl>(declaration);
  if (!type) return false;
  llvm::SmallVector<ClassTemplatePartialSpecializationDecl*, 4> partial;
  const_cast<ClassTemplateDecl*>(type)->getPartialSpecializations(partial);
  return !partial.empty() ||
         llvm::any_of(type->specializations(), [](auto* one) { return is_explicit(one->getSpecializationKind()); });
}

bool is_overloaded(const FunctionTemplateDecl* pattern) {
  return llvm::any_of(pattern->getDeclContext()->getRedeclContext()->lookup(pattern->getDeclName()),
                      [&](auto* other) { return other->getCanonicalDecl() != pattern->getCanonicalDecl(); });
}

/// The argument in the text of a launch; null: it has none of its own, or a macro spells it.
const Expr* text_at(const DeclRefExpr* named, size_t index) {
  if (!named || !named->hasExplicitTemplateArgs() || index >= named->getNumTemplateArgs()) return nullptr;
  auto& argument = named->template_arguments()[index];
  if (argument.getArgument().getKind() != TemplateArgument::Expression) return nullptr;
  const Expr* text = argument.getSourceExpression()->IgnoreParenImpCasts();
  if (auto* constant = llvm::dyn_cast<ConstantExpr>(text)) text = constant->getSubExpr()->IgnoreParenImpCasts();
  return text->getBeginLoc().isMacroID() ? nullptr : text;
}

/// The number that stands for the argument in the text of a launch; null: anything else does.
const IntegerLiteral* number_at(const DeclRefExpr* named, size_t index) {
  return llvm::dyn_cast_or_null<IntegerLiteral>(text_at(named, index));
}

/// The constant of a file that stands there; null: anything else does.
const VarDecl* constant_at(const DeclRefExpr* named, size_t index) {
  auto* name = llvm::dyn_cast_or_null<DeclRefExpr>(text_at(named, index));
  auto* variable = name ? llvm::dyn_cast<VarDecl>(name->getDecl()) : nullptr;
  return variable && variable->isFileVarDecl() && !variable->isStaticDataMember() ? variable->getCanonicalDecl()
                                                                                  : nullptr;
}

bool sizes_block(const LaunchSite& site, int64_t value) {
  return std::ranges::any_of(site.block, [&](auto& axis) {
    return axis && axis->find([&](const Expression& node) { return node.is_constant(value); });
  });
}

}  // namespace

std::optional<int64_t> argument_value(const FunctionDecl* kernel, size_t index) {
  auto* arguments = kernel->getTemplateSpecializationArgs();
  if (!arguments || index >= arguments->size()) return std::nullopt;
  auto& one = arguments->get(static_cast<unsigned>(index));
  if (one.getKind() != TemplateArgument::Integral || !one.getIntegralType()->isIntegerType() ||
      one.getIntegralType()->isBooleanType() || one.getIntegralType()->isEnumeralType())
    return std::nullopt;
  auto value = one.getAsIntegral().tryExtValue();
  return value && *value > 0 && *value <= std::numeric_limits<int>::max() ? std::optional(*value) : std::nullopt;
}

std::vector<FoundArgument> find_arguments(const ParsedUnit& unit, const SourceItems& items, const FunctionDecl* kernel,
                                          const Closure& closure, const std::vector<FoundLaunch>& launches) {
  auto* pattern = kernel->getPrimaryTemplate();
  if (!pattern || is_explicit(kernel->getTemplateSpecializationKind()) || is_overloaded(pattern)) return {};
  std::vector<const FoundLaunch*> own;
  for (auto& launch : launches)
    if (std::ranges::any_of(launch.kernels,
                            [&](auto* one) { return one->getCanonicalDecl() == kernel->getCanonicalDecl(); }))
      own.push_back(&launch);
  if (own.empty() || std::ranges::any_of(own, [](auto* launch) { return launch->kernels.size() != 1; })) return {};
  for (int index : closure.items)
    if (std::ranges::any_of(items[index].declarations, [](auto* one) { return is_specialised(one); })) return {};

  std::vector<FoundArgument> found;
  const auto& parameters = *pattern->getTemplateParameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    auto* parameter = llvm::dyn_cast<NonTypeTemplateParmDecl>(parameters.getParam(static_cast<unsigned>(i)));
    if (parameter && parameter->isParameterPack()) break;  // The arguments behind it have other numbers.
    const auto value = argument_value(kernel, i);
    if (!parameter || !value || parameter->getName().empty() || in_signature(pattern, parameter) ||
        selects_cases(pattern, parameter))
      continue;
    if (auto* constant = constant_at(own[0]->named, i);
        constant && std::ranges::all_of(own, [&](auto* one) { return constant_at(one->named, i) == constant; })) {
      found.push_back({{}, parameter->getCanonicalDecl()->getLocation(), constant, i});
      continue;
    }
    auto spells = [&](auto* launch) {
      auto* number = number_at(launch->named, i);
      return number && number->getValue() == static_cast<uint64_t>(*value) && unit.is_user(number->getBeginLoc());
    };
    if (!std::ranges::all_of(own, spells)) continue;
    auto extent = unit.extent(number_at(own[0]->named, i)->getSourceRange());
    if (!extent) continue;
    FoundArgument argument;
    argument.knob.name = argument_constant(kernel->getNameAsString(), parameter->getNameAsString());
    auto& names = unit.preprocessor.getIdentifierTable();
    if (names.find(argument.knob.name) != names.end()) continue;  // The application's own.
    argument.knob.value = *value;
    argument.knob.value_range = unit.range(extent->first.file, extent->first.offset, extent->second);
    argument.knob.in_kernel = true, argument.knob.in_geometry = sizes_block(own[0]->site, *value);
    argument.parameter = parameter->getCanonicalDecl()->getLocation(), argument.index = i;
    found.push_back(std::move(argument));
  }
  return found;
}

}  // namespace kernelift::extractor
