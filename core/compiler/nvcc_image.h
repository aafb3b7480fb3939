// Compiles a kernel with nvcc: the application is compiled by nvcc, our candidates by clang, so a baseline is timed
// both ways and a winner is confirmed as the application's own command line builds it. nvcc runs in a child process
// with a deadline and makes a cubin. nvcc also parses the host code of a source: a candidate must have been admitted
// (sandbox/compile/admission.h), and must be compiled in a confined process.
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
  std::filesystem::path folder;      ///< The folder to which relative paths in them refer.
  TargetArchitecture target;         ///< Replaces every -arch, -code and -gencode of the command.
  std::chrono::milliseconds time_limit{120'000};
  /// Called in the child before nvcc starts, for sources that the user did not write: confines it to reading `readable`
  /// and writing to `folder` (sandbox/compile/nvcc_jail.h). Empty: not confined.
  std::function<Status(const std::vector<std::filesystem::path>& readable, const std::filesystem::path& folder)>
      confine = {};
};

/// The options with which a MEP's sources are compiled; `machine` is the architecture of the GPU: "sm_90".
NvccOptions nvcc_options(const Mep& mep, const std::string& machine);

class NvccCompiler {
 public:
  /// Finds the command's own nvcc if it exists and is NVIDIA's, else the toolkit's. An Environment error: there is no
  /// nvcc. A Refused one: another compiler built the application, so nvcc cannot confirm its builds.
  static Result<NvccCompiler> find(NvccOptions options);

  /// Thread-safe; blocks. `kernels` are expressions that name kernels in `source` (Mep::kernel_name,
  /// CandidateLaunch::kernel); the image contains their code. Outcome: Ok, CompileFailed (detail: the diagnostics),
  /// TimedOut, CompileCrashed. reply.kernels lists the image's kernels by their mangled names.
  /// `further`: flags behind those of the command.
  CompileReply compile(const std::string& source, const std::vector<std::string>& kernels,
                       const std::vector<std::string>& further = {}) const;

  const std::filesystem::path& program() const { return program_; }
  /// The command for reports, with the file names kernel.cu and kernel.cubin.
  std::string command_text() const;
  /// Options of the application's command that were left out (core/toolchain/device_arguments.h).
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  NvccOptions options_;
  std::filesystem::path program_;
  std::vector<std::string> arguments_, left_out_;
  std::vector<std::filesystem::path> readable_;
};

}  // namespace kernelift
