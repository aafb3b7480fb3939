// A worklist over declarations. use(D) notes that D is needed; process(D) marks the items whose text declares D, and
// notes the declarations that D needs. Marking an item walks all of its text, so that the slice parses as text;
// processing an instance walks its instantiated body, so that the slice means the same once instantiated. Example: for
//     template <class Op> __global__ void k(float* x) { x[0] = Op()(x[1]); }    launched as k<Add>
// the pattern shows no callee at all; the instance's body names Add::operator().
// System code is walked only through its instantiations (they may call back into user functors) and never taken.
#include "extractor/source/closure.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "core/base/within.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

/// The pattern that spells an instance, or the function itself.
const FunctionDecl* spelled(const FunctionDecl* function) {
  if (auto* pattern = function->getTemplateInstantiationPattern(/*ForDefinition=*/false)) return pattern;
  return function;
}

/// Names the local entity in a template argument that ties a kernel to a host function's body, if there is one.
std::string local_entity(const ParsedUnit& unit, const TagDecl* tag) {
  auto* record = llvm::dyn_cast<CXXRecordDecl>(tag);
  auto at = unit.sources.getPresumedLoc(unit.sources.getExpansionLoc(tag->getLocation()));
  std::string place =
      at.isValid() ? " at " + relative_to(at.getFilename(), unit.root()) + ":" + std::to_string(at.getLine()) : "";
  if (record && record->isLambda()) return "an extended lambda" + place;
  return "the local type '" + tag->getNameAsString() + "'" + place;
}

/// The body of a host function, from the end of its declarator; nothing if a macro spells any of the body or the
/// function's type depends on it.
std::optional<BodyCut> body_of(const ParsedUnit& unit, const FunctionDecl* function) {
  if (!is_host_only(function) || !function->doesThisDeclarationHaveABody() || function->isDefaulted())
    return std::nullopt;
  auto* record = llvm::dyn_cast<CXXRecordDecl>(function->getLexicalDeclContext());
  auto* body = function->getBody();
  auto* type = function->getTypeSourceInfo();
  if (record && record->isLambda()) return std::nullopt;
  if (!body || !type || body->getBeginLoc().isMacroID() || body->getEndLoc().isMacroID()) return std::nullopt;
  auto written = type->getTypeLoc().IgnoreParens().getAsAdjusted<FunctionTypeLoc>();
  if (!written || written.getRParenLoc().isInvalid() || written.getRParenLoc().isMacroID()) return std::nullopt;
  if (function->getReturnType()->isUndeducedType() || function->getReturnType()->getContainedAutoType())
    return std::nullopt;
  FileOffset close = unit.place(written.getRParenLoc()), end = unit.place(body->getEndLoc());
  if (close.file != end.file || close.file != unit.place(body->getBeginLoc()).file) return std::nullopt;
  llvm::StringRef text = unit.text(close.file);
  Lexer lexer(unit.sources.getLocForStartOfFile(close.file), unit.context.getLangOpts(), text.begin(),
              text.begin() + close.offset + 1, text.end());
  Token token;
  for (int depth = 0; !lexer.LexFromRawLexer(token);) {
    unsigned at = unit.sources.getFileOffset(token.getLocation());
    bool is_try = token.is(tok::raw_identifier) && token.getRawIdentifier() == "try";
    if (depth == 0 && (token.isOneOf(tok::l_brace, tok::colon) || is_try))
      return BodyCut{close.file, at, end.offset + 1};
    if (token.isOneOf(tok::l_paren, tok::l_square)) ++depth;
    if (token.isOneOf(tok::r_paren, tok::r_square)) --depth;
  }
  return std::nullopt;
}

class HostBodies : public DynamicRecursiveASTVisitor {
 public:
  explicit HostBodies(const ParsedUnit& unit) : unit_(unit) {}
  bool TraverseStmt(Stmt*) override { return true; }
  bool VisitFunctionDecl(FunctionDecl* function) override {
    if (auto cut = body_of(unit_, function)) cuts.push_back(*cut);
    return true;
  }
  std::vector<BodyCut> cuts;

 private:
  const ParsedUnit& unit_;
};

class Walker : public DynamicRecursiveASTVisitor {
 public:
  Walker(const ParsedUnit& unit, const SourceItems& items, const ClosureOptions& options, Closure& closure)
      : unit_(unit), items_(items), options_(options), closure_(closure) {
    ShouldVisitImplicitCode = true;
  }

  void run(const FunctionDecl* kernel) {
    use(kernel);
    for (auto* constant : options_.constants) use(constant);
    // A using-directive is taken when its namespace is used; it may make further namespaces used, hence the outer loop.
    do {
      while (!work_.empty() || !fresh_items_.empty()) step();
    } while (take_using_directives());
    for (auto* tag : local_types_) {
      auto* function = llvm::dyn_cast<FunctionDecl>(tag->getParentFunctionOrMethod());
      if (function && is_host_only(spelled(function)))
        closure_.refusals.push_back(local_entity(unit_, tag) + " is part of the host function " +
                                    function->getQualifiedNameAsString());
    }
  }

  // --- declarations that an expression, type or name mentions ------------------------------------------------------
  bool VisitDeclRefExpr(DeclRefExpr* e) override { return use(e->getDecl()), use(e->getFoundDecl()), true; }
  bool VisitMemberExpr(MemberExpr* e) override {
    return use(e->getMemberDecl()), use(e->getFoundDecl().getDecl()), true;
  }
  bool VisitCXXConstructExpr(CXXConstructExpr* e) override { return use(e->getConstructor()), true; }
  bool VisitCXXInheritedCtorInitExpr(CXXInheritedCtorInitExpr* e) override { return use(e->getConstructor()), true; }
  bool VisitCXXNewExpr(CXXNewExpr* e) override { return use(e->getOperatorNew()), use(e->getOperatorDelete()), true; }
  bool VisitCXXDeleteExpr(CXXDeleteExpr* e) override { return use(e->getOperatorDelete()), true; }
  bool VisitCXXDefaultArgExpr(CXXDefaultArgExpr* e) override { return TraverseStmt(e->getExpr()); }
  bool VisitCXXDefaultInitExpr(CXXDefaultInitExpr* e) override { return TraverseStmt(e->getExpr()); }
  bool VisitOverloadExpr(OverloadExpr* e) override {
    for (NamedDecl* candidate : e->decls()) {
      auto* target = candidate->getUnderlyingDecl();
      auto* pattern = llvm::dyn_cast<FunctionTemplateDecl>(target);
      auto* function = pattern ? pattern->getTemplatedDecl() : llvm::dyn_cast<FunctionDecl>(target);
      if (function && is_host_only(function) && unit_.is_user(function->getLocation())) continue;
      if (in_system(function ? function->getLocation() : target->getLocation()) &&
          !llvm::isa<UsingShadowDecl>(candidate))
        continue;
      use(candidate);
    }
    return true;
  }
  /// The base visitor does not walk a statement's attributes by itself (`#pragma unroll N` and similar pragmas).
  bool VisitAttributedStmt(AttributedStmt* statement) override {
    for (auto* attribute : statement->getAttrs()) TraverseAttr(const_cast<Attr*>(attribute));
    return true;
  }
  bool VisitExpr(Expr* e) override { return use_type(e->getType()), true; }
  bool VisitTypedefType(TypedefType* t) override { return use(t->getDecl()), true; }
  bool VisitTagType(TagType* t) override { return use(t->getDecl()), true; }
  bool VisitUsingType(UsingType* t) override { return use(t->getDecl()), true; }
  bool VisitUnresolvedUsingType(UnresolvedUsingType* t) override { return use(t->getDecl()), true; }
  bool TraverseTemplateName(TemplateName name) override {
    if (auto* shadow = name.getAsUsingShadowDecl()) use(shadow);
    use(name.getAsTemplateDecl());
    return DynamicRecursiveASTVisitor::TraverseTemplateName(name);
  }
  bool TraverseNestedNameSpecifier(NestedNameSpecifier name) override {
    return use_qualifier(name), DynamicRecursiveASTVisitor::TraverseNestedNameSpecifier(name);
  }
  bool TraverseNestedNameSpecifierLoc(NestedNameSpecifierLoc name) override {
    return use_qualifier(name.getNestedNameSpecifier()),
           DynamicRecursiveASTVisitor::TraverseNestedNameSpecifierLoc(name);
  }
  bool TraverseConceptReference(ConceptReference* reference) override {
    use(reference->getNamedConcept());
    return DynamicRecursiveASTVisitor::TraverseConceptReference(reference);
  }
  bool VisitUsingDirectiveDecl(UsingDirectiveDecl* d) override {
    return use_namespace(d->getNominatedNamespace()), true;
  }
  bool VisitNamespaceAliasDecl(NamespaceAliasDecl* d) override {
    return use(d->getAliasedNamespace()), use_namespace(d->getNamespace()), true;
  }
  bool VisitUsingDecl(UsingDecl* d) override {
    for (auto* shadow : d->shadows()) use(shadow->getTargetDecl());
    return true;
  }
  bool VisitVarDecl(VarDecl* v) override {
    if (v->hasGlobalStorage() && !v->isStaticLocal()) closure_.variables.insert(v->getCanonicalDecl());
    return use_type(v->getType()), true;
  }

  // --- host bodies are cut -----------------------------------------------------------------------------------------
  bool VisitFunctionDecl(FunctionDecl* function) override {
    auto cut = body_of(unit_, function);
    if (!cut) return true;
    closure_.cuts.push_back(*cut);
    skipped_.insert(function->getBody());
    if (auto* constructor = llvm::dyn_cast<CXXConstructorDecl>(function))
      for (auto* initializer : constructor->inits()) skipped_.insert(initializer);
    return true;
  }
  bool TraverseStmt(Stmt* statement) override {
    if (!statement || skipped_.count(statement)) return true;
    return DynamicRecursiveASTVisitor::TraverseStmt(statement);
  }
  bool TraverseConstructorInitializer(CXXCtorInitializer* initializer) override {
    if (skipped_.count(initializer)) return true;
    if (auto* type = initializer->getTypeSourceInfo()) use_type(type->getType());
    return DynamicRecursiveASTVisitor::TraverseConstructorInitializer(initializer);
  }

 private:
  bool in_system(SourceLocation at) const { return at.isValid() && !unit_.is_user(at); }

  void use(const Decl* declaration) {
    if (!declaration || !used_.insert(declaration).second) return;
    work_.push_back({declaration, quiet_});
  }
  void use_type(QualType type) {
    if (type.isNull() || !types_.insert(type.getAsOpaquePtr()).second) return;
    TraverseType(type);
  }
  void use_qualifier(NestedNameSpecifier name) {
    if (name.getKind() != NestedNameSpecifier::Kind::Namespace) return;
    auto* base = name.getAsNamespaceAndPrefix().Namespace;
    if (auto* alias = llvm::dyn_cast<NamespaceAliasDecl>(base)) use(alias);
    use_namespace(base->getNamespace());
  }
  void use_namespace(const NamespaceDecl* name) {
    for (const DeclContext* at = name; at; at = at->getParent())
      if (auto* space = llvm::dyn_cast<NamespaceDecl>(at)) closure_.namespaces.insert(space->getCanonicalDecl());
  }

  void step() {
    if (!work_.empty()) {
      auto [declaration, quiet] = work_.back();
      work_.pop_back();
      bool before = std::exchange(quiet_, quiet);
      process(declaration);
      quiet_ = before;
      return;
    }
    int index = fresh_items_.back();
    fresh_items_.pop_back();
    for (auto* declaration : items_[index].declarations) {
      for (auto* context = declaration->getDeclContext(); context; context = context->getParent())
        if (auto* space = llvm::dyn_cast<NamespaceDecl>(context)) use_namespace(space);
      TraverseDecl(const_cast<Decl*>(declaration));
    }
  }

  /// Takes the item that spells `declaration`, or notes the system header that does.
  void mark(const Decl* declaration) {
    int index = items_.of(declaration);
    if (index >= 0) {
      if (closure_.items.insert(index).second) fresh_items_.push_back(index);
      return;
    }
    if (quiet_ || declaration->getLocation().isInvalid() || unit_.is_user(declaration->getLocation())) return;
    // clang declares its own functions (__syncthreads) where they are first used, be that in some header.
    if (auto* function = llvm::dyn_cast<FunctionDecl>(declaration);
        function && function->isImplicit() && function->getBuiltinID() != 0)
      return;
    auto* named = llvm::dyn_cast<NamedDecl>(declaration);
    static const std::set<std::string> kStandard = {"size_t",   "ptrdiff_t", "int8_t",    "int16_t",
                                                    "int32_t",  "int64_t",   "uint8_t",   "uint16_t",
                                                    "uint32_t", "uint64_t",  "uintptr_t", "intptr_t"};
    if (named && llvm::isa<TypedefNameDecl>(named) && !named->getDeclContext()->isRecord() &&
        kStandard.count(named->getNameAsString())) {
      if (named->getDeclContext()->isTranslationUnit()) closure_.standard_types.insert(named->getNameAsString());
      if (named->getDeclContext()->isTranslationUnit()) return;
    }
    closure_.system_files.insert(unit_.place(declaration->getLocation()).file);
  }

  /// Marks every file-scope redeclaration: prototypes carry default arguments, attributes and visibility to earlier
  /// uses.
  template <class T>
  void mark_all(const T* declaration, bool prototypes_only = false) {
    for (auto* one : declaration->redecls()) {
      bool in_file_scope =
          one->getLexicalDeclContext()->isFileContext() || llvm::isa<LinkageSpecDecl>(one->getLexicalDeclContext());
      bool out_of_line = in_file_scope && one->getDeclContext()->isRecord();
      if (prototypes_only && out_of_line) continue;
      if (in_file_scope || one == declaration) mark(one);
    }
  }

  void process(const Decl* declaration) {
    if (llvm::isa<ParmVarDecl, TemplateTypeParmDecl, NonTypeTemplateParmDecl, TemplateTemplateParmDecl, BindingDecl>(
            declaration))
      return;
    if (!quiet_)
      for (auto* context = declaration->getDeclContext(); context; context = context->getParent())
        if (auto* space = llvm::dyn_cast<NamespaceDecl>(context)) use_namespace(space);
    if (auto* shadow = llvm::dyn_cast<UsingShadowDecl>(declaration)) {
      mark(shadow->getIntroducer());
      return use(shadow->getTargetDecl());
    }
    if (auto* function = llvm::dyn_cast<FunctionDecl>(declaration)) return process_function(function);
    if (auto* record = llvm::dyn_cast<CXXRecordDecl>(declaration)) return process_record(record);
    if (auto* variable = llvm::dyn_cast<VarDecl>(declaration)) return process_variable(variable);
    if (auto* enumeration = llvm::dyn_cast<EnumDecl>(declaration)) {
      if (auto* pattern = enumeration->getTemplateInstantiationPattern()) enumeration = pattern;
      note_local(enumeration);
      mark_all(enumeration);
      return use_parent(enumeration);
    }
    if (auto* constant = llvm::dyn_cast<EnumConstantDecl>(declaration)) {
      if (!quiet_) closure_.enumerators.insert(constant);
      return use(llvm::cast<EnumDecl>(constant->getDeclContext()));
    }
    if (auto* pattern = llvm::dyn_cast<RedeclarableTemplateDecl>(declaration)) return process_template(pattern);
    if (auto* alias = llvm::dyn_cast<TypedefNameDecl>(declaration)) {
      mark_all(alias);
      return use_parent(alias);
    }
    mark(declaration);
    use_parent(declaration);
  }

  /// A member of a class needs the class.
  void use_parent(const Decl* declaration) {
    if (auto* record = llvm::dyn_cast<CXXRecordDecl>(declaration->getDeclContext())) use(record);
  }
  void note_local(const TagDecl* tag) {
    if (tag->getParentFunctionOrMethod()) local_types_.insert(tag);
  }

  void process_function(const FunctionDecl* function) {
    auto* pattern = spelled(function);
    bool host_only = is_host_only(pattern);
    mark_all(pattern, host_only);
    use_parent(function);
    if (auto* primary = function->getPrimaryTemplate()) use(primary);
    if (auto* arguments = function->getTemplateSpecializationArgs())
      for (auto& argument : arguments->asArray()) TraverseTemplateArgument(argument);
    if (host_only) return;
    const FunctionDecl* definition = nullptr;
    if (!function->isDefined(definition) || !definition) {
      if (items_.of(pattern) >= 0 && !function->isDependentContext())
        closure_.undefined.insert(function->getCanonicalDecl());
      return;
    }
    closure_.functions.insert(definition);
    if (definition == pattern && items_.of(definition) >= 0) return;  // Walked with its item.
    bool instance = function->isTemplateInstantiation() || function->isImplicit() || function->isDefaulted();
    if (!instance) return;
    bool before = std::exchange(quiet_, quiet_ || in_system(definition->getLocation()));
    if (auto* body = definition->getBody()) {
      use_type(definition->getType());
      if (auto* constructor = llvm::dyn_cast<CXXConstructorDecl>(definition))
        for (auto* initializer : constructor->inits()) TraverseConstructorInitializer(initializer);
      TraverseStmt(body);
    }
    quiet_ = before;
  }

  void process_record(const CXXRecordDecl* record) {
    note_local(record);
    if (auto* specialisation = llvm::dyn_cast<ClassTemplateSpecializationDecl>(record)) {
      use(specialisation->getSpecializedTemplate());
      for (auto& argument : specialisation->getTemplateArgs().asArray()) TraverseTemplateArgument(argument);
      auto from = specialisation->getSpecializedTemplateOrPartial();
      if (auto* partial = from.dyn_cast<ClassTemplatePartialSpecializationDecl*>()) use(partial);
    } else if (auto* pattern = record->getTemplateInstantiationPattern()) {
      use(pattern);
    }
    mark_all(record);
    use_parent(record);
    auto* definition = record->getDefinition();
    if (!definition || definition->isDependentContext()) return;
    bool before = std::exchange(quiet_, quiet_ || in_system(definition->getLocation()));
    for (auto& base : definition->bases()) use_type(base.getType());
    for (auto* field : definition->fields()) use_type(field->getType());
    if (auto* destructor = definition->getDestructor(); destructor && !destructor->isTrivial()) use(destructor);
    quiet_ = before;
  }

  void process_variable(const VarDecl* variable) {
    if (variable->isLocalVarDecl()) return;
    if (variable->hasGlobalStorage()) closure_.variables.insert(variable->getCanonicalDecl());
    if (variable->hasExternalStorage() && !variable->getDefinition() && items_.of(variable) >= 0)
      closure_.undefined.insert(variable->getCanonicalDecl());
    const VarDecl* pattern = variable->getTemplateInstantiationPattern();
    if (auto* specialisation = llvm::dyn_cast<VarTemplateSpecializationDecl>(variable)) {
      use(specialisation->getSpecializedTemplate());
      for (auto& argument : specialisation->getTemplateArgs().asArray()) TraverseTemplateArgument(argument);
    }
    mark_all(pattern ? pattern : variable);
    use_parent(variable);
    if (pattern && pattern != variable && variable->getDefinition()) {
      use_type(variable->getType());
      if (auto* initializer = variable->getDefinition()->getInit()) TraverseStmt(const_cast<Expr*>(initializer));
    }
  }

  void process_template(const RedeclarableTemplateDecl* pattern) {
    for (const RedeclarableTemplateDecl* at = pattern; at; at = at->getInstantiatedFromMemberTemplate()) {
      auto* function = llvm::dyn_cast<FunctionDecl>(at->getTemplatedDecl());
      mark_all(at, function && is_host_only(function));
      use_parent(at);
    }
    if (!options_.every_specialisation) return;
    if (auto* type = llvm::dyn_cast<ClassTemplateDecl>(pattern)) {
      for (auto* one : const_cast<ClassTemplateDecl*>(type)->specializations())
        if (one->isExplicitSpecialization()) use(one);
      llvm::SmallVector<ClassTemplatePartialSpecializationDecl*, 8> partials;
      const_cast<ClassTemplateDecl*>(type)->getPartialSpecializations(partials);
      for (auto* one : partials) use(one);
    }
  }

  bool take_using_directives() {
    bool any = false;
    for (size_t i = 0; i < items_.all().size(); ++i) {
      auto& item = items_[static_cast<int>(i)];
      if (closure_.items.count(static_cast<int>(i)) || item.declarations.size() != 1) continue;
      auto* directive = llvm::dyn_cast<UsingDirectiveDecl>(item.declarations.front());
      if (!directive || !closure_.namespaces.count(directive->getNominatedNamespace()->getCanonicalDecl())) continue;
      closure_.items.insert(static_cast<int>(i));
      fresh_items_.push_back(static_cast<int>(i));
      any = true;
    }
    return any;
  }

  const ParsedUnit& unit_;
  const SourceItems& items_;
  const ClosureOptions& options_;
  Closure& closure_;
  std::vector<std::pair<const Decl*, bool>> work_;
  std::vector<int> fresh_items_;
  std::unordered_set<const Decl*> used_;
  std::unordered_set<const void*> types_, skipped_;
  std::set<const TagDecl*> local_types_;
  bool quiet_ = false;  ///< True inside an instance of a system template, whose own header includes what it uses.
};

/// Adds the macros that the taken text uses, conditionals included, and what those macros use.
class MacroCollector {
 public:
  MacroCollector(const ParsedUnit& unit, const SourceItems& items, Closure& closure)
      : unit_(unit), items_(items), closure_(closure) {
    for (auto& use : unit.record.uses) by_file_[use.at.file].push_back(&use);
    for (auto& [file, uses] : by_file_)
      std::sort(uses.begin(), uses.end(), [](auto* a, auto* b) { return a->at.offset < b->at.offset; });
  }
  void run() {
    for (int index : closure_.items) range(index, items_[index].file, items_[index].code_begin, items_[index].code_end);
  }

 private:
  void range(int index, FileID file, unsigned begin, unsigned end) {
    auto& uses = by_file_[file];
    auto first =
        std::lower_bound(uses.begin(), uses.end(), begin, [](auto* use, unsigned at) { return use->at.offset < at; });
    for (auto at = first; at != uses.end() && (*at)->at.offset < end; ++at)
      if (!is_cut(file, (*at)->at.offset)) take(index, **at);
    for (auto& include : unit_.record.includes)
      if (include.hash.file == file && include.hash.offset >= begin && include.hash.offset < end &&
          include.entered.isValid())
        range(index, include.entered, 0, unit_.text(include.entered).size());
  }
  bool is_cut(FileID file, unsigned offset) const {
    for (auto& cut : closure_.cuts)
      if (cut.file == file && offset >= cut.begin && offset < cut.end) return true;
    return false;
  }
  void take(int index, const MacroUseRecord& use) {
    if (use.name == "__LINE__" || use.name == "__FILE__" || use.name == "assert") closure_.line_sensitive.insert(index);
    if (use.name == "__COUNTER__")
      closure_.refusals.push_back("__COUNTER__ makes the text depend on everything before it");
    if (!use.macro || use.macro->isBuiltinMacro()) return;
    auto at = use.macro->getDefinitionLoc();
    if (at.isInvalid()) return;
    if (unit_.is_user(at) || unit_.is_of_command(at)) {
      closure_.macros.insert(use.macro);
      closure_.macro_names.insert(use.name);
    } else if (!use.nested) {
      closure_.system_files.insert(unit_.place(at).file);
    }
  }

  const ParsedUnit& unit_;
  const SourceItems& items_;
  Closure& closure_;
  std::map<FileID, std::vector<const MacroUseRecord*>> by_file_;
};

}  // namespace

bool is_host_only(const FunctionDecl* function) {
  return !function->hasAttr<CUDADeviceAttr>() && !function->hasAttr<CUDAGlobalAttr>() && !function->isConstexpr() &&
         !function->isImplicit() && !function->isDefaulted();
}

std::vector<BodyCut> host_bodies(const ParsedUnit& unit, const SourceItems& items) {
  HostBodies visitor(unit);
  for (auto& item : items.all())
    for (auto* declaration : item.declarations) visitor.TraverseDecl(const_cast<Decl*>(declaration));
  return std::move(visitor.cuts);
}

Closure close_over(const ParsedUnit& unit, const SourceItems& items, const FunctionDecl* kernel,
                   const ClosureOptions& options) {
  Closure closure;
  Walker(unit, items, options, closure).run(kernel);
  MacroCollector(unit, items, closure).run();
  return closure;
}

}  // namespace kernelift::extractor
