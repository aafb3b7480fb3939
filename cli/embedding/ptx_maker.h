// Compiles a run's candidate to the PTX that `apply` embeds, and makes sure that it is the image that was measured: the
// same compiler is asked again, and the assembler must make the same machine code of it.
#pragma once
#include <memory>

#include "cli/embedding/ptx_assembler.h"
#include "core/model/mep.h"
#include "reintegrate/embed/embedded_code.h"
#include "sandbox/evaluate/baseline.h"

namespace kernelift::cli {

class PtxMaker {
 public:
  /// Nothing is started yet. `run` is only named; `folder` is the MEP's.
  PtxMaker(std::string run, Mep mep, std::filesystem::path folder)
      : run_(std::move(run)), mep_(std::move(mep)), folder_(std::move(folder)) {}

  /// EXPECTS: the trial was measured on an NVIDIA GPU. Refuses what was measured elsewhere, does not compile any more,
  /// or comes out as another image.
  Result<EmbeddedCode> operator()(const RunTrial& trial);

 private:
  std::string run_;
  Mep mep_;
  std::filesystem::path folder_;
  std::optional<PtxAssembler> assembler_;
  std::string arch_;                          ///< Of the pool.
  std::optional<CompiledBaseline> baseline_;  ///< Started for the first candidate, kept for the next.
};

}  // namespace kernelift::cli
