// What a unit declares in the files of the application that are given for it, as a syntax tree has it.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

namespace clang {
class ASTContext;
class Decl;
class DeclContext;
class FileID;
class SourceManager;
class SourceRange;
}  // namespace clang

namespace kernelift {

/// The given file; nullptr: it is another's.
using GivenPath = std::function<const std::filesystem::path*(clang::FileID)>;

class GivenDecls {
 public:
  /// Both outlive this.
  GivenDecls(const clang::ASTContext& context, const GivenPath& path_of);

  bool contain(const clang::Decl& decl) const;
  /// Visits what they declare at the scope of namespaces, whichever file opens these.
  void each(const std::function<void(clang::Decl*)>& visit) const;
  /// The text as it is spelled, macros as they are called.
  std::string text(clang::SourceRange range) const;

 private:
  void each_of(const clang::DeclContext& scope, const std::function<void(clang::Decl*)>& visit) const;

  const clang::ASTContext& context_;
  const clang::SourceManager& sources_;
  const GivenPath& path_of_;
};

}  // namespace kernelift
