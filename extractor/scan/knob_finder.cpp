// One pass over the closures finds the constants of device code, and one over the launches those of the geometry; both
// add to one map, keyed by the source position of the constant's value.
#include "extractor/scan/knob_finder.h"

#include <algorithm>
#include <map>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Lex/Preprocessor.h"
#include "extractor/scan/argument_finder.h"
#include "extractor/scan/capacities.h"
#include "extractor/scan/geometry_text.h"
#include "extractor/scan/knob_uses.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

/// Integer constants declared inside bodies.
class LocalConstants : public DynamicRecursiveASTVisitor {
 public:
  bool VisitVarDecl(VarDecl* variable) override {
    if (variable->isLocalVarDecl()) all.push_back(variable);
    return true;
  }
  std::vector<const VarDecl*> all;
};

class KnobTable {
 public:
  KnobTable(const ParsedUnit& unit, const KnobUses& uses, const Capacities& capacities)
      : unit_(unit), uses_(uses), capacities_(capacities) {}

  void macro(const MacroInfo* macro, const std::string& kernel, bool geometry) {
    if (macro->isFunctionLike() || macro->tokens_empty()) return;
    const Token* literal = nullptr;
    for (auto& token : macro->tokens()) {
      if (token.isOneOf(tok::l_paren, tok::r_paren)) continue;
      if (literal || token.isNot(tok::numeric_constant)) return;
      literal = &token;
    }
    if (!literal) return;
    auto text = unit_.preprocessor.getSpelling(*literal);
    auto value = integer(text);
    if (!value) return;
    Knob knob;
    llvm::SmallString<32> space;
    knob.name = unit_.preprocessor.getSpelling(macro->getDefinitionLoc(), space).str(), knob.value = *value,
    knob.is_macro = true;
    if (unit_.is_user(literal->getLocation())) {
      auto at = unit_.place(literal->getLocation());
      knob.value_range = unit_.range(at.file, at.offset, at.offset + literal->getLength());
    } else if (!unit_.is_of_command(macro->getDefinitionLoc())) {
      return;  // A system header's constant, or the compiler's own.
    }
    add(std::move(knob), kernel, geometry, literal->getLocation());
  }

  /// `place`: by which KnobUses identifies it, where the kernel names it otherwise.
  void constant(const VarDecl* variable, const std::string& kernel, bool geometry,
                std::optional<SourceLocation> place = std::nullopt) {
    bool fixed = variable->isConstexpr() || variable->getType().isConstQualified();
    auto type = variable->getType();
    if (!fixed || belongs_to_type(variable) || !type->isIntegerType() || type->isBooleanType()) return;
    const Expr* init = variable->getAnyInitializer();
    if (!init || variable->hasAttr<CUDASharedAttr>()) return;
    literal(variable, constant_name(variable), init, kernel, geometry, place);
  }

  void enumerator(const EnumConstantDecl* constant, const std::string& kernel, bool geometry) {
    if (!belongs_to_type(constant))
      literal(constant, constant_name(constant), constant->getInitExpr(), kernel, geometry);
  }

  void argument(const FoundArgument& found, const std::string& kernel) {
    if (found.constant) return constant(found.constant, kernel, false, found.parameter);
    for (bool geometry : {false, true})
      if (!geometry || found.knob.in_geometry) add(found.knob, kernel, geometry, found.parameter);
  }

  std::vector<Knob> take() {
    std::vector<Knob> all;
    // Constants that the blocks of all kernels that use them follow.
    std::set<SourceLocation> geometry;
    for (auto& [key, found] : knobs_)
      if (found.knob.in_geometry && std::ranges::includes(found.launched, found.used)) geometry.insert(found.place);
    for (auto& [key, found] : knobs_) {
      if (!found.knob.in_geometry && found.beside_data) continue;
      const bool sets_amount =
          uses_.sets_amount(found.place) || (!found.member.empty() && uses_.names_dependently(found.member));
      if (!found.knob.in_geometry && (!sets_amount || uses_.only_repeats(found.place))) continue;
      // One that launches use is known to their expressions, and left to the tuner, which knows how they use it.
      if (!found.knob.in_geometry && uses_.is_extent(found.place)) continue;
      // Example: rows longer than the block are left to another kernel.
      if (found.knob.in_geometry && uses_.distinguishes_data(found.place)) continue;
      found.knob.grows_only = capacities_.grows_only(found.place, geometry);
      // The kernel stops when the array is full, so a larger array gives another answer.
      if (found.knob.grows_only && !found.knob.in_geometry && uses_.is_compared_with(found.place)) continue;
      all.push_back(std::move(found.knob));
    }
    return all;
  }

 private:
  static std::optional<int64_t> integer(const std::string& spelling) {
    auto parsed = Expression::parse(spelling);
    if (!parsed.ok()) return std::nullopt;
    auto value = parsed->evaluate({});
    return value.ok() ? std::optional(*value) : std::nullopt;
  }
  void literal(const ValueDecl* constant, const std::string& name, const Expr* init, const std::string& kernel,
               bool geometry, std::optional<SourceLocation> place = std::nullopt) {
    init = init->IgnoreParenImpCasts();
    if (auto* constant = llvm::dyn_cast<ConstantExpr>(init)) init = constant->getSubExpr()->IgnoreParenImpCasts();
    if (auto* list = llvm::dyn_cast<InitListExpr>(init); list && list->getNumInits() == 1)
      init = list->getInit(0)->IgnoreParenImpCasts();
    auto* number = llvm::dyn_cast<IntegerLiteral>(init);
    if (!number || number->getBeginLoc().isMacroID() || !unit_.is_user(number->getBeginLoc())) return;
    auto extent = unit_.extent(number->getSourceRange());
    if (!extent || !number->getValue().isIntN(63)) return;
    Knob knob;
    knob.name = name, knob.value = static_cast<int64_t>(number->getValue().getZExtValue());
    knob.value_range = unit_.range(extent->first.file, extent->first.offset, extent->second);
    add(std::move(knob), kernel, geometry, place.value_or(constant->getCanonicalDecl()->getLocation()), constant);
  }
  void add(Knob knob, const std::string& kernel, bool geometry, SourceLocation place,
           const ValueDecl* constant = nullptr) {
    auto key = std::tuple(knob.value_range.file, knob.value_range.begin, knob.name);
    auto& found = knobs_.try_emplace(key, Found{std::move(knob), place}).first->second;
    if (constant) {
      auto* context = constant->getDeclContext();
      if (llvm::isa<EnumDecl>(context)) context = context->getParent();
      if (context->isRecord()) found.member = constant->getNameAsString();
      found.knob.is_local = context->isFunctionOrMethod();
      found.beside_data = is_beside_data(constant);
    }
    Knob& entry = found.knob;
    (geometry ? entry.in_geometry : entry.in_kernel) = true;
    (geometry ? found.launched : found.used).insert(kernel);
    if (std::find(entry.kernels.begin(), entry.kernels.end(), kernel) == entry.kernels.end())
      entry.kernels.push_back(kernel);
  }

  struct Found {
    Knob knob;
    SourceLocation place;     ///< The location by which KnobUses identifies the constant.
    std::string member = {};  ///< The name in its class; empty: it belongs to none.
    bool beside_data = false;
    std::set<std::string> used = {}, launched = {};  ///< Kernels whose text uses it, and whose launches do.
  };
  const ParsedUnit& unit_;
  const KnobUses& uses_;
  const Capacities& capacities_;
  std::map<std::tuple<std::string, uint64_t, std::string>, Found> knobs_;
};

}  // namespace

std::vector<Knob> find_knobs(const ParsedUnit& unit, const SourceItems& items, const std::vector<FoundKernel>& kernels,
                             const std::vector<KernelClosure>& closures, const std::vector<FoundLaunch>& launches,
                             const std::function<std::string(const FunctionDecl*)>& label) {
  KnobUses uses(unit, items);
  for (auto& one : closures) uses.take(one.closure);
  uses.follow();
  Capacities capacities(uses, items);
  for (auto& one : closures) capacities.take(one.closure);
  capacities.judge();
  KnobTable table(unit, uses, capacities);
  for (auto& [index, closure] : closures) {
    std::string kernel = label(kernels[index].function);
    for (auto* macro : closure.macros) table.macro(macro, kernel, false);
    for (auto& found : find_arguments(unit, items, kernels[index].function, closure, launches))
      table.argument(found, kernel);
    for (auto* variable : closure.variables) table.constant(variable, kernel, false);
    for (auto* constant : closure.enumerators) table.enumerator(constant, kernel, false);
    LocalConstants local;
    for (auto* function : closure.functions)
      if (unit.is_user(function->getLocation()) && function->getBody()) local.TraverseStmt(function->getBody());
    for (auto* variable : local.all) table.constant(variable, kernel, false);
  }
  for (auto& launch : launches)
    for (auto* function : launch.kernels) {
      std::string kernel = label(function);
      for (auto* macro : launch.macros) table.macro(macro, kernel, true);
      for (auto* variable : launch.constants) table.constant(variable, kernel, true);
      for (auto* constant : launch.enumerators) table.enumerator(llvm::cast<EnumConstantDecl>(constant), kernel, true);
    }
  return table.take();
}

}  // namespace kernelift::extractor
