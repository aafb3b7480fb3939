// Host bodies are walked in every instance: only an instance of a launching template knows which kernel it launches.
// If two instances disagree about the geometry, it is not an expression of the source, and is left empty.
#include "extractor/scan/launch_finder.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "extractor/scan/effects/effects.h"
#include "extractor/scan/launchers.h"
#include "extractor/scan/open_macros.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

const FunctionDecl* kernel_of(const DeclRefExpr* reference) {
  auto* function = llvm::dyn_cast<FunctionDecl>(reference->getDecl());
  return function && function->hasAttr<CUDAGlobalAttr>() ? function : nullptr;
}

/// A function's variables that hold pointers to kernels, alone, in members or elements. Known are those that are
/// assigned as a whole (`kernel = wide ? &k4 : &k1;`, in one branch or several) and are else only read: what else is
/// done with one may give it another kernel, such as `plan.step = k4`, `table[1] = k4` and a call by reference.
class PointerValues : public DynamicRecursiveASTVisitor {
 public:
  bool VisitDeclRefExpr(DeclRefExpr* reference) override {
    if (auto* variable = llvm::dyn_cast<VarDecl>(reference->getDecl())) uses_.emplace_back(variable, reference);
    return true;
  }
  bool VisitImplicitCastExpr(ImplicitCastExpr* cast) override {
    const bool reads = cast->getCastKind() == CK_LValueToRValue ||
                       (cast->getCastKind() == CK_NoOp && cast->getType().isConstQualified());
    if (reads) allow(cast->getSubExpr());
    return true;
  }
  bool may_be_given_others(const VarDecl* variable) const {
    return std::ranges::any_of(uses_,
                               [&](auto& use) { return use.first == variable && !allowed_.contains(use.second); });
  }
  bool VisitBinaryOperator(BinaryOperator* op) override {
    auto* reference =
        op->getOpcode() == BO_Assign ? llvm::dyn_cast<DeclRefExpr>(op->getLHS()->IgnoreParenImpCasts()) : nullptr;
    auto* variable = reference ? llvm::dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    if (variable && variable->getType()->isPointerType()) {
      values[variable].push_back(op->getRHS());
      allowed_.insert(reference);
    }
    return true;
  }
  std::map<const VarDecl*, std::vector<Expr*>> values;

 private:
  /// The variable whose value, member or element it is.
  void allow(const Expr* e) {
    for (;;) {
      e = e->IgnoreParenImpCasts();
      if (auto* member = llvm::dyn_cast<MemberExpr>(e)) e = member->getBase();
      else if (auto* element = llvm::dyn_cast<ArraySubscriptExpr>(e)) e = element->getBase();
      else break;
    }
    if (auto* reference = llvm::dyn_cast<DeclRefExpr>(e)) allowed_.insert(reference);
  }

  std::vector<std::pair<const VarDecl*, const DeclRefExpr*>> uses_;
  std::set<const DeclRefExpr*> allowed_;
};

/// Every __global__ function named in an expression, through local pointers to kernels.
class KernelNames : public DynamicRecursiveASTVisitor {
 public:
  explicit KernelNames(const PointerValues& pointers) : pointers_(pointers) {}
  bool VisitDeclRefExpr(DeclRefExpr* reference) override {
    if (auto* kernel = kernel_of(reference)) names.push_back(kernel), references.push_back(reference);
    auto* variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
    if (!variable || !seen_.insert(variable).second) return true;
    const auto assigned = pointers_.values.find(variable);
    const bool is_assigned = assigned != pointers_.values.end();
    const QualType type = variable->getType();
    const bool is_const = variable->getASTContext().getBaseElementType(type).isConstQualified();
    if (may_hold_a_kernel(type) && !is_const)
      others |= llvm::isa<ParmVarDecl>(variable) || pointers_.may_be_given_others(variable) ||
                variable->hasGlobalStorage() || (!variable->getInit() && !is_assigned);
    else if (may_hold_a_kernel(type)) others |= llvm::isa<ParmVarDecl>(variable) || !variable->getInit();
    if (variable->getInit()) TraverseStmt(const_cast<Expr*>(variable->getInit()));
    if (is_assigned)
      for (Expr* value : assigned->second) TraverseStmt(value);
    return true;
  }
  bool VisitCallExpr(CallExpr* call) override {
    others |= may_hold_a_kernel(call->getType());
    return true;
  }
  std::vector<const FunctionDecl*> names;
  std::vector<const DeclRefExpr*> references;
  bool others = false;  ///< It may be a kernel that is not named: a caller's, or a function's result.

 private:
  static bool may_hold_a_kernel(QualType type, int depth = 0) {
    constexpr int kDeepest = 4;
    if (type->isFunctionPointerType() || type->isVoidPointerType()) return true;
    if (auto* array = type->getAsArrayTypeUnsafe()) return may_hold_a_kernel(array->getElementType(), depth);
    auto* record = type->getAsRecordDecl();
    if (!record || !record->getDefinition() || depth > kDeepest) return false;
    return llvm::any_of(record->getDefinition()->fields(), [&](const FieldDecl* field) {
      return field->getType()->isFunctionPointerType() ||
             ((field->getType()->isArrayType() || field->getType()->isRecordType()) &&
              may_hold_a_kernel(field->getType(), depth + 1));
    });
  }

  const PointerValues& pointers_;
  std::set<const VarDecl*> seen_;
};

class LaunchVisitor : public DynamicRecursiveASTVisitor {
 public:
  explicit LaunchVisitor(const ParsedUnit& unit) : unit_(unit), effects_(unit) {
    ShouldVisitTemplateInstantiations = true;
  }

  bool TraverseStmt(Stmt* statement) override {
    // Bodies are walked from VisitFunctionDecl, which knows the function that they belong to.
    return !inside_ || DynamicRecursiveASTVisitor::TraverseStmt(statement);
  }
  bool VisitFunctionDecl(FunctionDecl* function) override {
    if (!function->doesThisDeclarationHaveABody() || inside_ || !function->getBody()) return true;
    GeometryReader geometry(unit_, effects_, function);
    PointerValues pointers;
    pointers.TraverseStmt(function->getBody());
    if (auto* made = llvm::dyn_cast<CXXConstructorDecl>(function))
      for (auto* member : made->inits())
        if (member->isWritten()) pointers.TraverseStmt(member->getInit());
    geometry_ = &geometry, pointers_ = &pointers, function_ = function, inside_ = true;
    if (auto* made = llvm::dyn_cast<CXXConstructorDecl>(function))
      for (auto* member : made->inits())
        if (member->isWritten()) TraverseStmt(member->getInit());
    TraverseStmt(function->getBody());
    inside_ = false;
    return true;
  }
  bool VisitVarDecl(VarDecl* variable) override {
    // A file-scope initialiser may list kernels (a table), and launch some in lambdas.
    if (inside_ || !variable->getInit()) return true;
    struct Lambdas : DynamicRecursiveASTVisitor {
      std::vector<CXXMethodDecl*> all;
      bool TraverseLambdaExpr(LambdaExpr* lambda) override {
        all.push_back(lambda->getCallOperator());
        return true;  // What is inside is walked with it.
      }
    } lambdas;
    lambdas.TraverseStmt(variable->getInit());
    for (auto* body : lambdas.all) VisitFunctionDecl(body);
    PointerValues none;
    KernelNames names(none);
    names.TraverseStmt(variable->getInit());
    for (auto* reference : names.references) named_.emplace(reference, kernel_of(reference));
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr* reference) override {
    if (auto* kernel = kernel_of(reference)) named_.emplace(reference, kernel);
    return true;
  }
  // A kernel given as a template argument is found where the template's instance uses it.
  bool TraverseTemplateArgumentLoc(const TemplateArgumentLoc&) override { return true; }

  bool VisitCUDAKernelCallExpr(CUDAKernelCallExpr* call) override {
    auto* config = call->getConfig();
    if (!config) return true;
    FoundLaunch found;
    found.kernels = kernels_in(call->getCallee());
    found.named = llvm::dyn_cast<DeclRefExpr>(call->getCallee()->IgnoreParenImpCasts());
    geometry_->begin(call, {call->arg_begin(), call->arg_end()});
    read_geometry(found, argument(config, 0), argument(config, 1), argument(config, 2));
    for (auto* one : call->arguments()) add_argument(found.site, one);
    found.site.kernel_range = range_of(call->getCallee());
    finish(found, call, spelled_by_user_macro(config->getBeginLoc()));
    return true;
  }
  bool VisitCallExpr(CallExpr* call) override {
    auto* callee = call->getDirectCallee();
    if (!callee || !callee->getIdentifier() || llvm::isa<CUDAKernelCallExpr>(call)) return true;
    if (unit_.is_user(callee->getLocation()))
      if (auto* launcher = launchers_.called_by(call)) read_launcher(call, *launcher);
    auto name = callee->getName();
    for (llvm::StringRef question : {"cudaFunc", "cudaOccupancy", "hipFunc", "hipOccupancy"})
      if (name.starts_with(question))
        for (auto* one : call->arguments()) {
          auto kernels = kernels_in(one);
          if (needs_setting(call))
            for (auto* kernel : kernels) add_setting(kernel, call);
        }
    bool plain = name == "cudaLaunchKernel" || name == "cudaLaunchCooperativeKernel" || name == "hipLaunchKernel" ||
                 name == "hipLaunchCooperativeKernel";
    bool extended = name == "cudaLaunchKernelEx" || name == "cudaLaunchKernelExC";
    if (plain || extended) geometry_->begin(call);
    if (plain && call->getNumArgs() >= 5) {
      FoundLaunch found;
      found.kernels = kernels_in(call->getArg(0));
      read_geometry(found, call->getArg(1), call->getArg(2), argument(call, 4));
      read_argument_array(found, call->getArg(3));
      finish(found, call, spelled_by_user_macro(call->getBeginLoc()));
    } else if (extended && call->getNumArgs() >= 2) {
      FoundLaunch found;
      found.kernels = kernels_in(call->getArg(1));
      read_config(found, call->getArg(0));
      for (unsigned i = 2; name == "cudaLaunchKernelEx" && i < call->getNumArgs(); ++i)
        add_argument(found.site, call->getArg(i));
      if (name == "cudaLaunchKernelExC") read_argument_array(found, argument(call, 2));
      finish(found, call, spelled_by_user_macro(call->getBeginLoc()));
    }
    return true;
  }

  std::map<std::pair<std::string, uint64_t>, FoundLaunch> sites;
  std::vector<FoundPointer> settings;

  /// The mentions of kernels that were not followed to a launch, in the order of the text.
  std::vector<FoundPointer> pointers() const {
    std::vector<FoundPointer> left;
    for (auto& [reference, kernel] : named_) {
      if (followed_.count(reference)) continue;
      auto extent = unit_.extent(reference->getSourceRange());
      if (extent && unit_.is_user(extent->first.file))
        left.push_back({kernel, unit_.range(extent->first.file, extent->first.offset, extent->second)});
    }
    std::ranges::sort(left, {}, [](auto& one) { return std::tie(one.range.file, one.range.begin); });
    return left;
  }

 private:
  static const Expr* argument(const CallExpr* call, unsigned index) {
    if (index >= call->getNumArgs() || llvm::isa<CXXDefaultArgExpr>(call->getArg(index))) return nullptr;
    return call->getArg(index);
  }
  /// Whether the call changes what a launch may ask for, not only how fast it is.
  bool needs_setting(const CallExpr* call) const {
    auto name = call->getDirectCallee()->getName();
    if (name != "cudaFuncSetAttribute" && name != "hipFuncSetAttribute") return false;
    constexpr int kCarveout = 9;  // cudaFuncAttributePreferredSharedMemoryCarveout, and HIP's.
    clang::Expr::EvalResult which;
    return call->getNumArgs() < 2 || !call->getArg(1)->EvaluateAsInt(which, unit_.context) ||
           which.Val.getInt() != kCarveout;
  }
  void add_setting(const FunctionDecl* kernel, const CallExpr* call) {
    auto extent = unit_.extent(call->getSourceRange());
    if (extent && unit_.is_user(extent->first.file))
      settings.push_back({kernel, unit_.range(extent->first.file, extent->first.offset, extent->second)});
  }
  std::vector<const FunctionDecl*> kernels_in(const Expr* e) {
    KernelNames names(*pointers_);
    names.TraverseStmt(const_cast<Expr*>(e));
    if (names.others) return {};  // What it names is launched elsewhere, as far as is known.
    followed_.insert(names.references.begin(), names.references.end());
    std::vector<const FunctionDecl*> each;
    for (auto* kernel : names.names)
      if (std::ranges::find(each, kernel) == each.end()) each.push_back(kernel);
    return each;
  }

  /// True if a macro of the application spells the launch, directly or through a library's macro. A library's macro
  /// alone (hipLaunchKernelGGL) only passes on the user's text, and so does any macro whose argument is the launch.
  bool spelled_by_user_macro(SourceLocation at) const {
    auto& sources = unit_.sources;
    while (at.isMacroID()) {
      if (sources.isMacroArgExpansion(at)) {
        at = sources.getImmediateSpellingLoc(at);
      } else if (unit_.is_user(sources.getFileID(sources.getSpellingLoc(at)))) {
        return true;
      } else {
        at = sources.getImmediateExpansionRange(at).getBegin();
      }
    }
    return false;
  }
  CharSourceRange file_range(const Expr* e) const {
    auto of = [&](const Expr* one) {
      return Lexer::makeFileCharRange(CharSourceRange::getTokenRange(one->getSourceRange()), unit_.sources,
                                      unit_.context.getLangOpts());
    };
    auto range = of(e);
    // Brackets around a macro's parameter stand in its definition.
    return range.isValid() ? range : of(without_conversions(e));
  }
  /// What stands in brackets, or is converted to a dim3 without being told to.
  static const Expr* without_conversions(const Expr* e) {
    for (;;) {
      e = e->IgnoreImplicit()->IgnoreParens()->IgnoreImplicit();
      auto* made = llvm::dyn_cast<CXXConstructExpr>(e);
      if (!made || llvm::isa<CXXTemporaryObjectExpr>(made) || made->getNumArgs() == 0) return e;
      e = made->getArg(0);
    }
  }
  void add_argument(LaunchSite& site, const Expr* e) const {
    if (!e || e->isInstantiationDependent() || e->HasSideEffects(unit_.context) || geometry_->changes_within(e))
      site.unrepeatable_arguments.insert(site.argument_text.size());
    if (auto type = e ? number_type(e) : std::string(); !type.empty())
      site.argument_types[site.argument_text.size()] = type;
    site.argument_text.push_back(e ? text_of(e) : "");
  }
  kernelift::SourceRange range_of(const Expr* e) const {
    if (!e) return {};
    auto range = file_range(e);
    if (range.isInvalid()) return {};
    auto [file, begin] = unit_.sources.getDecomposedLoc(range.getBegin());
    return unit_.range(file, begin, unit_.sources.getFileOffset(range.getEnd()));
  }
  std::string text_of(const Expr* e) const {
    return Lexer::getSourceText(file_range(e), unit_.sources, unit_.context.getLangOpts()).str();
  }

  /// See LaunchSite::grid_form.
  static std::string form_of(const Expr* e) {
    if (!e || e->isTypeDependent()) return {};
    // An integer is the argument of the constructor that converts it to a dim3, a dim3 that of its copy constructor.
    const Expr* spelled = without_conversions(e);
    if (spelled->getType()->isIntegralOrEnumerationType()) return "number";
    auto* record = spelled->getType()->getAsRecordDecl();
    return record && (record->getName() == "dim3" || record->getName() == "uint3") ? "dim3" : "other";
  }

  static bool is_real(const Expr* e) {
    const QualType type = e->IgnoreParenImpCasts()->getType();
    return !type.isNull() && type->isRealFloatingType();
  }
  /// See LaunchSite::argument_types.
  std::string number_type(const Expr* e) const {
    const QualType type = e->IgnoreParenImpCasts()->getType();
    const bool number = !type.isNull() && !type->isDependentType() && (type->isIntegerType() || is_real(e));
    return number ? type.getCanonicalType().getUnqualifiedType().getAsString(unit_.context.getPrintingPolicy()) : "";
  }
  /// The axes of a dim3 that are converted from floating point.
  static std::set<size_t> real_axes(const Expr* e) {
    std::set<size_t> axes;
    for (;;) {
      e = e->IgnoreImplicit()->IgnoreParens()->IgnoreImplicit();
      if (auto* cast = llvm::dyn_cast<CXXFunctionalCastExpr>(e)) {
        e = cast->getSubExpr();
        continue;
      }
      auto* made = llvm::dyn_cast<CXXConstructExpr>(e);
      if (!made) return axes;
      const bool copies = made->getNumArgs() == 1 && made->getArg(0)->getType()->isRecordType();
      if (!copies) {
        for (unsigned i = 0; i < made->getNumArgs(); ++i)
          if (is_real(made->getArg(i))) axes.insert(i);
        return axes;
      }
      e = made->getArg(0);
    }
  }

  void read_geometry(FoundLaunch& found, const Expr* grid, const Expr* block, const Expr* shared) {
    auto keep = [&](GeometryUse use, std::optional<Expression>(&into)[3], std::vector<Expression>* where = nullptr) {
      if (!where && !use.where.empty()) use = {};
      for (int i = 0; i < 3; ++i) into[i] = use.axes[i];
      if (where) *where = std::move(use.where);
      found.macros.insert(use.macros.begin(), use.macros.end());
      found.constants.insert(use.constants.begin(), use.constants.end());
      found.enumerators.insert(use.enumerators.begin(), use.enumerators.end());
    };
    auto& site = found.site;
    if (grid && !grid->isTypeDependent()) keep(geometry_->dim3(grid), site.grid, &site.grid_where);
    if (block && !block->isTypeDependent()) keep(geometry_->dim3(block), site.block);
    std::optional<Expression> bytes[3];
    if (shared && !shared->isTypeDependent()) keep(geometry_->integer(shared), bytes);
    site.shared = shared ? bytes[0] : Expression::constant(0);
    site.grid_form = form_of(grid), site.block_form = form_of(block);
    site.grid_range = range_of(grid), site.block_range = range_of(block), site.shared_range = range_of(shared);
    if (grid && !grid->isTypeDependent()) site.real_grid = real_axes(grid);
    if (block && !block->isTypeDependent()) site.real_block = real_axes(block);
    sizes_ = {grid, block, shared};
  }
  /// A call of a function that launches the kernel which it is given (launchers.h).
  void read_launcher(const CallExpr* call, const Launcher& launcher) {
    const Expr* kernel = argument(call, launcher.kernel);
    FoundLaunch found;
    if (kernel) found.kernels = kernels_in(kernel);
    if (found.kernels.empty()) return;
    found.named = llvm::dyn_cast<DeclRefExpr>(kernel->IgnoreParenImpCasts());
    const std::vector<const Expr*> arguments = launcher.arguments(call);
    geometry_->begin(call, arguments);
    auto* config = launcher.launch->getConfig();
    const Expr *grid = argument(config, 0), *block = argument(config, 1), *shared = argument(config, 2);
    const Expr *given_grid = launcher.given(call, grid), *given_block = launcher.given(call, block),
               *given_shared = launcher.given(call, shared);
    read_geometry(found, given_grid, given_block, given_shared);
    GeometryReader own(unit_, effects_, launcher.function);
    own.begin(launcher.launch, {launcher.launch->arg_begin(), launcher.launch->arg_end()});
    auto compute = [&](GeometryUse use, std::optional<Expression>(&into)[3], int axes) {
      for (int i = 0; i < axes; ++i) into[i] = use.where.empty() ? of_call(use.axes[i], call, launcher) : std::nullopt;
      found.macros.insert(use.macros.begin(), use.macros.end());
      found.constants.insert(use.constants.begin(), use.constants.end());
      found.enumerators.insert(use.enumerators.begin(), use.enumerators.end());
    };
    if (grid && !given_grid) compute(own.dim3(grid), found.site.grid, 3);
    if (block && !given_block) compute(own.dim3(block), found.site.block, 3);
    if (shared && !given_shared) {
      std::optional<Expression> bytes[3];
      compute(own.integer(shared), bytes, 1);
      found.site.shared = bytes[0];
    }
    for (auto* one : arguments) add_argument(found.site, one);
    found.site.kernel_range = range_of(kernel);
    found.site.launcher = launcher.function->getNameAsString();
    finish(found, call, spelled_by_user_macro(call->getBeginLoc()));
  }
  /// An expression of the launcher's parameters in the words of the call; nullopt: of something else that may change.
  std::optional<Expression> of_call(const std::optional<Expression>& size, const CallExpr* call,
                                    const Launcher& launcher) {
    if (!size) return std::nullopt;
    std::map<std::string, Expression> known;
    for (auto& name : size->variables()) {
      if (!launcher.is_own(name)) continue;
      for (auto* parameter : launcher.function->parameters())
        if (auto* given = parameter->getName() == name ? launcher.value_of(call, parameter) : nullptr)
          if (auto value = geometry_->integer(given); value.axes[0] && value.where.empty())
            known.emplace(name, *value.axes[0]);
      if (!known.contains(name)) return std::nullopt;
    }
    return size->substitute(known);
  }
  /// `cudaLaunchConfig_t config = …; config.gridDim = …` of cudaLaunchKernelEx(&config, …). A config that several calls
  /// share is read, but gets no source ranges: a patch could not change it for one of the calls alone.
  void read_config(FoundLaunch& found, const Expr* e) {
    auto* address = llvm::dyn_cast<UnaryOperator>(e->IgnoreParenImpCasts());
    auto* reference = llvm::dyn_cast<DeclRefExpr>((address ? address->getSubExpr() : e)->IgnoreParenImpCasts());
    auto* config = reference ? llvm::dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    if (!config || (address && address->getOpcode() != UO_AddrOf)) return;
    auto grid = geometry_->field(config, "gridDim"), block = geometry_->field(config, "blockDim");
    auto shared = geometry_->field(config, "dynamicSmemBytes");
    read_geometry(found, grid.value, block.value, shared.value);
    auto& site = found.site;
    if (!shared.known) site.shared.reset();
    if (uses_of(config) > 1) site.grid_range = site.block_range = site.shared_range = {};
  }
  /// How often this function uses `config`, besides assigning its members: launches take it, as may other functions.
  int uses_of(const VarDecl* config) const {
    struct Counter : DynamicRecursiveASTVisitor {
      const VarDecl* config;
      int count = 0;
      bool is_config(const Expr* e) const {
        auto* reference = llvm::dyn_cast<DeclRefExpr>(e);
        return reference && reference->getDecl()->getCanonicalDecl() == config->getCanonicalDecl();
      }
      bool VisitDeclRefExpr(DeclRefExpr* reference) override {
        count += is_config(reference);
        return true;
      }
      bool VisitBinaryOperator(BinaryOperator* op) override {
        if (op->isAssignmentOp()) leave_out(op->getLHS());
        return true;
      }
      bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr* call) override {
        if (call->isAssignmentOp()) leave_out(call->getArg(0));
        return true;
      }
      void leave_out(const Expr* target) {
        target = target->IgnoreParenImpCasts();
        bool member = false;
        while (auto* of = llvm::dyn_cast<MemberExpr>(target))
          target = of->getBase()->IgnoreParenImpCasts(), member = true;
        count -= member && is_config(target);
      }
    } counter;
    counter.config = config;
    counter.TraverseStmt(function_->getBody());
    return counter.count;
  }

  /// `void* args[] = {&a, &b}` names the arguments.
  void read_argument_array(FoundLaunch& found, const Expr* e) {
    if (!e) return;
    auto* reference = llvm::dyn_cast<DeclRefExpr>(e->IgnoreParenCasts());
    auto* variable = reference ? llvm::dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    auto* list = variable && variable->getInit() ? llvm::dyn_cast<InitListExpr>(variable->getInit()) : nullptr;
    if (!list) return;
    for (auto* one : list->inits()) {
      auto* address = llvm::dyn_cast<UnaryOperator>(one->IgnoreParenCasts());
      add_argument(found.site, address && address->getOpcode() == UO_AddrOf ? address->getSubExpr() : nullptr);
    }
  }

  void finish(FoundLaunch& found, const Expr* call, bool through_macro) {
    auto extent = unit_.extent(call->getSourceRange());
    if (!extent || !unit_.is_user(extent->first.file)) return;
    auto& site = found.site;
    site.range = unit_.range(extent->first.file, extent->first.offset, extent->second);
    site.enclosing = function_->getQualifiedNameAsString();
    site.through_macro = through_macro;
    std::vector<std::string> texts = site.argument_text;
    for (auto* size : sizes_)
      if (size) texts.push_back(text_of(size));
    sizes_.clear();
    for (auto& text : texts) site.open_macros.merge(open_macros(unit_, text));
    auto [at, fresh] = sites.try_emplace({site.range.file, site.range.begin}, found);
    if (fresh || (found.kernels.empty() && !site.grid[0])) return;
    merge(at->second, found);
  }
  static void merge_types(LaunchSite& into, const LaunchSite& more, bool first_known) {
    for (size_t index = 0; index < into.argument_text.size(); ++index) {
      const auto own = into.argument_types.find(index);
      const auto other = more.argument_types.find(index);
      const bool have = own != into.argument_types.end(), has = other != more.argument_types.end();
      if (has && (more.is_real_argument(index) || (first_known && !have))) into.argument_types[index] = other->second;
      else if (have && !into.is_real_argument(index) && (!has || other->second != own->second))
        into.argument_types.erase(own);
    }
  }
  static void merge(FoundLaunch& into, const FoundLaunch& more) {
    bool first_known = into.kernels.empty();  // So far only the template's pattern was visited.
    if (first_known) into.named = more.named;
    for (auto* kernel : more.kernels)
      if (std::find(into.kernels.begin(), into.kernels.end(), kernel) == into.kernels.end())
        into.kernels.push_back(kernel);
    auto join = [&](std::optional<Expression>& axis, const std::optional<Expression>& other) {
      if (first_known) axis = other;
      else if (axis != other) axis.reset();
    };
    for (int i = 0; i < 3; ++i)
      join(into.site.grid[i], more.site.grid[i]), join(into.site.block[i], more.site.block[i]);
    join(into.site.shared, more.site.shared);
    auto& where = into.site.grid_where;
    if (first_known) where.clear();
    for (auto& one : more.site.grid_where)
      if (std::ranges::find(where, one) == where.end()) where.push_back(one);
    for (auto [all, others] :
         {std::pair(&into.site.real_grid, &more.site.real_grid), {&into.site.real_block, &more.site.real_block}})
      all->insert(others->begin(), others->end());
    merge_types(into.site, more.site, first_known);
    into.macros.insert(more.macros.begin(), more.macros.end());
    into.constants.insert(more.constants.begin(), more.constants.end());
    into.enumerators.insert(more.enumerators.begin(), more.enumerators.end());
  }

  const ParsedUnit& unit_;
  Effects effects_;
  Launchers launchers_;
  GeometryReader* geometry_ = nullptr;
  const PointerValues* pointers_ = nullptr;
  const FunctionDecl* function_ = nullptr;
  std::vector<const Expr*> sizes_;  ///< Of the launch that is being read: grid, block, shared memory.
  bool inside_ = false;
  std::map<const DeclRefExpr*, const FunctionDecl*> named_;
  std::set<const DeclRefExpr*> followed_;
};

}  // namespace

FoundLaunches find_launches(const ParsedUnit& unit, const SourceItems& items) {
  LaunchVisitor visitor(unit);
  for (auto& item : items.all())
    for (auto* declaration : item.declarations) visitor.TraverseDecl(const_cast<Decl*>(declaration));
  FoundLaunches all{{}, visitor.pointers(), std::move(visitor.settings)};
  for (auto& [place, found] : visitor.sites) all.launches.push_back(std::move(found));
  return all;
}

}  // namespace kernelift::extractor
