// The driver is used as a library so that its knowledge of GCC installations, include order and language defaults is
// not repeated here; its jobs run in this process instead of in child processes. There is no linking and no logic for
// CUDA here: callers name the pass that they want (--cuda-device-only or --cuda-host-only).
#include "core/compiler/clang_job.h"

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Driver/Job.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/FrontendTool/Utils.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>

#include "core/compiler/paths.h"

namespace kernelift {

void initialize_llvm_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

Result<std::vector<std::vector<std::string>>> clang_jobs(const std::vector<std::string>& driver_arguments) {
  initialize_llvm_targets();
  std::string text;
  llvm::raw_string_ostream out(text);
  clang::DiagnosticOptions options;
  clang::DiagnosticsEngine diagnostics(clang::DiagnosticIDs::create(), options,
                                       new clang::TextDiagnosticPrinter(out, options));
  // The driver needs a program name to find files beside itself; the resource folder is passed explicitly.
  std::string program = "/usr/bin/clang++", resource = clang_resource_folder().string();
  // A file system with a working folder of its own, because -working-directory would change the process's.
  clang::driver::Driver driver(program, llvm::sys::getDefaultTargetTriple(), diagnostics, "clang",
                               llvm::vfs::createPhysicalFileSystem());
  driver.setCheckInputsExist(false);
  driver.ResourceDir = resource;
  std::vector<const char*> argv{program.c_str(), "-resource-dir", resource.c_str()};
  for (const std::string& argument : driver_arguments) argv.push_back(argument.c_str());
  std::unique_ptr<clang::driver::Compilation> compilation(driver.BuildCompilation(argv));
  if (!compilation || diagnostics.hasErrorOccurred()) return environment_error(text);
  std::vector<std::vector<std::string>> jobs;
  for (const clang::driver::Command& job : compilation->getJobs()) {
    const auto& arguments = job.getArguments();
    if (arguments.empty() || llvm::StringRef(arguments[0]) != "-cc1") continue;
    jobs.emplace_back(arguments.begin() + 1, arguments.end());
  }
  if (jobs.empty())
    return usage_error("clang's driver found nothing to compile in: " + (text.empty() ? argv.back() : text));
  return jobs;
}

Result<std::string> run_clang_job(const std::vector<std::string>& cc1_arguments, const std::vector<VirtualFile>& files,
                                  const std::function<bool(clang::CompilerInstance&)>& action) {
  initialize_llvm_targets();
  std::string text;
  llvm::raw_string_ostream out(text);
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  std::vector<const char*> argv;
  for (const std::string& argument : cc1_arguments) argv.push_back(argument.c_str());
  clang::DiagnosticOptions parse_options;
  clang::DiagnosticsEngine parse_diagnostics(clang::DiagnosticIDs::create(), parse_options,
                                             new clang::TextDiagnosticPrinter(out, parse_options));
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, argv, parse_diagnostics)) return environment_error(text);

  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(llvm::vfs::createPhysicalFileSystem());
  if (!files.empty()) {
    auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
    for (const VirtualFile& file : files)
      memory->addFile(file.path, 0, llvm::MemoryBuffer::getMemBuffer(file.text, file.path, false));
    overlay->pushOverlay(memory);
  }
  clang::CompilerInstance compiler(invocation);
  compiler.setVirtualFileSystem(overlay);
  // clang relies on the end of its process to free memory; ours continues, and a target machine takes half a megabyte.
  invocation->getFrontendOpts().DisableFree = invocation->getCodeGenOpts().DisableFree = false;
  compiler.createDiagnostics(new clang::TextDiagnosticPrinter(out, invocation->getDiagnosticOpts()));
  compiler.setVerboseOutputStream(out);
  bool ok = action(compiler);
  if (!ok) return environment_error(text.empty() ? "the compiler failed without a message" : text);
  return text;
}

Result<std::string> run_clang_job(const std::vector<std::string>& cc1_arguments,
                                  const std::vector<VirtualFile>& files) {
  return run_clang_job(cc1_arguments, files,
                       [](clang::CompilerInstance& compiler) { return clang::ExecuteCompilerInvocation(&compiler); });
}

}  // namespace kernelift
