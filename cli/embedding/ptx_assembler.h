// Runs NVIDIA's assembler in a process of its own: nvJitLink initialises the driver in its process, and a process with
// an initialised driver can no longer fork GPU runners. `apply` needs both: it embeds one candidate and confirms the
// next.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "sandbox/jail/fork_server.h"

namespace kernelift::cli {

/// Machine code, and the PTX that assembles to it.
struct AssembledPtx {
  std::string image, ptx;
};

class PtxAssembler {
 public:
  /// Forks the fork server; call it early, while this process is still small.
  static Result<PtxAssembler> start();

  /// The machine code of `whole` as it is measured, with at most this many registers of a thread (0: no limit), and
  /// `plain` with the lowest PTX version that assembles to the same code without any option, as drivers do it. `plain`
  /// is the same text without debug information, and with the limit in it. Refused if there is none; an environment
  /// Error if there is no assembler.
  Result<AssembledPtx> operator()(const std::string& whole, const std::string& plain, const std::string& arch,
                                  int most_registers);

 private:
  std::unique_ptr<sandbox::ForkServer> fork_server_;
  std::optional<sandbox::Worker> worker_;
};

}  // namespace kernelift::cli
