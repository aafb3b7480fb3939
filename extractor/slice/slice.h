// slice: the source text that one kernel needs, cut out of its translation unit, with a map back to the original lines
// and a proof that it means the same. Where no slice can be cut or proven, the whole unit is given as one
// flat text, and the note says why. Nothing is written here: the MEP writer decides where the text goes.
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compiler/frontend.h"
#include "core/model/mep.h"
#include "core/model/scan/scan_index.h"

namespace kernelift {

struct SliceOptions {
  bool prove = true;
  int ptx_version = 0;                ///< What the code that ran was compiled for (90); 0: not known.
  bool whole_unit_on_failure = true;  ///< Otherwise a slice that cannot be proven is an Error.
};

/// What was taken, for the MEP's README.
struct SlicedRange {
  std::string file;
  uint32_t line = 0, end_line = 0;
  std::string what;  ///< "function app::clamp", "macro BLOCK", "include <cstdint>"…
};

struct SliceProof {
  bool proven = false;
  std::string note;  ///< What was compared, or the first difference.
};

struct Slice {
  std::string mode = "slice";  ///< slice | whole-unit
  ScannedUnit unit;  ///< That has the kernel: of a file that is compiled several times, the first compile that does.
  std::string text;
  std::vector<LineOrigin> origins;  ///< One per line of text.
  std::string kernel_expression;    ///< How the text names the kernel: "app::smooth<float, 8>".
  std::string mangled;              ///< As clang mangles it.
  std::string instantiation;        ///< The explicit instantiation at the end of text; empty for a plain function.
  std::vector<SlicedFunction> functions;  ///< The application's, as far as the device may run them.
  std::vector<Knob> knobs;                ///< Those of the scan whose value is spelled in text.
  std::string architecture;  ///< What the text was read for: "sm_90"; empty: HIP, whose text is the same for all.
  std::vector<std::string> compile_flags;  ///< Device-relevant, clang's spelling.
  HeaderSet headers = HeaderSet::Lean;     ///< The set it was proven with.
  std::vector<std::string>
      constants;  ///< Mangled names of module variables that the source calls const (see cut_to_kernel).
  std::vector<SlicedRange> taken;
  SliceProof proof;
  std::string note;   ///< Why it is a whole unit; empty for a slice.
  std::string doubt;  ///< That the file is compiled in other ways too, one of which may be the one that ran: a
                      ///< sentence; or empty.
};

Result<Slice> slice_kernel(const ScanIndex& index, const ScannedKernel& kernel, const SliceOptions& options = {});

/// "closure report": what was taken from which file and lines, one line each.
std::string closure_report(const Slice& slice, const std::string& root);

}  // namespace kernelift
