// clang's driver and its cc1, in this process: a driver command line is turned into cc1 jobs, and a job is run on
// sources that may be in memory. All of Kernelift's calls of the front end use these functions.
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

/// A file that the compiler sees at `path`, whatever the disk holds there. `text` must outlive the job.
struct VirtualFile {
  std::string path;
  std::string_view text;
};

/// cc1 argument vectors (without the leading "-cc1") for a driver command line (without the leading program name). An
/// Error holds the driver's diagnostics.
Result<std::vector<std::vector<std::string>>> clang_jobs(const std::vector<std::string>& driver_arguments);

/// Runs one cc1 job. `action` gets the instance after its set-up, runs a front-end action on it, and returns true on
/// success. Returns the diagnostics; if the job failed, an Error holds them.
Result<std::string> run_clang_job(const std::vector<std::string>& cc1_arguments, const std::vector<VirtualFile>& files,
                                  const std::function<bool(clang::CompilerInstance&)>& action);

/// The same, with the action that the job's arguments name (-emit-obj, -E, -M…).
Result<std::string> run_clang_job(const std::vector<std::string>& cc1_arguments,
                                  const std::vector<VirtualFile>& files = {});

/// Registers the code generators once per process.
void initialize_llvm_targets();

}  // namespace kernelift
