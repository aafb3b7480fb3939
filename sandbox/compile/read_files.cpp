// See read_files.h.
#include "sandbox/compile/read_files.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <llvm/ADT/SmallString.h>

namespace kernelift::sandbox {
namespace {

class FilesRead : public clang::ASTConsumer {
 public:
  explicit FilesRead(std::vector<std::string>& files) : files_(files) {}
  void HandleTranslationUnit(clang::ASTContext& context) override {
    const clang::SourceManager& sources = context.getSourceManager();
    for (auto at = sources.fileinfo_begin(); at != sources.fileinfo_end(); ++at) {
      llvm::SmallString<256> path(at->first.getName());
      sources.getFileManager().makeAbsolutePath(path);
      files_.push_back(path.str().str());
    }
  }

 private:
  std::vector<std::string>& files_;
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> with_files_read(clang::CompilerInstance& compiler,
                                                    std::unique_ptr<clang::ASTConsumer> observer,
                                                    std::vector<std::string>& files) {
  std::vector<std::unique_ptr<clang::ASTConsumer>> both;
  both.push_back(std::move(observer));
  both.push_back(std::make_unique<FilesRead>(files));
  return std::make_unique<clang::MultiplexConsumer>(std::move(both));
}

}  // namespace kernelift::sandbox
