// What nvcc makes of a kernel: the application is compiled by nvcc, our candidates by clang, so a baseline is
// timed both ways and a winner is confirmed as the application's own command line builds it. The source becomes a
// cubin in a child process that sees its headers and one private folder, has no network, and ends at a deadline; the
// text must have been admitted before (service/admission.h), because nvcc parses its host side as well.
//
//   auto nvcc = NvccCompiler::find(nvcc_options(mep, "sm_90"));          // Environment error: no nvcc, and the fix
//   CompileReply reply = nvcc->compile(source, {"ns::k<float, 4>"});     // Ok: reply.image is a cubin
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/mep.h"
#include "core/toolchain/architecture.h"
#include "sandbox/compile/service/compile_message.h"

namespace kernelift {

struct NvccOptions {
  std::vector<std::string> command;  ///< The application's own (Mep::compile_command); empty: made from `flags`.
  std::vector<std::string> flags;    ///< Mep::compile_flags, in clang's spelling.
  std::filesystem::path folder;      ///< Where relative paths in them count from.
  TargetArchitecture target;         ///< Takes the place of every -arch, -code and -gencode of the command.
  std::chrono::milliseconds time_limit{120'000};
  uint64_t memory_bytes = 16ull << 30;  ///< Address space of each of the child's processes.
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

/// The machine code of the kernel whose canonical key is `key` in a cubin; empty if it has none.
std::string_view cubin_code(std::string_view cubin, const std::string& key);

/// Names of the kernels in a cubin. Empty if it is none.
std::vector<std::string> cubin_kernels(std::string_view cubin);

}  // namespace kernelift
