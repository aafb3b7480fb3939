// Instances of one template are recognised by having the same definition (file and offset).
#include "reintegrate/patch/kernel_family.h"

#include <algorithm>

namespace kernelift::reintegrate {

KernelFamily::KernelFamily(const Mep& mep, const ScanIndex* scan) : id_(mep.kernel_id), scan_(scan) {
  if (!scan) return;
  auto find = [&](auto matches) {
    auto found = std::find_if(scan->kernels.begin(), scan->kernels.end(), matches);
    return found == scan->kernels.end() ? nullptr : &*found;
  };
  kernel_ = find([&](auto& one) { return one.id == mep.kernel_id; });
  // Falls back to the key, because the unit may have been scanned under another name.
  if (!kernel_) kernel_ = find([&](auto& one) { return one.key == mep.kernel_key; });
}

bool KernelFamily::contains(const std::string& id) const {
  if (!kernel_) return id == id_;
  return std::any_of(scan_->kernels.begin(), scan_->kernels.end(),
                     [&](auto& one) { return one.id == id && shares_text(one); });
}

int KernelFamily::others() const {
  if (!kernel_) return -1;
  return static_cast<int>(std::count_if(scan_->kernels.begin(), scan_->kernels.end(),
                                        [&](auto& one) { return one.key != kernel_->key && shares_text(one); }));
}

bool KernelFamily::shares_text(const ScannedKernel& other) const {
  return other.definition.file == kernel_->definition.file && other.definition.begin == kernel_->definition.begin;
}

}  // namespace kernelift::reintegrate
