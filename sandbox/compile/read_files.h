// The files that a compile reads. The kernel's own source tells which headers a candidate may read: the same.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace clang {
class ASTConsumer;
class CompilerInstance;
}  // namespace clang

namespace kernelift::sandbox {

/// `observer`, and beside it one that sets `files` to the paths of all files that were read, once the parse is over.
std::unique_ptr<clang::ASTConsumer> with_files_read(clang::CompilerInstance& compiler,
                                                    std::unique_ptr<clang::ASTConsumer> observer,
                                                    std::vector<std::string>& files);

}  // namespace kernelift::sandbox
