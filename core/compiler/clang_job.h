// clang's driver and its cc1, in this process: a driver command line becomes the cc1 jobs it stands for, and a job is
// run on sources that may live in memory. Everything of ours that calls the front end goes through here.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace llvm {
class MemoryBuffer;
class raw_ostream;
}  // namespace llvm
namespace clang {
class FrontendAction;
class CompilerInstance;
}  // namespace clang

namespace kernelift {

/// A file that the compiler sees at `path`, whatever is on disk there. `text` must outlive the job.
struct VirtualFile {
  std::string path;
  std::string_view text;
};

/// cc1 argument vectors (without the leading "-cc1") for a driver command line (without the leading program name).
Result<std::vector<std::vector<std::string>>> clang_jobs(const std::vector<std::string>& driver_arguments);

/// Runs one cc1 job. `action` gets the instance after its set-up and runs what it wants; it returns success.
/// Returns the diagnostics; an Error holds them if the job failed.
Result<std::string> run_clang_job(const std::vector<std::string>& cc1_arguments, const std::vector<VirtualFile>& files,
                                  const std::function<bool(clang::CompilerInstance&)>& action);

/// The action that the job itself names (-emit-obj, -E, -M…).
Result<std::string> run_clang_job(const std::vector<std::string>& cc1_arguments,
                                  const std::vector<VirtualFile>& files = {});

/// Registers the code generators once per process.
void initialize_llvm_targets();

}  // namespace kernelift
