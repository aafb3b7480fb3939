// The in-process front end: CUDA or HIP source text to device IR, by clang, with our lean headers
// (core/compiler/headers) or a toolkit's. Diagnostics come back as text, cut to the caller's own lines. Not thread-safe
// in one process for what touches LLVM's global options: compile workers (worker.h) run it, each in a process of its
// own.
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
  std::string arch = "sm_90";           ///< What __CUDA_ARCH__ says.
  std::string machine = {};             ///< The GPU that code is generated for; empty: arch.
  HeaderSet headers = HeaderSet::Lean;
  std::vector<std::string> flags;  ///< -std -D -I -ffast-math… in clang's spelling.
  std::string folder;              ///< Where relative -I count from.
  bool debug_lines = true;         ///< Line tables, so that later stages can name places.
  /// Makes a consumer that sees the parse beside code generation (admission of candidates); empty: nobody watches.
  std::function<std::unique_ptr<clang::ASTConsumer>(clang::CompilerInstance&)> observer;
};

struct Compiled {
  std::unique_ptr<llvm::Module> module;  ///< Unoptimised device IR (NVPTX), libdevice calls unresolved (__nv_*).
  std::string diagnostics;               ///< Warnings.
};

/// An Error's message holds the diagnostics.
Result<Compiled> compile_to_device_ir(llvm::LLVMContext& context, const std::string& source,
                                      const FrontendOptions& options);

/// clang arguments that the front end uses for such options (device pass), for LibTooling callers.
std::vector<std::string> frontend_arguments(const FrontendOptions& options);

}  // namespace kernelift
