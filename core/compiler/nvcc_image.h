// What nvcc makes of a kernel: the application is compiled by nvcc, our candidates by clang, so a baseline is
// timed both ways and a winner is confirmed as the application's own command line builds it. The source becomes a
// cubin in a child process that ends at a deadline. A candidate must have been admitted before
// (sandbox/compile/admission.h), because nvcc parses its host side as well, and be compiled in a confined process.
//
//   auto nvcc = NvccCompiler::find(nvcc_options(mep, "sm_90"));          // Environment error: no nvcc, and the fix
//   CompileReply reply = nvcc->compile(source, {"ns::k<float, 4>"});     // Ok: reply.image is a cubin
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compiler/compile_reply.h"
#include "core/model/mep.h"
#include "core/toolchain/architecture.h"

namespace kernelift {

struct NvccOptions {
  std::vector<std::string> command;  ///< The application's own (Mep::compile_command); empty: made from `flags`.
  std::vector<std::string> flags;    ///< Mep::compile_flags, in clang's spelling.
  std::filesystem::path folder;      ///< Where relative paths in them count from.
  TargetArchitecture target;         ///< Takes the place of every -arch, -code and -gencode of the command.
  std::chrono::milliseconds time_limit{120'000};
  /// Called in the child before nvcc starts, for sources that are not the user's own: confines it to reading `readable`
  /// and writing to `folder` (sandbox/compile/nvcc_jail.h). Empty: not confined.
  std::function<Status(const std::vector<std::filesystem::path>& readable, const std::filesystem::path& folder)>
      confine = {};
};

/// `machine`: of the GPU that will run it.
NvccOptions nvcc_options(const Mep& mep, const std::string& machine);

class NvccCompiler {
 public:
  /// The command's own nvcc if it is there and NVIDIA's, else the toolkit's. An Environment error says that there is
  /// none; a Refused one that another compiler built the application, so that nvcc has nothing to confirm.
  static Result<NvccCompiler> find(NvccOptions options);

  /// Thread-safe; blocks. `kernels` are expressions that name kernels in `source` (Mep::kernel_name,
  /// CandidateLaunch::kernel): their code will be in the image. Outcome: Ok, CompileFailed (detail: the diagnostics),
  /// TimedOut, CompileCrashed. reply.kernels lists the image's kernels as it spells them.
  CompileReply compile(const std::string& source, const std::vector<std::string>& kernels) const;

  const std::filesystem::path& program() const { return program_; }
  /// The command for reports, with kernel.cu and kernel.cubin for the files.
  std::string command_text() const;
  /// What of the application's command was left out, by name: flags without effect on device code.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  NvccOptions options_;
  std::filesystem::path program_;
  std::vector<std::string> arguments_, left_out_;
  std::vector<std::filesystem::path> readable_;
};

}  // namespace kernelift
