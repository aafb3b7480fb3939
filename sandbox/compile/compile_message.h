// What goes to a compile worker and what comes back. Both ends are one binary; the reply is still read as a stranger's,
// because the worker may have been taken over by what it compiled.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/compiler/compile_reply.h"
#include "core/compiler/recipe_passes.h"
#include "core/compiler/sums.h"
#include "core/model/candidate.h"
#include "core/model/verdict.h"

namespace kernelift {

/// Cubin: machine code of an NVIDIA GPU, or PTX where no nvJitLink is found and the driver has to finish it.
enum class CompileTarget { Cpu, Ptx, Cubin };

struct CompileRequest {
  std::string source;
  Recipe recipe;
  CompileTarget target = CompileTarget::Cpu;
  std::string bitcode;  ///< The front end's output for `source`, kept from earlier; empty: run it.
  Fusing fusing = Fusing::AsCompiled;
  PartialSums partial_sums = PartialSums::None;  ///< The sums that are split into partial sums.
  bool blocks_reversed = false;                  ///< Blocks are numbered from the last to the first.
  uint64_t random_sums = 0;  ///< Not 0: the seed with which sums are rounded at random; without any there is no image.
  bool admit = true;         ///< Judge the source by the slice's own findings.
  std::vector<std::string> own;  ///< AdmissionFinding::identity() of the slice.

  std::string encode() const;
  static std::optional<CompileRequest> decode(std::string_view bytes);
};

/// How a reply travels.
std::string encode(const CompileReply& reply);
std::optional<CompileReply> decode_reply(std::string_view bytes);

}  // namespace kernelift
