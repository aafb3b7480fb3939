// The in-process front end: CUDA or HIP source text to device IR, by clang, with our lean headers
// (core/compiler/headers) or a toolkit's. Diagnostics are returned as text. LLVM's global options make it unsafe for
// several threads of one process: compile workers (sandbox/compile/compile_worker.h) run it, each in its own process.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm
namespace clang {
class ASTConsumer;
class CompilerInstance;
}  // namespace clang

namespace kernelift {

enum class HeaderSet { Lean, Toolkit };

struct FrontendOptions {
  std::string file_name = "kernel.cu";  ///< For diagnostics and __FILE__.
  std::string language = "cuda";        ///< cuda | hip (through our thin header)
  std::string arch = "sm_90";           ///< The value of __CUDA_ARCH__.
  std::string machine = {};             ///< The GPU for which code is generated; empty: arch.
  HeaderSet headers = HeaderSet::Lean;
  std::vector<std::string> flags;  ///< -std -D -I -ffast-math… in clang's spelling.
  std::string folder;              ///< The folder to which relative -I refer; empty: the working folder.
  /// Headers in angle brackets with which sources begin (leading_headers()): of those that begin with just these, they
  /// are precompiled, too.
  std::vector<std::string> leading;
  bool debug_lines = true;  ///< Emit line tables, so that later stages can name source lines.
  /// Makes a consumer that sees the AST beside code generation (for the admission of candidates); empty: none.
  std::function<std::unique_ptr<clang::ASTConsumer>(clang::CompilerInstance&)> observer;
};

struct Compiled {
  std::unique_ptr<llvm::Module> module;  ///< Unoptimised device IR (NVPTX), libdevice calls unresolved (__nv_*).
  std::string diagnostics;               ///< Warnings.
};

/// Precompiles the headers that every source with these options begins with, so that its first compile is as quick as
/// all later ones. For what will compile many.
void precompile_headers(const FrontendOptions& options);

/// If the source does not compile, the Error's message holds the diagnostics.
Result<Compiled> compile_to_device_ir(llvm::LLVMContext& context, const std::string& source,
                                      const FrontendOptions& options);

/// The clang arguments that the front end uses for `options` (device pass), for LibTooling callers.
std::vector<std::string> frontend_arguments(const FrontendOptions& options);

}  // namespace kernelift
