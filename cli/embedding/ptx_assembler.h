// NVIDIA's assembler, in a process of its own: nvJitLink starts the driver in the process that it works in, and from a
// process with a driver no GPU runner can be forked any more. `apply` needs both: it embeds one candidate and confirms
// the next.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "sandbox/jail/fork_server.h"

namespace kernelift::cli {

/// Machine code, and the PTX that becomes it.
struct AssembledPtx {
  std::string image, ptx;
};

class PtxAssembler {
 public:
  /// Forks: early, while this process is still small.
  static Result<PtxAssembler> start();

  /// The machine code of `whole`, and `plain` with the lowest version that becomes the same. A refusal where neither
  /// can be; an environment Error where there is no assembler.
  Result<AssembledPtx> operator()(const std::string& whole, const std::string& plain, const std::string& arch);

 private:
  std::unique_ptr<ForkServer> fork_server_;
  std::optional<Worker> worker_;
};

}  // namespace kernelift::cli
