// See kernel_models.h.
#include "sandbox/evaluate/kernel_models.h"

#include <algorithm>
#include <utility>

namespace kernelift::sandbox {

KernelModels::Modelled KernelModels::of(const std::string& source, const std::string& kernel, const Dim3& block) {
  // One text may have several instances of a template.
  const std::tuple key(hash_text(source), kernel, block);
  {
    std::lock_guard lock(mutex_);
    if (auto found = kept_.find(key); found != kept_.end()) {
      found->second.used = ++uses_;
      return found->second.model;
    }
  }
  auto built = pool_.model(source, kernel, block);
  Modelled made = built.ok() ? Modelled(std::make_shared<const KernelModel>(std::move(*built)))
                             : Modelled(std::move(built).error());
  std::lock_guard lock(mutex_);
  kept_.insert_or_assign(key, Kept{made, ++uses_});
  if (kept_.size() > kMostKept)
    kept_.erase(std::ranges::min_element(kept_, {}, [](auto& entry) { return entry.second.used; }));
  return made;
}

size_t KernelModels::kept() const {
  std::lock_guard lock(mutex_);
  return kept_.size();
}

}  // namespace kernelift::sandbox
