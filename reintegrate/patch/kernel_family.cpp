// Instances of one template are recognised by having the same definition (file and offset).
#include "reintegrate/patch/kernel_family.h"

#include <algorithm>

#include "core/base/within.h"

namespace kernelift::reintegrate {

KernelFamily::KernelFamily(const Mep& mep, const ScanIndex* scan)
    : id_(mep.kernel_id), root_(mep.app_root), scan_(scan) {
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

bool KernelFamily::is_own_lambda(const SlicedFunction& function) const {
  if (!kernel_ || !function.name.ends_with("(lambda)")) return false;
  // As names of kernels spell it; two lambdas on one line count as one.
  const std::string spelled =
      "(lambda at " + relative_to(function.file, root_) + ":" + std::to_string(function.line) + ":";
  return kernel_->name.find(spelled) != std::string::npos &&
         std::ranges::count_if(scan_->kernels, [&](auto& one) { return one.name.find(spelled) != one.name.npos; }) == 1;
}

bool KernelFamily::shares_text(const ScannedKernel& other) const {
  return other.definition.file == kernel_->definition.file && other.definition.begin == kernel_->definition.begin;
}

}  // namespace kernelift::reintegrate
