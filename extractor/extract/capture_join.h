// Which kernel of the source a captured launch is of. The canonical key says nearly always; where several
// files have kernels of one key, further signs decide: the file that the recorder knew, the file's name that nvcc
// hides in the names of what is local to it, the parameters' layout, the company of a module's other kernels, and at
// last the machine code itself, against what the file's own compile command makes.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/capture.h"
#include "core/model/scan/scan_index.h"

namespace kernelift::extractor {

/// "cases_cu" from a name that nvcc made local to cases.cu ("_ZN34_GLOBAL__N__f24e1562_8_cases_cu_ck2akEPi",
/// "__nv_static_23__f24e1562_8_cases_cu_ck__Z2skPi"); empty if the name says nothing.
std::string file_mark(std::string_view mangled);
/// Whether nvcc would write `mark` for `file`.
bool is_mark_of(std::string_view mark, const std::string& file);

/// False if the captured parameters cannot be those of the scanned kernel.
bool same_layout(const std::vector<Parameter>& captured, const std::vector<ScannedParameter>& scanned);

/// A header's kernel that is local to the units which include it (`static`, or in an unnamed namespace) is another one
/// in each: macros may differ. Takes that of the unit from which most launches came, and leaves out the others'
/// launches; returns a sentence about them, or nothing.
std::string take_unit_of_launches(const ScanIndex& index, ScannedKernel& kernel,
                                  std::vector<const CapturedInstance*>& launches);

class CaptureJoin {
 public:
  CaptureJoin(const ScanIndex& index, const Capture& capture) : index_(index), capture_(capture) {}

  /// Doubt: of this kernel or of a namesake in another file, and nothing tells which.
  enum class Answer { No, Yes, Doubt };
  Answer joins(const CapturedInstance& instance, const ScannedKernel& kernel) const;

 private:
  /// Signs for `kernel`: higher is likelier; negative: it cannot be.
  int signs(const CapturedInstance& instance, const ScannedKernel& kernel) const;
  /// Whether the code that ran is what nvcc makes of the kernel's file; nullopt where that cannot be tried.
  std::optional<bool> is_code_of(const CapturedInstance& instance, const ScannedKernel& kernel) const;
  const std::string& code_of(const CapturedInstance& instance) const;

  const ScanIndex& index_;
  const Capture& capture_;
  mutable std::map<std::string, std::string> codes_;                 ///< Cubins of the capture, by their first chunk.
  mutable std::map<std::string, std::vector<std::string>> company_;  ///< Keys of such a cubin's kernels.
  mutable std::map<std::string, std::string> built_;  ///< Cubins that nvcc made of files; empty: it failed.
};

}  // namespace kernelift::extractor
