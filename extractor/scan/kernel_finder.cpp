// Only the application's own file-scope declarations are walked, instances included: the toolkit's headers have a
// hundred times as many declarations and no kernel of the user's.
#include "extractor/scan/kernel_finder.h"

#include <set>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Mangle.h"
#include "core/base/hash.h"
#include "core/model/kernel_key.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

PrintingPolicy policy_of(const ParsedUnit& unit) {
  PrintingPolicy policy(unit.context.getLangOpts());
  policy.SuppressUnwrittenScope = true;
  policy.FullyQualifiedName = true;
  policy.SuppressTagKeyword = true;
  policy.SuppressInlineNamespace = llvm::to_underlying(PrintingPolicy::SuppressInlineNamespaceMode::All);
  policy.PrintAsCanonical = true;
  policy.Bool = true;
  return policy;
}

/// Bytes of a lambda for host and device; 0 for all other types.
uint64_t lambda_bytes(const ParsedUnit& unit, QualType type) {
  auto* record = type->getAsCXXRecordDecl();
  if (!record || !record->isLambda()) return 0;
  auto* call = record->getLambdaCallOperator();
  if (!call || !call->hasAttr<CUDAHostAttr>() || !call->hasAttr<CUDADeviceAttr>()) return 0;
  return static_cast<uint64_t>(unit.context.getTypeSizeInChars(type).getQuantity());
}

ScannedParameter describe(const ParsedUnit& unit, const ParmVarDecl* parameter) {
  ScannedParameter result;
  result.name = parameter->getNameAsString();
  QualType type = parameter->getType();
  PrintingPolicy as_written(unit.context.getLangOpts());
  result.type = type.getAsString(as_written);
  if (type->isPointerType()) {
    QualType pointee = type->getPointeeType();
    result.pointee = element_type(unit, pointee);
    result.pointee_const = pointee.isConstQualified();
  } else if (type->isIntegralOrEnumerationType() || type->isRealFloatingType()) {
    result.scalar = element_type(unit, type);
  } else if (type->isRecordType()) {
    result.record = spelled_type(unit, type.getUnqualifiedType());
    result.lambda_bytes = lambda_bytes(unit, type);
  }
  return result;
}

class KernelVisitor : public DynamicRecursiveASTVisitor {
 public:
  KernelVisitor(const ParsedUnit& unit, const SourceItems& items) : unit_(unit), items_(items) {
    ShouldVisitTemplateInstantiations = true;
  }
  bool TraverseStmt(Stmt*) override { return true; }  // Kernels are not declared inside bodies.

  bool VisitFunctionDecl(FunctionDecl* function) override {
    if (!function->hasAttr<CUDAGlobalAttr>() || function->isTemplated()) return true;
    const FunctionDecl* definition = nullptr;
    if (!function->isDefined(definition) || !definition || !seen_.insert(definition->getCanonicalDecl()).second)
      return true;
    // Of a type that clang does not know it makes int: such a kernel has another name than the one that runs.
    auto invalid = [](const ParmVarDecl* parameter) { return parameter->isInvalidDecl(); };
    if (definition->isInvalidDecl() || llvm::any_of(definition->parameters(), invalid)) return true;
    auto* pattern = definition->getTemplateInstantiationPattern();
    int index = items_.of(pattern ? pattern : definition);
    if (index >= 0) found.push_back({describe_kernel(definition, items_[index], pattern != nullptr), definition});
    return true;
  }
  std::vector<FoundKernel> found;

 private:
  ScannedKernel describe_kernel(const FunctionDecl* function, const SourceItem& item, bool from_template) {
    ScannedKernel kernel;
    kernel.mangled = mangled_name(unit_, function);
    kernel.key = canonical_key(kernel.mangled);
    kernel.name = spelled_name(unit_, function);
    kernel.tu = unit_.path(unit_.sources.getMainFileID());
    kernel.definition = unit_.range(item.file, item.code_begin, item.code_end);
    kernel.through_macro = item.from_macro;
    kernel.is_template = from_template || function->getPrimaryTemplate();
    for (auto* parameter : function->parameters()) kernel.parameters.push_back(describe(unit_, parameter));
    if (auto* bounds = function->getAttr<CUDALaunchBoundsAttr>()) {
      kernel.max_threads = value_of(bounds->getMaxThreads());
      kernel.min_blocks = value_of(bounds->getMinBlocks());
    }
    return kernel;
  }
  int value_of(const Expr* expression) const {
    if (!expression || expression->isValueDependent()) return 0;
    auto value = expression->getIntegerConstantExpr(unit_.context);
    return value ? static_cast<int>(value->getExtValue()) : 0;
  }

  const ParsedUnit& unit_;
  const SourceItems& items_;
  std::set<const FunctionDecl*> seen_;
};

/// Collects feature words from bodies.
class FeatureVisitor : public DynamicRecursiveASTVisitor {
 public:
  explicit FeatureVisitor(std::set<std::string>& features) : features_(features) {}
  bool VisitVarDecl(VarDecl* variable) override {
    if (variable->hasAttr<CUDASharedAttr>())
      features_.insert(variable->hasExternalStorage() ? "dynamic-shared" : "shared");
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr* reference) override {
    auto* declaration = reference->getDecl();
    for (auto* context = declaration->getDeclContext(); context; context = context->getParent())
      if (auto* space = llvm::dyn_cast<NamespaceDecl>(context)) note_namespace(space->getName());
    if (auto* variable = llvm::dyn_cast<VarDecl>(declaration)) {
      VisitVarDecl(variable);
      return true;
    }
    auto* function = llvm::dyn_cast<FunctionDecl>(declaration);
    if (function && function->getIdentifier()) note_function(function->getName());
    return true;
  }
  bool VisitCallExpr(CallExpr* call) override {
    auto* callee = call->getCallee()->IgnoreParenImpCasts();
    if (!call->getDirectCallee() && !call->isTypeDependent() && callee->getType()->isPointerType())
      features_.insert("function-pointers");
    return true;
  }
  bool VisitMemberExpr(MemberExpr* member) override {
    if (auto* method = llvm::dyn_cast<CXXMethodDecl>(member->getMemberDecl()))
      for (auto* context = method->getDeclContext(); context; context = context->getParent())
        if (auto* space = llvm::dyn_cast<NamespaceDecl>(context)) note_namespace(space->getName());
    return true;
  }
  bool VisitCUDAKernelCallExpr(CUDAKernelCallExpr*) override { return features_.insert("dynamic-parallelism"), true; }
  bool VisitAsmStmt(AsmStmt*) override { return features_.insert("inline-asm"), true; }
  bool VisitLambdaExpr(LambdaExpr*) override { return features_.insert("device-lambdas"), true; }
  bool VisitCXXNewExpr(CXXNewExpr*) override { return features_.insert("device-heap"), true; }
  bool VisitExpr(Expr* expression) override {
    auto type = expression->getType();
    if (type.isNull() || type->isDependentType()) return true;
    auto canonical = type.getCanonicalType().getUnqualifiedType();
    if (canonical->isSpecificBuiltinType(BuiltinType::Double)) features_.insert("double");
    if (auto* record = canonical->getAsCXXRecordDecl(); record && record->getIdentifier()) {
      auto name = record->getName();
      if (name == "__half" || name == "__half2" || name == "__nv_bfloat16") features_.insert("fp16");
    }
    return true;
  }

 private:
  void note_namespace(llvm::StringRef name) {
    if (name == "cooperative_groups") features_.insert("cooperative-groups");
    if (name == "wmma") features_.insert("tensor-cores");
    if (name == "cub" || name == "thrust") features_.insert(name.str());
  }
  void note_function(llvm::StringRef name) {
    struct Row {
      const char* prefix;
      const char* feature;
    };
    static constexpr Row kRows[] = {{"__syncthreads", "barrier"},
                                    {"__syncwarp", "warp-sync"},
                                    {"__shfl", "shuffle"},
                                    {"__any", "vote"},
                                    {"__all", "vote"},
                                    {"__ballot", "vote"},
                                    {"__activemask", "vote"},
                                    {"__match_", "vote"},
                                    {"__reduce_", "warp-reduce"},
                                    {"atomic", "atomics"},
                                    {"__threadfence", "fences"},
                                    {"__ldg", "cache-hints"},
                                    {"__ldc", "cache-hints"},
                                    {"__stc", "cache-hints"},
                                    {"tex1D", "textures"},
                                    {"tex2D", "textures"},
                                    {"tex3D", "textures"},
                                    {"surf", "surfaces"},
                                    {"printf", "printf"},
                                    {"vprintf", "printf"},
                                    {"__assertfail", "assert"},
                                    {"__assert_fail", "assert"},
                                    {"__trap", "trap"},
                                    {"clock", "clock"},
                                    {"malloc", "device-heap"},
                                    {"curand", "curand"},
                                    {"__nanosleep", "sleep"}};
    for (auto& row : kRows)
      if (name.starts_with(row.prefix)) features_.insert(row.feature);
  }
  std::set<std::string>& features_;
};

/// "(lambda at /home/me/app/src/k.cu:3:4)" -> "(lambda at src/k.cu:3:4)": names of types without a name go into
/// commits and MEPs, which others read in folders of their own.
std::string with_relative_places(const ParsedUnit& unit, std::string name) {
  const std::string from = " at " + unit.root() + "/";
  if (unit.root().empty()) return name;
  for (size_t at = name.find(from); at != name.npos; at = name.find(from, at)) name.replace(at, from.size(), " at ");
  return name;
}

}  // namespace

std::vector<FoundKernel> find_kernels(const ParsedUnit& unit, const SourceItems& items) {
  KernelVisitor visitor(unit, items);
  for (auto& item : items.all())
    for (auto* declaration : item.declarations) visitor.TraverseDecl(const_cast<Decl*>(declaration));
  return std::move(visitor.found);
}

std::string mangled_name(const ParsedUnit& unit, const NamedDecl* declaration) {
  std::unique_ptr<MangleContext> mangler(unit.context.createMangleContext());
  if (!mangler->shouldMangleDeclName(declaration)) return declaration->getNameAsString();
  std::string name;
  llvm::raw_string_ostream stream(name);
  auto* function = llvm::dyn_cast<FunctionDecl>(declaration);
  GlobalDecl which = function && function->hasAttr<CUDAGlobalAttr>() ? GlobalDecl(function, KernelReferenceKind::Kernel)
                     : function                                      ? GlobalDecl(function)
                                                                     : GlobalDecl(llvm::cast<VarDecl>(declaration));
  mangler->mangleName(which, stream);
  return name;
}

std::string spelled_name(const ParsedUnit& unit, const FunctionDecl* function) {
  std::string name;
  llvm::raw_string_ostream stream(name);
  auto policy = policy_of(unit);
  function->printQualifiedName(stream, policy);
  auto* arguments = function->getTemplateSpecializationArgs();
  if (!arguments) return with_relative_places(unit, std::move(name));
  std::vector<TemplateArgument> flat;
  for (auto& argument : arguments->asArray())
    if (argument.getKind() == TemplateArgument::Pack)
      flat.insert(flat.end(), argument.pack_begin(), argument.pack_end());
    else flat.push_back(argument);
  stream << "<";
  for (size_t i = 0; i < flat.size(); ++i) {
    if (i) stream << ", ";
    // Clang prints an instance of a function template by the template's name alone.
    auto* given = flat[i].getKind() == TemplateArgument::Declaration ? llvm::dyn_cast<FunctionDecl>(flat[i].getAsDecl())
                                                                     : nullptr;
    if (given) stream << "&" << spelled_name(unit, given);
    else flat[i].print(policy, stream, /*IncludeType=*/true);
  }
  stream << ">";
  return with_relative_places(unit, std::move(name));
}

std::string spelled_type(const ParsedUnit& unit, QualType type) {
  return with_relative_places(unit, type.getCanonicalType().getAsString(policy_of(unit)));
}

std::string element_type(const ParsedUnit& unit, QualType type) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (auto* enumeration = type->getAs<EnumType>()) type = enumeration->getDecl()->getIntegerType();
  return (type->isRecordType() ? "struct " : "") + spelled_type(unit, type);
}

std::vector<std::string> features(const ParsedUnit& unit, const FunctionDecl* kernel, const Closure& closure) {
  std::set<std::string> found;
  FeatureVisitor visitor(found);
  auto visit = [&](const FunctionDecl* function) {
    if (unit.is_user(function->getLocation()) && function->getBody()) visitor.TraverseStmt(function->getBody());
  };
  visit(kernel);
  for (auto* function : closure.functions) visit(function);
  for (auto* variable : closure.variables) {
    if (!unit.is_user(variable->getLocation())) continue;
    visitor.VisitVarDecl(const_cast<VarDecl*>(variable));
    if (variable->hasAttr<HIPManagedAttr>()) found.insert("managed-variables");
    if (variable->hasAttr<CUDAConstantAttr>()) found.insert("constant-memory");
    if (variable->hasAttr<CUDADeviceAttr>() && !variable->hasAttr<CUDASharedAttr>()) found.insert("device-variables");
  }
  return {found.begin(), found.end()};
}

}  // namespace kernelift::extractor
