// The result of compiling a source, by clang in this process or by nvcc in a child process: an image and facts about
// its kernels, or an outcome with diagnostics. A source that does not compile is a result, never an Error.
#pragma once
#include <string>
#include <vector>

#include "core/model/verdict/verdict.h"

namespace kernelift {

/// Facts about one kernel of an image.
struct CompiledKernel {
  std::string name;               ///< Mangled name.
  std::string mode, mode_reason;  ///< CPU device: enum kl_mode in words (core/toolchain/image_abi.h), and why.
  uint64_t code_bytes = 0;
  uint32_t registers = 0;                                       ///< Cubin: per thread.
  uint32_t spill_bytes = 0, stack_bytes = 0, shared_bytes = 0;  ///< Cubin: per thread, per thread, per block.
};

struct CompileReply {
  Outcome outcome = Outcome::Ok;  ///< Ok Refused CompileFailed CompileCrashed TimedOut OverResources
  Stage stage = Stage::Compile;
  std::string detail;
  std::string image;                  ///< An ELF shared object, PTX text, or a cubin.
  std::string bitcode;                ///< Unoptimised device IR, when the front end ran.
  std::vector<std::string> findings;  ///< Identities of admission findings, when the front end ran.
  std::vector<std::string> files;     ///< Paths of the files that were read, if the source was the user's own.
  std::vector<CompiledKernel> kernels;
  double frontend_seconds = 0, passes_seconds = 0, backend_seconds = 0;
  bool ok() const { return outcome == Outcome::Ok; }
  double seconds() const { return frontend_seconds + passes_seconds + backend_seconds; }
};

}  // namespace kernelift
