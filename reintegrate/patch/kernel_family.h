// The kernels that share the text that a patch changes: the kernel itself and, if it is an instance of a template, the
// template's other instances, as the scan found them.
#pragma once
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "core/model/scan/scan_index.h"

namespace kernelift::reintegrate {

class KernelFamily {
 public:
  /// `scan` may be null: then only the kernel itself is known, by its id.
  KernelFamily(const Mep& mep, const ScanIndex* scan);
  /// The MEP's own kernel; null if the scan does not have it.
  const ScannedKernel* kernel() const { return kernel_; }
  bool contains(const std::string& id) const;
  /// Number of other instances of the kernel's template; -1: not known.
  int others() const;
  /// Whether the function is a lambda that this kernel was made for, and no other kernel that the scan found.
  bool is_own_lambda(const SlicedFunction& function) const;

 private:
  bool shares_text(const ScannedKernel& other) const;
  const std::string id_, root_;
  const ScanIndex* scan_;
  const ScannedKernel* kernel_ = nullptr;
};

}  // namespace kernelift::reintegrate
