// What goes to a compile worker and what comes back. Both ends are one binary; the reply is still read as a stranger's,
// because the worker may have been taken over by what it compiled.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate.h"
#include "core/model/verdict.h"
#include "sandbox/compile/service/recipe_passes.h"
#include "sandbox/compile/service/sums.h"

namespace kernelift {

/// Cubin: machine code of an NVIDIA GPU, or PTX where no nvJitLink is found and the driver has to finish it.
enum class CompileTarget { Cpu, Ptx, Cubin };

struct CompileRequest {
  std::string source;
  Recipe recipe;
  CompileTarget target = CompileTarget::Cpu;
  std::string bitcode;  ///< The front end's output for `source`, kept from earlier; empty: run it.
  Fusing fusing = Fusing::AsCompiled;
  Strands strands = Strands::None;  ///< Which sums are taken apart.
  bool blocks_turned_round = false;
  uint64_t random_sums = 0;  ///< Not 0: the seed with which sums are rounded at random; without any there is no image.
  bool admit = true;         ///< Judge the source by the slice's own findings.
  std::vector<std::string> own;  ///< AdmissionFinding::identity() of the slice.

  std::string encode() const;
  static std::optional<CompileRequest> decode(std::string_view bytes);
};

/// Facts about one kernel of an image.
struct CompiledKernel {
  std::string name, mode, mode_reason;
  uint64_t code_bytes = 0;
  uint32_t registers = 0, spill_bytes = 0, stack_bytes = 0, shared_bytes = 0;  ///< Of a cubin's kernel.
};

struct CompileReply {
  Outcome outcome = Outcome::Ok;  ///< Ok Refused CompileFailed CompileCrashed TimedOut OverResources
  Stage stage = Stage::Compile;
  std::string detail;
  std::string image;                  ///< An ELF shared object, PTX text, or a cubin.
  std::string bitcode;                ///< Unoptimised device IR, when the front end ran.
  std::vector<std::string> findings;  ///< Identities, when the front end ran.
  std::vector<CompiledKernel> kernels;
  double frontend_seconds = 0, passes_seconds = 0, backend_seconds = 0;
  bool ok() const { return outcome == Outcome::Ok; }
  double seconds() const { return frontend_seconds + passes_seconds + backend_seconds; }

  std::string encode() const;
  static std::optional<CompileReply> decode(std::string_view bytes);
};

}  // namespace kernelift
