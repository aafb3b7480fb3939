// slice: the source text that one kernel needs, cut out of its translation unit, with a map back to the original lines
// and a proof that it compiles to the same device code. If no slice can be cut or proven, the result is the whole unit
// as one flat text, with a note of the reason. No files are written here: the MEP writer decides where the text goes.
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compiler/frontend.h"
#include "core/model/mep.h"
#include "core/model/scan/scan_index.h"

namespace kernelift::extractor {

struct SliceOptions {
  bool prove = true;
  int ptx_version = 0;                ///< PTX version that the code that ran was compiled for (90); 0: not known.
  bool whole_unit_on_failure = true;  ///< Otherwise a slice that cannot be proven is an Error.
};

/// One range of source text in the slice, for the MEP's README.
struct SlicedRange {
  std::string file;
  uint32_t line = 0, end_line = 0;
  std::string what;  ///< "function app::clamp", "macro BLOCK", "include <cstdint>"…
};

struct SliceProof {
  bool proven = false;
  std::string note;  ///< The objects that were compared, or the first difference.
};

struct Slice {
  std::string mode = "slice";  ///< slice | whole-unit
  ScannedUnit unit;  ///< The kernel's unit: of a file that is compiled several times, the first compile that has it.
  std::string text;
  std::vector<LineOrigin> origins;  ///< One per line of text.
  std::string kernel_expression;    ///< The kernel's name in the text: "app::smooth<float, 8>".
  std::string mangled;              ///< The kernel's name as clang mangles it.
  std::string instantiation;        ///< The explicit instantiation at the end of text; empty for a plain function.
  std::vector<SlicedFunction> functions;  ///< The application's functions that the device may run.
  std::vector<Knob> knobs;                ///< The scan's knobs whose value is spelled in text.
  std::string architecture;  ///< Architecture that the text was parsed for: "sm_90"; empty for HIP: the same for all.
  std::vector<std::string> compile_flags;  ///< Flags that affect device code, in clang's spelling.
  HeaderSet headers = HeaderSet::Lean;     ///< The headers that it was proven with.
  /// Mangled names of module variables that the source declares const (see cut_to_kernel).
  std::vector<std::string> constants;
  std::vector<SlicedRange> taken;
  SliceProof proof;
  std::string note;  ///< The reason why it is a whole unit; empty for a slice.
  /// A sentence saying that the file is also compiled with other flags, and another compile may be the one that ran;
  /// or empty.
  std::string doubt;
};

Result<Slice> slice_kernel(const ScanIndex& index, const ScannedKernel& kernel, const SliceOptions& options = {});

/// The closure report: one line per range of text that was taken, with its file and lines.
std::string closure_report(const Slice& slice, const std::string& root);

}  // namespace kernelift::extractor
