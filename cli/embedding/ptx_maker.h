// Compiles a run's candidate to the PTX that `apply` embeds, and checks that it is the image that was measured: the
// same compiler is run again, and the assembler must produce the same machine code.
#pragma once
#include <memory>

#include "cli/embedding/ptx_assembler.h"
#include "core/model/mep.h"
#include "reintegrate/embed/embedded_code.h"
#include "sandbox/evaluate/baseline.h"

namespace kernelift::cli {

class PtxMaker {
 public:
  /// Starts no process yet. `run` is used in messages only; `folder` is the MEP's folder.
  PtxMaker(std::string run, Mep mep, std::filesystem::path folder)
      : run_(std::move(run)), mep_(std::move(mep)), folder_(std::move(folder)) {}

  /// Refuses a trial that was not measured on an NVIDIA GPU, no longer compiles, or compiles to another image.
  Result<reintegrate::EmbeddedCode> operator()(const tuner::RunTrial& trial);

 private:
  std::string run_;
  Mep mep_;
  std::filesystem::path folder_;
  std::optional<PtxAssembler> assembler_;
  std::string arch_;  ///< Architecture that the compile pool is for.
  std::optional<sandbox::CompiledBaseline>
      baseline_;  ///< Compile pool, started for the first candidate and kept for the next.
};

}  // namespace kernelift::cli
