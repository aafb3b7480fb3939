// Requests to a compile worker, and its replies. Both ends are the same binary; the reply is read as untrusted all the
// same, because the source that a worker compiles may have taken control of it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/compiler/compile_reply.h"
#include "core/compiler/recipe_passes.h"
#include "core/compiler/sums.h"
#include "core/model/candidate/candidate.h"
#include "core/model/launch/field_run.h"
#include "core/model/launch/geometry.h"
#include "core/model/verdict/verdict.h"

namespace kernelift::sandbox {

/// Cubin: machine code of an NVIDIA GPU; or PTX, which the driver compiles, if there is no nvJitLink. Model: what the
/// kernel does with memory, as the JSON of a KernelModel in place of an image.
enum class CompileTarget { Cpu, Ptx, Cubin, Model };

struct CompileRequest {
  std::string source;
  Recipe recipe;
  CompileTarget target = CompileTarget::Cpu;
  std::string bitcode;  ///< The front end's output for `source`, from an earlier compile; empty: run the front end.
  Fusing fusing = Fusing::AsCompiled;
  PartialSums partial_sums = PartialSums::None;  ///< The sums that are split into partial sums.
  bool blocks_reversed = false;                  ///< Blocks are numbered from the last to the first.
  bool side_by_side = false;                     ///< cpu::LowerOptions::side_by_side.
  bool checked = false;                          ///< cpu::LowerOptions::checked.
  bool field = false;                            ///< cpu::LowerOptions::field.
  NumberKind numbers = NumberKind::Residues;     ///< cpu::LowerOptions::numbers.
  /// A way of looking at code that is compiled otherwise to be run.
  bool looks_only() const { return side_by_side || checked || field; }
  uint64_t random_sums = 0;  ///< Unless 0: the seed with which sums are rounded at random; Refused if there are none.
  std::string kernel = {};   ///< Model: the kernel's mangled name.
  Dim3 block = {};           ///< Model: threads of a block.
  bool admit = true;         ///< Refuse the source unless admission admits it.
  std::vector<std::string> own;  ///< AdmissionFinding::identity() of the slice's findings.

  std::string encode() const;
  static std::optional<CompileRequest> decode(std::string_view bytes);
};

/// A reply as the body of a frame.
std::string encode(const CompileReply& reply);
std::optional<CompileReply> decode_reply(std::string_view bytes);

}  // namespace kernelift::sandbox
