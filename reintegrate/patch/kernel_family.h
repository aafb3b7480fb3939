// Who shares the text that a patch changes: the kernel itself and, if it is an instance of a template, all others, as a
// scan saw them.
#pragma once
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "core/model/scan/scan_index.h"

namespace kernelift {

class KernelFamily {
 public:
  /// `scan` may be null: then only the kernel itself is known, and that by its id alone.
  KernelFamily(const Mep& mep, const ScanIndex* scan);
  /// The MEP's own kernel; null where the scan does not have it.
  const ScannedKernel* kernel() const { return kernel_; }
  bool contains(const std::string& id) const;
  /// Other instances of the kernel's template; -1: not known.
  int others() const;

 private:
  bool shares_text(const ScannedKernel& other) const;
  const std::string id_;
  const ScanIndex* scan_;
  const ScannedKernel* kernel_ = nullptr;
};

}  // namespace kernelift
