// See given_decls.h. What a precompiled header declares is none of it, and is not loaded.
#include "core/compiler/lookup/given_decls.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclCXX.h>
#include <clang/Lex/Lexer.h>

namespace kernelift {

GivenDecls::GivenDecls(const clang::ASTContext& context, const GivenPath& path_of)
    : context_(context), sources_(context.getSourceManager()), path_of_(path_of) {}

bool GivenDecls::contain(const clang::Decl& decl) const {
  return path_of_(sources_.getFileID(sources_.getExpansionLoc(decl.getLocation()))) != nullptr;
}

void GivenDecls::each(const std::function<void(clang::Decl*)>& visit) const {
  each_of(*context_.getTranslationUnitDecl(), visit);
}

void GivenDecls::each_of(const clang::DeclContext& scope, const std::function<void(clang::Decl*)>& visit) const {
  for (clang::Decl* decl : scope.noload_decls())
    if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(decl))
      each_of(*llvm::cast<clang::DeclContext>(decl), visit);
    else if (contain(*decl)) visit(decl);
}

std::string GivenDecls::text(clang::SourceRange range) const {
  const auto whole = sources_.getExpansionRange(range).getAsRange();
  return clang::Lexer::getSourceText(clang::CharSourceRange::getTokenRange(whole), sources_, context_.getLangOpts())
      .str();
}

}  // namespace kernelift
