// The job that is compiled is the source's own job with an empty source, so that headers are included in the same way
// and in the same order in both.
#include "core/compiler/precompiled.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaConsumer.h>
#include <clang/Serialization/ASTWriter.h>

#include <algorithm>
#include <filesystem>

#include "core/compiler/paths.h"
#include "core/compiler/written/source_tokens.h"

namespace kernelift {
namespace {

constexpr const char* kSourcePath = "/kernelift-precompiled-headers.cu";

/// Before the headers' declarations are written, forgets which of their functions the end of every later compile would
/// read again, nine tenths of a small kernel's front end:
///  - those to search for diagnostics that clang defers until it knows on which side a function runs: the diagnostics
///    themselves are not written, and functions that a source calls are searched from the source's own;
///  - those to warn of if they are unused: headers' functions are meant to be.
class ForgetFunctionsToCheck : public clang::SemaConsumer {
 public:
  void InitializeSema(clang::Sema& sema) override { sema_ = &sema; }
  void ForgetSema() override { sema_ = nullptr; }
  void HandleTranslationUnit(clang::ASTContext&) override {
    if (!sema_) return;
    sema_->DeclsToCheckForDeferredDiags.clear();
    auto& unused = sema_->UnusedFileScopedDecls;
    unused.erase(unused.begin(nullptr, /*LocalOnly=*/true), unused.end());
  }

 private:
  clang::Sema* sema_ = nullptr;
};

/// Writes a precompiled header to memory; clang's own action writes a file.
class PrecompileInMemory : public clang::ASTFrontendAction {
 public:
  PrecompileInMemory(std::shared_ptr<clang::PCHBuffer> buffer, const PrecompileWatch& watch)
      : buffer_(std::move(buffer)), watch_(watch) {}

 protected:
  bool BeginSourceFileAction(clang::CompilerInstance& compiler) override {
    compiler.getLangOpts().CompilingPCH = true;
    return true;
  }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler, llvm::StringRef) override {
    std::vector<std::unique_ptr<clang::ASTConsumer>> all;
    if (watch_.observer) all.push_back(watch_.observer(compiler));
    all.push_back(std::make_unique<ForgetFunctionsToCheck>());
    all.push_back(std::make_unique<clang::PCHGenerator>(compiler.getPreprocessor(), compiler.getModuleCache(), "", "",
                                                        buffer_, compiler.getCodeGenOpts(),
                                                        compiler.getFrontendOpts().ModuleFileExtensions,
                                                        /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false));
    return std::make_unique<clang::MultiplexConsumer>(std::move(all));
  }
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  bool hasASTFileSupport() const override { return false; }

 private:
  std::shared_ptr<clang::PCHBuffer> buffer_;
  const PrecompileWatch& watch_;
};

}  // namespace

const char* const kPrecompiledPath = "/kernelift-precompiled-headers.pch";

std::vector<VirtualFile> Precompiled::files() const { return {{kPrecompiledPath, bytes}, {kSourcePath, source}}; }

std::vector<std::string> forced_headers(const FrontendOptions& options) {
  std::vector<std::string> headers{"cuda_runtime.h"};
  if (options.headers == HeaderSet::Toolkit)
    headers = {"__clang_cuda_runtime_wrapper.h", (lean_headers() / "kernelift" / "toolkit_prelude.h").string()};
  // The runtime's header is included implicitly, as rocThrust's users expect.
  if (options.language == "hip") headers.push_back("hip/hip_runtime.h");
  return headers;
}

std::vector<std::string> with_precompiled(const std::vector<std::string>& job,
                                          const std::vector<std::string>& headers) {
  std::vector<std::string> result{"-fpch-instantiate-templates", "-include-pch", kPrecompiledPath, "-fno-validate-pch"};
  for (size_t i = 0; i < job.size(); ++i) {
    if (job[i] == "-include" && i + 1 < job.size() && std::ranges::count(headers, job[i + 1]) > 0) ++i;
    else result.push_back(job[i]);
  }
  return result;
}

std::string flags_of(const std::vector<std::string>& job, const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  std::string flags;
  for (auto& word : job)
    if (word != file && word != name && !word.starts_with("-cuid=")) flags += word + '\n';
  return flags;
}

Precompiled precompile(const std::vector<std::string>& job, const std::vector<std::string>& headers,
                       const PrecompileWatch& watch, const std::string& source) {
  std::vector<std::string> arguments = job;
  arguments.back() = kSourcePath;  // The input.
  // Templates that the headers' inline functions use are instantiated once, here, instead of at the end of each
  // compile.
  arguments.insert(arguments.begin(), "-fpch-instantiate-templates");
  auto buffer = std::make_shared<clang::PCHBuffer>();
  auto made = run_clang_job(arguments, {VirtualFile{kSourcePath, source}}, [&](clang::CompilerInstance& compiler) {
    // Other headers that the job includes implicitly are the application's, and are read with its source.
    compiler.getPreprocessorOpts().Includes = headers;
    if (watch.begin) watch.begin(compiler);
    PrecompileInMemory action(buffer, watch);
    return compiler.ExecuteAction(action);
  });
  if (!made.ok() || !buffer->IsComplete) return {};
  return {{buffer->Data.begin(), buffer->Data.end()}, source};
}

std::string including(const std::vector<std::string>& headers) {
  std::string text;
  for (auto& header : headers) text += "#include <" + header + ">\n";
  return text;
}

std::vector<std::string> leading_headers(std::string_view source) {
  std::vector<std::string> headers;
  const auto tokens = source_tokens(source);
  size_t next = 0;
  for (auto [begin, end] : directives(tokens)) {
    if (begin != next + 1 || end - begin < 4) break;
    const SourceToken &open = tokens[begin + 1], &close = tokens[end - 1];
    if (!tokens[begin].is("include") || !open.is("<") || !close.is(">")) break;
    headers.emplace_back(source.substr(open.end, close.offset - open.end));
    if (headers.back().find('>') != std::string::npos) return headers.pop_back(), headers;
    next = end;
  }
  return headers;
}

}  // namespace kernelift
